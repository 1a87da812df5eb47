package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/internal/upstream"
	"github.com/sallyport-dev/sallyport/policy"
)

const patience = 10 * time.Second

// rig is a gateway in front of servers of the tests.
type rig struct {
	*Gateway
	t       *testing.T
	servers []*server
	log     *logged
}

type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newRig(t *testing.T, o Options, servers ...*server) *rig {
	t.Helper()
	r := &rig{t: t, servers: servers, log: new(logged)}
	o.Log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.Upstreams = r.upstreams(servers...)
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.Gateway = g
	g.setup.Store(newSetup(g.setup.Load().Options, nil, r.opener))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = g.Close(ctx)
		if t.Failed() {
			t.Log(r.log.String())
		}
	})
	return r
}

// opener leads an upstream to the server of the tests that has its name.
func (r *rig) opener(u Upstream) opener {
	for _, s := range r.servers {
		if s.name == u.Name {
			return s.open
		}
	}
	r.t.Fatalf("no server is called %s", u.Name)
	return nil
}

func (r *rig) upstreams(servers ...*server) (all []Upstream) {
	for _, s := range servers {
		u, err := upstream.New(upstream.Options{Name: s.name, URL: "http://127.0.0.1:1/"})
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, Upstream{Name: s.name, Server: u})
	}
	return all
}

func readFile(t testing.TB, at string) string {
	t.Helper()
	b, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// everything allows every tool, resource and prompt.
const everything = `
p:
  default: allow
  rules:
    - {name: all-resources, effect: allow, resources: ["*"]}
    - {name: all-prompts, effect: allow, prompts: ["*"]}
`

// newCaller makes a caller with the policy p of a file.
func newCaller(t testing.TB, name, file string, doubts *sallyport.Doubts) Caller {
	t.Helper()
	var problems strictyaml.Problems
	all := policy.Parse(strictyaml.Parse("test.yaml", []byte(file), nil, &problems), &problems)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	e, err := sallyport.New(sallyport.Options{Policy: all["p"], Doubts: doubts})
	if err != nil {
		t.Fatal(err)
	}
	return Caller{Name: name, Policy: all["p"], Engine: e}
}

// client speaks to a gateway over stdio.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	ended chan error
}

func (r *rig) stdio(c Caller) *client {
	r.t.Helper()
	in, toGateway := io.Pipe()
	fromGateway, out := io.Pipe()
	k := &client{t: r.t, in: toGateway, lines: make(chan string, 10_000), ended: make(chan error, 1)}
	go func() {
		k.ended <- r.Stdio(context.Background(), c, in, out)
		out.Close()
		in.Close()
	}()
	go func() {
		defer close(k.lines)
		s := bufio.NewReaderSize(fromGateway, 1<<20)
		for {
			line, err := s.ReadString('\n')
			if err != nil {
				return
			}
			k.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	r.t.Cleanup(func() { toGateway.Close() })
	return k
}

func (k *client) send(raw string) {
	k.t.Helper()
	if _, err := io.WriteString(k.in, raw+"\n"); err != nil {
		k.t.Fatal(err)
	}
}

func (k *client) next() string {
	k.t.Helper()
	select {
	case line, ok := <-k.lines:
		if !ok {
			k.t.Fatal("the gateway ended")
		}
		return line
	case <-time.After(patience):
		k.t.Fatal("nothing came")
	}
	return ""
}

// call sends a request and returns what answers it; what comes before goes to other.
func (k *client) call(raw string) string {
	k.t.Helper()
	k.send(raw)
	want := message(raw).ID.Key()
	for {
		line := k.next()
		if m, bad := mcp.Parse([]byte(line)); bad == nil && m.Kind == mcp.Response && m.ID.Key() == want {
			return line
		}
	}
}

func (k *client) wants(got, want string) {
	k.t.Helper()
	if got != want {
		k.t.Fatalf("got  %s\nwant %s", got, want)
	}
}

func (k *client) initialize() string {
	k.t.Helper()
	answer := k.call(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"0"}}}`)
	k.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return answer
}

func (k *client) close() {
	k.t.Helper()
	k.in.Close()
	select {
	case err := <-k.ended:
		if err != nil {
			k.t.Fatal(err)
		}
	case <-time.After(patience):
		k.t.Fatal("the gateway did not end")
	}
}

// get reads a member of a JSON text by a path of names and indices.
func get(t testing.TB, raw string, path ...any) any {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

// eventually waits for something that another goroutine brings about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(end) {
			t.Fatalf("did not happen: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
