package upstream

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// newFake is a Server whose child is a fake.
func newFake(t *testing.T, traits string, change func(*Options)) *Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Name: "fake", Command: self, Env: []string{"SALLYPORT_TEST_ROLE=" + traits, "GORACE=atexit_sleep_ms=0"}, Log: testLog(t)}
	if change != nil {
		change(&o)
	}
	return newServer(t, o)
}

func newServer(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error("Close:", err)
		}
	})
	return s
}

// testLog writes to the test's log.
func testLog(t *testing.T) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// logText collects log lines.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logText) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

var _ io.Writer = (*logText)(nil)

const modernMeta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

func initParams(version string) []byte {
	return []byte(`{"protocolVersion":"` + version + `","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}`)
}

var discoverParams = []byte(`{"_meta":` + modernMeta + `}`)

// handshakeClient and statelessClient can be bridged; only… cannot.
var (
	handshakeClient = Client{Era: Handshake, Params: initParams(mcp.V20251125), Stateless: discoverParams}
	statelessClient = Client{Era: Stateless, Params: discoverParams, Handshake: initParams(mcp.V20251125)}
)

// inbox keeps messages.
type inbox struct{ c chan mcp.Message }

func newInbox() *inbox { return &inbox{make(chan mcp.Message, 1000)} }

func (b *inbox) put(m mcp.Message) { b.c <- m }

func (b *inbox) next(t *testing.T) mcp.Message {
	t.Helper()
	select {
	case m := <-b.c:
		return m
	case <-time.After(10 * time.Second):
		t.Fatal("no message came")
		return mcp.Message{}
	}
}

func (b *inbox) methods() []string {
	var l []string
	for {
		select {
		case m := <-b.c:
			l = append(l, m.Method)
		default:
			return l
		}
	}
}

func open(t *testing.T, s *Server, c Client, beside func(mcp.Message)) Conn {
	t.Helper()
	if beside == nil {
		beside = func(mcp.Message) {}
	}
	conn, hello, err := s.Open(t.Context(), c, beside)
	if err != nil {
		t.Fatal("Open:", err)
	}
	if hello.Result == nil {
		t.Fatal("no greeting")
	}
	return conn
}

func req(id int, method, params string) mcp.Message {
	m, bad := mcp.Parse(mcp.NewRequest(mcp.IntID(int64(id)), method, []byte(params)))
	if bad != nil {
		panic(bad)
	}
	return m
}

func parse(frame []byte) mcp.Message {
	m, bad := mcp.Parse(frame)
	if bad != nil {
		panic(bad)
	}
	return m
}

func do(t *testing.T, c Conn, m mcp.Message, onMessage func(mcp.Message)) mcp.Message {
	t.Helper()
	answer, err := c.Do(t.Context(), m, onMessage)
	if err != nil {
		t.Fatalf("%s: %v", m.Method, err)
	}
	if answer.ID.Key() != m.ID.Key() {
		t.Fatalf("%s: answer %s", m.Method, answer.Raw)
	}
	return answer
}

func mustID(raw []byte) mcp.ID {
	id, err := mcp.ParseID(raw)
	if err != nil {
		panic(err)
	}
	return id
}
