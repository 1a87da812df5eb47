package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// server is an upstream of the tests. Its handlers answer with a raw result, or an error.
type server struct {
	name  string
	era   upstream.Era
	hello string // raw result of the greeting
	serve func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error)
	greet func(ctx context.Context) error // nil: it is there at once

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
	if s.greet != nil {
		if err := s.greet(ctx); err != nil {
			return nil, mcp.Message{}, err
		}
	}
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
			if errors.Is(o.err, streamhttp.ErrSessionLost) {
				c.die(fmt.Errorf("%w: %w", upstream.ErrDied, streamhttp.ErrSessionLost))
			}
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
