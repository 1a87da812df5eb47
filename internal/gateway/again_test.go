package gateway

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// forgetful loses the session when it gets a request of the method; taken says that it
// worked on it. Each conversation loses once at most, and no more than times of them do.
type forgetful struct {
	mu     sync.Mutex
	method string
	times  int
	taken  bool
}

func (f *forgetful) on(s *server) *server {
	serve := s.serve
	s.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		f.mu.Lock()
		lose := m.Method == f.method && f.times > 0
		if lose {
			f.times--
		}
		f.mu.Unlock()
		if !lose {
			return serve(ctx, c, m, about)
		}
		why := fmt.Errorf("%w: %w", upstream.ErrDied, streamhttp.ErrSessionLost)
		if f.taken {
			return "", why
		}
		return "", fmt.Errorf("%w (%w)", why, upstream.ErrNotTaken)
	}
	return s
}

// A server that has lost the session did nothing with the request: it is made again, once, and
// charged once. Nothing else is made again.
func TestWhatAServerDidNotTakeIsMadeAgain(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"%secho","arguments":{"x":1},"_meta":{"progressToken":"p"}}}`
	for _, c := range []struct {
		name    string
		method  string
		times   int
		taken   bool
		several bool
		request string
		want    string // in the answer
		reached int    // times that the method reached the server
	}{
		{"a call", "tools/call", 1, false, false, call, "a ran", 2},
		{"a call at one of several", "tools/call", 1, false, true, call, "a ran", 2},
		{"the gateway's own list before the first call", "tools/list", 1, false, false, call, "a ran", 2},
		{"the client's list", "tools/list", 1, false, false, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, `"name":"echo"`, 2},
		{"a merged list", "tools/list", 1, false, true, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, `"name":"a__echo"`, 2},
		{"twice", "tools/call", 5, false, false, call, `-32603,"message":"[sallyport] the server 'a' did not answer`, 2},
		{"what was taken", "tools/call", 1, true, false, call, `-32603,"message":"[sallyport] the `, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := toolServer("a", "echo"), toolServer("b", "other")
			(&forgetful{method: c.method, times: c.times, taken: c.taken}).on(a)
			servers, prefix := []*server{a}, ""
			if c.several {
				servers, prefix = append(servers, b), "a__"
			}
			r := newRig(t, Options{}, servers...)
			k := r.stdio(oneCall(t))
			k.initialize()
			request := c.request
			if strings.Contains(request, "%s") {
				request = fmt.Sprintf(request, prefix)
			}
			if got := k.call(request); !strings.Contains(got, c.want) || strings.Contains(got, "blocked") {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			k.close()
			n := 0
			for _, m := range a.received() {
				if message(m).Method == c.method {
					n++
				}
			}
			if n != c.reached {
				t.Errorf("%s reached the server %d times, want %d", c.method, n, c.reached)
			}
		})
	}
}

// A stateless client's call at a handshake server, through the bridge: the same.
func TestWhatAServerDidNotTakeIsMadeAgainThroughABridge(t *testing.T) {
	a := toolServer("a", "echo")
	(&forgetful{method: "tools/call", times: 1}).on(a)
	r := newRig(t, Options{}, a)
	k := r.stdio(newCaller(t, "local", everything, nil))
	if got := k.call(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{},` + modernMeta + `}}`); !strings.Contains(got, "a ran") {
		t.Errorf("got %s", got)
	}
	k.close()
}

// One that is cancelled while another conversation is opened does not run there.
func TestWhatIsCancelledMeanwhileIsNotMadeAgain(t *testing.T) {
	a := toolServer("a", "echo")
	(&forgetful{method: "tools/call", times: 1}).on(a)
	opened, opening := make(chan struct{}), make(chan struct{})
	var once sync.Once
	first := true
	a.greet = func(context.Context) error {
		if first {
			first = false
			return nil
		}
		once.Do(func() { close(opening) })
		<-opened
		return nil
	}
	r := newRig(t, Options{}, a)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	k.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{}}}`)
	<-opening
	k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	k.call(`{"jsonrpc":"2.0","id":8,"method":"ping"}`) // it was read
	close(opened)
	if got := k.call(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo","arguments":{"last":true}}}`); !strings.Contains(got, "a ran") {
		t.Errorf("got %s", got)
	}
	k.close()
	calls := 0
	for _, m := range a.received() {
		if message(m).Method == "tools/call" {
			calls++
		}
	}
	if calls != 2 {
		t.Errorf("%d calls reached the server, want the one that it did not take and the last", calls)
	}
}

// oneCall is a caller who may call echo once.
func oneCall(t *testing.T) Caller {
	t.Helper()
	cfg, err := config.Load("test.yaml", []byte("version: 1\ntools:\n  echo: {max_calls: 1}\n"), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	set, err := contract.NewSet(cfg.Contracts, contract.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := newCaller(t, "local", everything, nil)
	if c.Engine, err = sallyport.New(sallyport.Options{Policy: c.Policy, Contracts: set}); err != nil {
		t.Fatal(err)
	}
	return c
}
