//go:build unix

package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// B029, B030: many requests at once over one conversation, each with its own answer.
func TestAnswersFindTheirRequests(t *testing.T) {
	s := newFake(t, "legacy", nil)
	c := open(t, s, handshakeClient, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { // one that hangs holds up nobody
		if _, err := c.Do(ctx, req(1000, "test/hold", "{}"), nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	var calls sync.WaitGroup
	for i := range 50 {
		calls.Go(func() {
			want := fmt.Sprintf(`{"x":%d}`, i)
			if got := do(t, c, req(i, "test/echo", want), nil); string(got.Result) != want {
				t.Errorf("%d: %s", i, got.Result)
			}
		})
	}
	calls.Wait()
	cancel()
	wg.Wait()
	if got := s.Status(); got.State != Up || got.Conns != 1 {
		t.Errorf("%+v", got)
	}
}

func TestMessagesGoWhereTheyBelong(t *testing.T) {
	s := newFake(t, "legacy", nil)
	beside, own := newInbox(), newInbox()
	c := open(t, s, handshakeClient, beside.put)

	do(t, c, req(1, "test/progress", `{"_meta":{"progressToken":"p"}}`), own.put)
	// B035: a token that is nobody's is for whoever keeps tasks to judge, and a general
	// notification is about no request.
	if got, want := own.methods(), []string{"notifications/progress", "notifications/progress", "notifications/progress", "notifications/message"}; !slices.Equal(got, want) {
		t.Error("with the request:", got)
	}
	for _, want := range []string{"notifications/progress", "notifications/tools/list_changed", "notifications/progress"} {
		if got := beside.next(t); got.Method != want {
			t.Error("beside:", got.Method, "in place of", want)
		}
	}

	// B045: a question belongs to the only request that is open.
	asked := make(chan mcp.Message, 1)
	go func() {
		m := <-asked
		if err := c.Send(t.Context(), parse([]byte(`{"jsonrpc":"2.0","id":`+m.ID.Raw()+`,"result":{"action":"accept"}}`))); err != nil {
			t.Error(err)
		}
	}()
	do(t, c, req(2, "test/ask", "{}"), func(m mcp.Message) { asked <- m })

	// With two of them it cannot be said.
	ctx, cancel := context.WithCancel(t.Context())
	holding := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = c.Do(ctx, req(3, "test/hold", "{}"), func(mcp.Message) { close(holding) })
	})
	<-holding
	wg.Go(func() {
		do(t, c, req(4, "test/ask", "{}"), func(m mcp.Message) { t.Errorf("with the request: %s", m.Raw) })
	})
	m := beside.next(t)
	if m.Method != "elicitation/create" {
		t.Errorf("%s", m.Raw)
	}
	if err := c.Send(t.Context(), parse([]byte(`{"jsonrpc":"2.0","id":"s1","result":{}}`))); err != nil {
		t.Error(err)
	}
	cancel()
	wg.Wait()
}

// Subscriptions name themselves, and do not make other messages ambiguous.
func TestSubscriptionsOverStdio(t *testing.T) {
	s := newFake(t, "modern", nil)
	c := open(t, s, statelessClient, func(m mcp.Message) { t.Errorf("beside: %s", m.Raw) })
	first, second, own := newInbox(), newInbox(), newInbox()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := c.Do(t.Context(), req(1, "subscriptions/listen", "{}"), first.put); !errors.Is(err, ErrUnsubscribed) {
			t.Error(err)
		}
	})
	first.next(t)
	wg.Go(func() {
		if _, err := c.Do(ctx, req(2, "subscriptions/listen", "{}"), second.put); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	second.next(t)
	do(t, c, req(3, "test/change", "{}"), own.put)
	for _, b := range []*inbox{first, second} {
		if got := b.next(t); got.Method != "notifications/tools/list_changed" {
			t.Errorf("%s", got.Raw)
		}
	}
	if got := own.methods(); !slices.Equal(got, []string{"notifications/message"}) {
		t.Error(got)
	}
	do(t, c, req(4, "test/unsubscribe", "{}"), nil)
	cancel()
	wg.Wait()
	if got := do(t, c, req(5, "test/cancelled", "{}"), nil); string(got.Result) != `{"ids":[2]}` {
		t.Errorf("cancelled: %s", got.Result)
	}
}

// B032, and the late answer: cancelled once, dropped, and never another's answer.
func TestCancelled(t *testing.T) {
	for name, client := range map[string]Client{"legacy": handshakeClient, "modern": statelessClient} {
		t.Run(name, func(t *testing.T) {
			s := newFake(t, name, nil)
			c := open(t, s, client, nil)
			why := errors.New("the client is gone")
			ctx, cancel := context.WithCancelCause(t.Context())
			_, err := c.Do(ctx, req(7, "test/hold", "{}"), func(mcp.Message) { cancel(why) })
			if !errors.Is(err, why) {
				t.Fatal(err)
			}
			if got := do(t, c, req(8, "test/cancelled", "{}"), nil); string(got.Result) != `{"ids":[7]}` {
				t.Errorf("%s", got.Result)
			}
			if _, err := c.Do(t.Context(), req(7, "test/echo", "{}"), nil); !errors.Is(err, ErrID) {
				t.Error("an id that may still be answered was used again:", err)
			}
			do(t, c, req(9, "test/answer", `{"id":7}`), nil)
			if got := do(t, c, req(7, "test/echo", `{"a":1}`), nil); string(got.Result) != `{"a":1}` {
				t.Errorf("%s", got.Result)
			}
			// B077: an answer to a request that nobody sent.
			do(t, c, req(10, "test/answer", `{"id":99}`), nil)
			if got := do(t, c, req(99, "test/echo", `{"a":2}`), nil); string(got.Result) != `{"a":2}` {
				t.Errorf("%s", got.Result)
			}
		})
	}
}

// What runs as a task is cancelled with tasks/cancel, not so.
func TestTasksAreNotCancelledByNotification(t *testing.T) {
	s := newFake(t, "legacy", nil)
	c := open(t, s, handshakeClient, nil)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := c.Do(ctx, req(1, "test/hold", `{"task":{}}`), func(mcp.Message) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := do(t, c, req(2, "test/cancelled", "{}"), nil); string(got.Result) != `{"ids":[]}` {
		t.Errorf("%s", got.Result)
	}
}

func TestSameIDTwice(t *testing.T) {
	s := newFake(t, "legacy", nil)
	c := open(t, s, handshakeClient, nil)
	ctx, cancel := context.WithCancel(t.Context())
	_, _ = c.Do(ctx, req(1, "test/hold", "{}"), func(mcp.Message) {
		defer cancel()
		if err := c.(*conversation).table.add(newRequest(req(1, "test/echo", "{}"), nil)); !errors.Is(err, ErrID) {
			t.Error(err)
		}
	})
}

// B001, B002: no cliff at any size, and over the limit one request fails, not the
// conversation. B007: neither does a frame that is no text.
func TestFramesThatAreNoMessages(t *testing.T) {
	s := newFake(t, "legacy", func(o *Options) { o.MaxMessage = 2 << 20 })
	c := open(t, s, handshakeClient, nil)
	id := 0
	next := func() int { id++; return id }
	for _, n := range []int{1<<16 + 1, 1<<20 + 1} {
		if got := do(t, c, req(next(), "test/large", fmt.Sprintf(`{"n":%d}`, n)), nil); len(got.Result) != n+11 {
			t.Error(n, len(got.Result))
		}
		do(t, c, req(next(), "test/echo", "{}"), nil)
	}
	for method, want := range map[string]error{"test/large": ErrTooLarge, "test/latin": ErrBadAnswer, "test/nameless": ErrBadAnswer} {
		if _, err := c.Do(t.Context(), req(next(), method, `{"n":3000000}`), nil); !errors.Is(err, want) {
			t.Errorf("%s: %v", method, err)
		}
		do(t, c, req(next(), "test/echo", "{}"), nil)
	}
	// A question that is no valid message is answered, or the server would wait for ever.
	do(t, c, req(next(), "test/badask", "{}"), nil)
}

func TestBatches(t *testing.T) {
	s := newFake(t, "legacy batch", nil)
	c := open(t, s, Client{Era: Handshake, Params: initParams(mcp.V20250326)}, nil)
	own := newInbox()
	do(t, c, req(1, "test/progress", `{"_meta":{"progressToken":1}}`), own.put)
	if got := len(own.methods()); got != 4 {
		t.Error(got, "messages")
	}
	// Later versions have none.
	c = open(t, s, Client{Era: Handshake, Params: initParams(mcp.V20250618)}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := c.Do(ctx, req(1, "test/echo", "{}"), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// B014 and the death of a child: whatever is open fails at once and says how it ended.
func TestDeathFailsWhatIsOpen(t *testing.T) {
	for method, want := range map[string]string{"test/die": "exit status 3", "test/shut": "closed its output"} {
		t.Run(method, func(t *testing.T) {
			s := newFake(t, "legacy", nil)
			c := open(t, s, handshakeClient, nil)
			errs := make(chan error, 2)
			holding := make(chan struct{})
			go func() {
				_, err := c.Do(t.Context(), req(1, "test/hold", "{}"), func(mcp.Message) { close(holding) })
				errs <- err
			}()
			<-holding
			go func() {
				_, err := c.Do(t.Context(), req(2, method, "{}"), nil)
				errs <- err
			}()
			for range 2 {
				if err := <-errs; !errors.Is(err, ErrDied) || !strings.Contains(err.Error(), want) {
					t.Error(err)
				}
			}
			<-c.Done()
			if !errors.Is(c.Err(), ErrDied) {
				t.Error(c.Err())
			}
			if _, err := c.Do(t.Context(), req(3, "test/echo", "{}"), nil); !errors.Is(err, ErrDied) {
				t.Error(err)
			}
			if err := c.Send(t.Context(), parse([]byte(`{"jsonrpc":"2.0","method":"notifications/x"}`))); !errors.Is(err, ErrDied) {
				t.Error(err)
			}
			st := s.Status()
			if st.State != Down || !strings.Contains(st.Error, want) {
				t.Errorf("%+v", st)
			}
			open(t, s, handshakeClient, nil) // it comes back by itself
			if st := s.Status(); st.State != Up {
				t.Errorf("%+v", st)
			}
		})
	}
}

// B009, B013: nothing is left of a child, nor of what it started.
func TestCloseEndsTheWholeTree(t *testing.T) {
	s := newFake(t, "legacy", nil)
	c := open(t, s, handshakeClient, nil)
	pid := intOf(memberOf(do(t, c, req(1, "test/spawn", "{}"), nil).Result, "pid"))
	if pid == 0 || syscall.Kill(pid, 0) != nil {
		t.Fatal("no grandchild", pid)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(c.Err(), ErrClosed) {
		t.Error(c.Err())
	}
	for end := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the grandchild lives")
		}
	}
	if st := s.Status(); st.Conns != 0 || st.State != Up {
		t.Errorf("%+v", st)
	}
}

// B011: standard error is drained, and stands in the log with the server's name.
func TestStandardError(t *testing.T) {
	var log logText
	s := newFake(t, "legacy", func(o *Options) { o.Log = log.logger() })
	c := open(t, s, handshakeClient, nil)
	do(t, c, req(1, "test/noise", "{}"), nil)
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); !strings.Contains(got, "upstream=fake line=one\n") || strings.Count(got, "yyyy") == 0 {
		t.Errorf("%.300s", got)
	}
}

func TestEnvironmentIsTheConfiguredOne(t *testing.T) {
	t.Setenv("HOME", "/home/ann")
	s := newFake(t, "legacy", func(o *Options) { o.Env = append(o.Env, "OWN=x y") })
	c := open(t, s, handshakeClient, nil)
	if got := do(t, c, req(1, "test/environ", "{}"), nil); string(got.Result) != `{"count":3,"home":"","own":"x y"}` {
		t.Errorf("%s", got.Result)
	}
}

// A child that reads nothing holds up those who write to it, until they give up, and
// nobody else. What was not sent is not cancelled either.
func TestChildThatDoesNotRead(t *testing.T) {
	s := newFake(t, "legacy", nil)
	c, other := open(t, s, handshakeClient, nil), open(t, s, handshakeClient, nil)
	do(t, c, req(1, "test/wedge", "{}"), nil)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	large := `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			if _, err := c.Do(ctx, req(10+i, "test/echo", large), nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	}
	do(t, other, req(1, "test/echo", large), nil)
	wg.Wait()
	q := c.(*conversation).wire.(*process).queue
	q.mu.Lock()
	left := len(q.frames)
	q.mu.Unlock()
	if left > 1 { // the cancellation of the one that was being written
		t.Error(left, "frames wait")
	}
}

func TestTimeout(t *testing.T) {
	s := newFake(t, "legacy", func(o *Options) { o.Timeout = 200 * time.Millisecond })
	c := open(t, s, handshakeClient, nil)
	if _, err := c.Do(t.Context(), req(1, "test/hold", "{}"), nil); !errors.Is(err, ErrTimeout) {
		t.Fatal(err)
	}
	if got := do(t, c, req(2, "test/cancelled", "{}"), nil); string(got.Result) != `{"ids":[1]}` {
		t.Errorf("%s", got.Result)
	}
	// The time in which the client is asked does not count.
	do(t, c, req(3, "test/ask", "{}"), func(m mcp.Message) {
		time.AfterFunc(600*time.Millisecond, func() {
			_ = c.Send(t.Context(), parse([]byte(`{"jsonrpc":"2.0","id":"s1","result":{}}`)))
		})
	})
}
