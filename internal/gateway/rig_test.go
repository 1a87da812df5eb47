package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// server is an upstream of the tests. Its handlers answer with a raw result, or an error.
type server struct {
	name  string
	era   upstream.Era
	hello string // raw result of the greeting
	serve func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error)

	mu    sync.Mutex
	down  error
	conns []*conn
	got   []string // what reached it, raw
}

// rpcError is an error response.
type rpcError struct {
	code int
	text string
}

func (e rpcError) Error() string { return e.text }

func (s *server) open(ctx context.Context, c upstream.Client, beside func(mcp.Message)) (upstream.Conn, mcp.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return nil, mcp.Message{}, s.down
	}
	k := &conn{s: s, client: c, beside: beside, done: make(chan struct{})}
	s.conns = append(s.conns, k)
	m, bad := mcp.Parse([]byte(`{"jsonrpc":"2.0","id":"greeting","result":` + s.hello + `}`))
	if bad != nil {
		return nil, m, bad
	}
	return k, m, nil
}

func (s *server) last(t *testing.T) *conn {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) == 0 {
		t.Fatalf("nothing was opened at %s", s.name)
	}
	return s.conns[len(s.conns)-1]
}

func (s *server) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.got...)
}

// saw reports whether something that holds text reached the server.
func (s *server) saw(text string) bool {
	for _, m := range s.received() {
		if strings.Contains(m, text) {
			return true
		}
	}
	return false
}

// conn is one conversation with a server of the tests.
type conn struct {
	s      *server
	client upstream.Client
	beside func(mcp.Message)

	mu      sync.Mutex
	done    chan struct{}
	err     error
	closed  bool
	answers map[string]chan mcp.Message // to the server's own requests
	lastAsk int
}

func (c *conn) Do(ctx context.Context, m mcp.Message, onMessage func(mcp.Message)) (mcp.Message, error) {
	c.s.note(m)
	type outcome struct {
		result string
		err    error
	}
	out := make(chan outcome, 1)
	var order sync.Mutex
	over := false
	go func() {
		result, err := c.s.serve(ctx, c, m, func(raw string) {
			order.Lock()
			defer order.Unlock()
			if !over {
				onMessage(message(raw))
			}
		})
		order.Lock()
		over = true
		order.Unlock()
		out <- outcome{result, err}
	}()
	select {
	case o := <-out:
		var rpc rpcError
		switch {
		case errors.As(o.err, &rpc):
			return message(string(mcp.ErrorResponse(m.ID, rpc.code, rpc.text, nil))), nil
		case o.err != nil:
			return mcp.Message{}, o.err
		}
		return message(`{"jsonrpc":"2.0","id":` + m.ID.Raw() + `,"result":` + o.result + `}`), nil
	case <-ctx.Done():
		c.s.note(message(string(cancelNotice(m.ID, "x"))))
		return mcp.Message{}, context.Cause(ctx)
	case <-c.done:
		return mcp.Message{}, upstream.ErrDied
	}
}

func (s *server) note(m mcp.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, string(m.Raw))
}

func (c *conn) Send(ctx context.Context, m mcp.Message) error {
	c.s.note(m)
	if m.Kind == mcp.Response {
		c.mu.Lock()
		ch := c.answers[m.ID.Key()]
		delete(c.answers, m.ID.Key())
		c.mu.Unlock()
		if ch != nil {
			ch <- m
		}
	}
	return nil
}

// ask sends a request of the server's and waits for the client's answer. via is how it is
// sent: beside, or about a call.
func (c *conn) ask(ctx context.Context, method, params string, via func(string)) (mcp.Message, error) {
	c.mu.Lock()
	c.lastAsk++
	id := mcp.IntID(int64(c.lastAsk))
	ch := make(chan mcp.Message, 1)
	if c.answers == nil {
		c.answers = make(map[string]chan mcp.Message)
	}
	c.answers[id.Key()] = ch
	c.mu.Unlock()
	via(string(mcp.NewRequest(id, method, []byte(params))))
	select {
	case m := <-ch:
		return m, nil
	case <-ctx.Done():
		return mcp.Message{}, ctx.Err()
	}
}

func (c *conn) tell(raw string) { c.beside(message(raw)) }

func (c *conn) die(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed, c.err = true, err
		close(c.done)
	}
}

func (c *conn) Era() upstream.Era { return c.s.era }
func (c *conn) Version() string {
	return map[upstream.Era]string{upstream.Handshake: mcp.V20251125, upstream.Stateless: mcp.V20260728}[c.s.era]
}
func (c *conn) Done() <-chan struct{}       { return c.done }
func (c *conn) Close(context.Context) error { c.die(upstream.ErrClosed); return nil }
func (c *conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func message(raw string) mcp.Message {
	m, bad := mcp.Parse([]byte(raw))
	if bad != nil {
		panic(fmt.Sprintf("%v: %s", bad, raw))
	}
	return m
}

// toolServer has tools that echo their arguments, prompts and resources of the given names.
func toolServer(name string, tools ...string) *server {
	var list []string
	for _, t := range tools {
		list = append(list, fmt.Sprintf(`{"name":%q,"description":"of %s","inputSchema":{"type":"object"},"x-unknown":[1.50,{"deep":12345678901234567890}]}`, t, name))
	}
	s := &server{name: name, era: upstream.Handshake}
	s.hello = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"` + name + `","version":"1"},"instructions":"about ` + name + `"}`
	s.serve = func(_ context.Context, _ *conn, m mcp.Message, _ func(string)) (string, error) {
		switch m.Method {
		case "tools/list":
			return `{"tools":[` + strings.Join(list, ",") + `]}`, nil
		case "tools/call":
			f, _ := mcp.Fields(m.Params, "name", "arguments")
			return fmt.Sprintf(`{"content":[{"type":"text","text":"%s ran"}],"structuredContent":{"tool":%s,"got":%s}}`, name, f[0], orNull(f[1])), nil
		}
		return "", rpcError{mcp.CodeMethodNotFound, "no such method"}
	}
	return s
}

func orNull(raw []byte) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}

// stateless makes a server one of 2026-07-28.
func (s *server) stateless() *server {
	s.era = upstream.Stateless
	v := parsed([]byte(s.hello))
	s.hello = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":` + string(v.Get("capabilities").AppendJSON(nil)) + `,"ttlMs":60000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"` + s.name + `","version":"1"}}}`
	return s
}

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

// closedConns counts the conversations that are over.
func (s *server) closedConns() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.mu.Lock()
		if c.closed {
			n++
		}
		c.mu.Unlock()
	}
	return n
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
