package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parse(t testing.TB, frame string) mcp.Message {
	t.Helper()
	m, err := mcp.Parse([]byte(frame))
	if err != nil {
		t.Fatalf("%s: %v", frame, err)
	}
	return m
}

func req(id any, method, params string) string {
	if params == "" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q}`, id, method)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":%s}`, id, method, params)
}

func note(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

func result(id any, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, id, result)
}

// script is what a server does with a request. tell sends something that belongs to it.
type script func(ctx context.Context, m mcp.Message, tell func(string)) (string, error)

// server is a scripted conversation.
type server struct {
	t       testing.TB
	era     upstream.Era
	version string
	script  script

	mu   sync.Mutex
	seen []mcp.Message // what Do got, in order
	sent chan mcp.Message
	take func(mcp.Message) // if set, what is sent goes there
	done chan struct{}
	end  sync.Once
	err  error
}

func newServer(t testing.TB, era upstream.Era, version string, s script) *server {
	return &server{t: t, era: era, version: version, script: s, sent: make(chan mcp.Message, 1024), done: make(chan struct{})}
}

func (s *server) Do(ctx context.Context, m mcp.Message, onMessage func(mcp.Message)) (mcp.Message, error) {
	s.mu.Lock()
	s.seen = append(s.seen, m)
	s.mu.Unlock()
	var lock sync.Mutex
	over := false
	defer func() {
		lock.Lock()
		defer lock.Unlock()
		over = true
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-s.done:
			cancel(s.err)
		case <-stop:
		}
	}()
	frame, err := s.script(ctx, m, func(frame string) {
		lock.Lock()
		defer lock.Unlock()
		if !over {
			onMessage(parse(s.t, frame))
		}
	})
	if err != nil {
		return mcp.Message{}, err
	}
	return parse(s.t, frame), nil
}

func (s *server) Send(_ context.Context, m mcp.Message) error {
	if s.take != nil {
		s.take(m)
		return nil
	}
	select {
	case s.sent <- m:
		return nil
	case <-s.done:
		return s.err
	}
}
func (s *server) Era() upstream.Era           { return s.era }
func (s *server) Version() string             { return s.version }
func (s *server) Done() <-chan struct{}       { return s.done }
func (s *server) Err() error                  { return s.err }
func (s *server) Close(context.Context) error { s.die(errors.New("closed")); return nil }
func (s *server) die(err error)               { s.end.Do(func() { s.err = err; close(s.done) }) }
func (s *server) requests() (frames []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.seen {
		frames = append(frames, string(m.Raw))
	}
	return frames
}

// answer is the result for a request, under its id.
func answer(m mcp.Message, raw string) (string, error) { return result(m.ID.Raw(), raw), nil }

// failure is the error for a request, under its id.
func failure(m mcp.Message, raw string) (string, error) {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID.Raw(), raw), nil
}

func until(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", context.Cause(ctx)
}

// client is what a client sees of one request.
type client struct {
	t    testing.TB
	conn upstream.Conn
	got  chan mcp.Message // what came with the request
	end  chan outcome
	stop context.CancelCauseFunc
}

type outcome struct {
	m   mcp.Message
	err error
}

func do(t testing.TB, conn upstream.Conn, frame string) *client {
	t.Helper()
	ctx, stop := context.WithCancelCause(context.Background())
	c := &client{t: t, conn: conn, got: make(chan mcp.Message, 256), end: make(chan outcome, 2), stop: stop}
	m := parse(t, frame)
	go func() {
		defer stop(nil)
		var over atomic.Bool
		m, err := conn.Do(ctx, m, func(m mcp.Message) {
			if over.Load() {
				t.Errorf("after the end: %s", m.Raw)
			}
			c.got <- m
		})
		over.Store(true)
		c.end <- outcome{m, err}
	}()
	return c
}

// answer is the frame that the request ends with.
func (c *client) answer() string {
	c.t.Helper()
	o := <-c.end
	if o.err != nil {
		c.t.Fatalf("no answer: %v", o.err)
	}
	return string(o.m.Raw)
}

func (c *client) result() []byte {
	c.t.Helper()
	m := parse(c.t, c.answer())
	if m.Result == nil {
		c.t.Fatalf("not a result: %s", m.Raw)
	}
	return m.Result
}

// next is the next message that comes with the request.
func (c *client) next() mcp.Message {
	c.t.Helper()
	select {
	case m := <-c.got:
		return m
	case o := <-c.end:
		select {
		case m := <-c.got: // it came before the end, and both were there to be taken
			c.end <- o
			return m
		default:
		}
		c.t.Fatalf("the request ended with %s, %v", o.m.Raw, o.err)
		return mcp.Message{}
	}
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// code is the error code of an answer, 0 if it is a result.
func code(t testing.TB, frame string) int { return codeOf(parse(t, frame)) }

func send(t testing.TB, conn upstream.Conn, frame string) {
	t.Helper()
	if err := conn.Send(context.Background(), parse(t, frame)); err != nil {
		t.Fatal(err)
	}
}
