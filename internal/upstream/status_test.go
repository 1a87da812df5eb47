package upstream

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// rope is a wire of the tests: it answers each request with {}, or fails to.
type rope struct {
	c    *conversation
	fail func(ctx context.Context, m mcp.Message) (mcp.Message, error)
}

func (r *rope) do(ctx context.Context, q *request) (mcp.Message, error) {
	defer r.c.table.remove(q, false)
	if r.fail != nil {
		return r.fail(ctx, q.m)
	}
	result := `{"protocolVersion":"2025-11-25"}`
	return parse([]byte(`{"jsonrpc":"2.0","id":` + q.m.ID.Raw() + `,"result":` + result + `}`)), nil
}

func (r *rope) send(context.Context, mcp.Message) error { return nil }
func (r *rope) ready(Era, string)                       {}
func (r *rope) stop(context.Context)                    {}

// ropeServer is a Server whose wires are ropes; broken says what their requests get.
func ropeServer(t *testing.T, o Options, broken *error) *Server {
	t.Helper()
	o.Name, o.Command = "rope", "none"
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.dial = func(beside func(mcp.Message)) (*conversation, error) {
		if *broken != nil {
			return nil, *broken
		}
		c := newConversation(s, beside)
		c.wire = &rope{c: c}
		return c, nil
	}
	return s
}

var onlyHandshake = Client{Era: Handshake, Params: initParams(mcp.V20251125)}

// A start that fails is not tried again before its pause is over; the pauses grow to a
// minute; a start that works ends them. The log tells of the changes alone.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logText
		broken := errors.New("no such file")
		fault := broken
		s := ropeServer(t, Options{Log: log.logger()}, &fault)
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			if _, _, err := s.Open(t.Context(), onlyHandshake, nil); !errors.Is(err, broken) {
				t.Fatal(err)
			}
			for range 3 {
				var paused *Paused
				if _, _, err := s.Open(t.Context(), onlyHandshake, nil); !errors.As(err, &paused) || !errors.Is(err, broken) || time.Until(paused.Until) != want*time.Second {
					t.Fatal(err)
				}
			}
			st := s.Status()
			if st.State != Down || time.Until(st.Retry) != want*time.Second || st.Error != "no such file" {
				t.Errorf("%+v", st)
			}
			time.Sleep(want * time.Second)
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "the server is down") {
			t.Error(got)
		}
		fault = nil
		c := open2(t, s)
		if st := s.Status(); st.State != Up || !st.Retry.IsZero() || st.Conns != 1 || !st.Since.Equal(time.Now()) {
			t.Errorf("%+v", st)
		}
		if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "the server is up") {
			t.Error(got)
		}
		fault = broken
		if _, _, err := s.Open(t.Context(), onlyHandshake, nil); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		if got := time.Until(s.Status().Retry); got != time.Second {
			t.Error("the pause after a success is", got)
		}
		_ = c.Close(t.Context())
	})
}

func open2(t *testing.T, s *Server) Conn {
	t.Helper()
	c, _, err := s.Open(t.Context(), onlyHandshake, func(mcp.Message) {})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Many that fail at once are one failure.
func TestFailuresAtOnceCountOnce(t *testing.T) {
	var p pause
	now := time.Now()
	for range 5 {
		p.failed(now.Add(time.Second), now, errors.New("x"))
	}
	if p.failures != 1 {
		t.Error(p.failures)
	}
	p.failed(now.Add(3*time.Second), now.Add(2*time.Second), errors.New("x"))
	if p.failures != 2 {
		t.Error(p.failures)
	}
}

// A server that starts and soon ends is not started in a tight loop, yet nobody waits long
// for that: another caller may be to blame.
func TestServerThatSoonEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var none error
		s := ropeServer(t, Options{}, &none)
		for _, want := range []time.Duration{0, 250, 500, 1000, 2000, 2000} {
			c := open2(t, s)
			c.(*conversation).end(ErrDied)
			synctest.Wait()
			st := s.Status()
			got := time.Duration(0)
			if !st.Retry.IsZero() {
				got = time.Until(st.Retry)
			}
			if got != want*time.Millisecond || st.State != Down {
				t.Errorf("%v, want %v ms: %+v", got, want, st)
			}
			time.Sleep(got)
		}
		c := open2(t, s)
		time.Sleep(steady)
		c.(*conversation).end(ErrDied)
		if st := s.Status(); !st.Retry.IsZero() {
			t.Errorf("after a good while: %+v", st)
		}
	})
}

// One of several that ends does not make the server down.
func TestOneOfSeveralEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var none error
		s := ropeServer(t, Options{}, &none)
		a, b := open2(t, s), open2(t, s)
		a.(*conversation).end(ErrDied)
		synctest.Wait()
		if st := s.Status(); st.State != Up || st.Conns != 1 {
			t.Errorf("%+v", st)
		}
		s.eras[Stateless] = silent
		b.(*conversation).end(ErrDied)
		if st := s.Status(); st.State != Down || s.eras[Stateless] != unknown {
			t.Errorf("%+v, %v", st, s.eras)
		}
	})
}

func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var none error
		s := ropeServer(t, Options{Idle: time.Minute}, &none)
		c := open2(t, s)
		rope := c.(*conversation).wire.(*rope)
		time.Sleep(59 * time.Second)
		if _, err := c.Do(t.Context(), req(1, "ping", "{}"), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Second)
		if err := c.Send(t.Context(), parse([]byte(`{"jsonrpc":"2.0","method":"x"}`))); err != nil {
			t.Fatal(err)
		}
		rope.fail = func(ctx context.Context, m mcp.Message) (mcp.Message, error) { // an open request is not idleness
			time.Sleep(time.Hour)
			return mcp.Message{}, ErrTimeout
		}
		if _, err := c.Do(t.Context(), req(2, "ping", "{}"), nil); !errors.Is(err, ErrTimeout) {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Second)
		select {
		case <-c.Done():
			t.Fatal("too early")
		default:
		}
		time.Sleep(time.Second)
		synctest.Wait()
		<-c.Done()
		if _, err := c.Do(t.Context(), req(3, "ping", "{}"), nil); !errors.Is(err, ErrIdle) || !errors.Is(c.Err(), ErrIdle) {
			t.Error(err)
		}
		if st := s.Status(); st.State != Up || st.Conns != 0 || !st.Retry.IsZero() {
			t.Errorf("%+v", st)
		}
	})
}

func TestMaxConns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var none error
		s := ropeServer(t, Options{MaxConns: 2}, &none)
		a := open2(t, s)
		open2(t, s)
		if _, _, err := s.Open(t.Context(), onlyHandshake, nil); !errors.Is(err, ErrTooMany) {
			t.Fatal(err)
		}
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := open2(t, s)
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(c.Err(), ErrClosed) || s.Status().Conns != 0 || s.slots != 0 {
			t.Error(c.Err(), s.Status(), s.slots)
		}
		if _, _, err := s.Open(t.Context(), onlyHandshake, nil); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// The clock of a request: silence ends it, messages wind it up, and it stands still while
// the client is asked.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, expired := time.Now(), make(chan struct{})
		c := newClock(time.Minute, func() { close(expired) })
		time.Sleep(50 * time.Second)
		c.heard()
		time.Sleep(50 * time.Second)
		c.asked()
		c.asked()
		time.Sleep(time.Hour)
		c.replied()
		c.heard()
		time.Sleep(time.Hour)
		c.replied()
		<-expired
		if got := time.Since(began); got != 2*time.Hour+160*time.Second {
			t.Error(got)
		}
		c.stop()
		c.heard()
	})
}
