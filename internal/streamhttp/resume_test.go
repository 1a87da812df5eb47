package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// 2025-11-25, "Sending Messages to the Server", 6: the stream begins with an event that is
// only an id. Older clients do not know empty events.
func TestPrimingEvent(t *testing.T) {
	r := newRig(t, nil)
	for version, want := range map[string]bool{"2025-03-26": false, "2025-06-18": false, "2025-11-25": true} {
		resp := r.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"test/stream"}`, "Mcp-Session-Id", r.begin(version))
		body := text(t, resp)
		if got := strings.HasPrefix(body, ": hello\n\nid: 2-0\nretry: 1000\ndata: \n\n"); got != want {
			t.Errorf("%s: %q", version, body)
		}
		if !strings.Contains(body, "id: 2-1\n") {
			t.Errorf("%s: no ids: %q", version, body)
		}
	}
	body, headers := modern(1, "test/stream", "")
	if got := text(t, r.do(http.MethodPost, body, headers...)); strings.Contains(got, "id: ") {
		t.Errorf("ids where nothing can be resumed: %q", got)
	}
}

// 2025-11-25, "Resumability and Redelivery": a call whose connection breaks goes on, and
// its client gets the rest, once, from where it stopped.
func TestResumeACall(t *testing.T) {
	r := newRig(t, nil)
	session := r.begin("2025-11-25")
	ctx, cancel := context.WithCancel(t.Context())
	resp := r.doContext(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"test/streamhold"}`, "Mcp-Session-Id", session)
	x := <-r.started
	events := newEventReader(resp.Body, 1<<20)
	if got := nextEvent(t, events); !strings.Contains(got, `"progress":0`) {
		t.Fatal(got)
	}
	cancel()
	resp.Body.Close()
	<-x.Done()
	r.free <- struct{}{}
	resp = r.do(http.MethodGet, "", "Mcp-Session-Id", session, "Last-Event-ID", events.id)
	data, last := allEvents(t, resp.Body)
	if len(data) != 2 || !strings.Contains(data[0], `"progress":1`) || !strings.Contains(data[1], `"held":true`) {
		t.Fatalf("%q", data)
	}
	// The same again, as often as the client likes, from where it says.
	resp = r.do(http.MethodGet, "", "Mcp-Session-Id", session, "Last-Event-ID", last)
	if data, _ := allEvents(t, resp.Body); len(data) != 0 {
		t.Errorf("behind the last: %q", data)
	}
	resp = r.do(http.MethodGet, "", "Mcp-Session-Id", session, "Last-Event-ID", "2-0")
	if data, _ := allEvents(t, resp.Body); len(data) != 3 {
		t.Errorf("from the start: %q", data)
	}
	for _, bad := range []string{"9-1", "x", "", "2", "2-1-1", "1"} {
		resp := r.do(http.MethodGet, "", "Mcp-Session-Id", session, "Last-Event-ID", bad)
		if text(t, resp); resp.StatusCode != 400 {
			t.Errorf("%q: %d", bad, resp.StatusCode)
		}
	}
	other := r.begin("2025-11-25")
	resp = r.do(http.MethodGet, "", "Mcp-Session-Id", other, "Last-Event-ID", events.id)
	if text(t, resp); resp.StatusCode != 400 {
		t.Error("a stream of another session:", resp.StatusCode)
	}
	drained(t, r)
}

// A client may take the stream of a call over while its old connection still seems to
// live, and gets the answer there.
func TestResumeWhileTheCallRuns(t *testing.T) {
	r := newRig(t, nil)
	session := r.begin("2025-11-25")
	first := r.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"test/streamhold"}`, "Mcp-Session-Id", session)
	<-r.started
	events := newEventReader(first.Body, 1<<20)
	nextEvent(t, events)
	second := r.do(http.MethodGet, "", "Mcp-Session-Id", session, "Last-Event-ID", events.id)
	if _, err := events.next(); err == nil {
		t.Error("the old connection goes on")
	}
	first.Body.Close()
	r.free <- struct{}{}
	if data, _ := allEvents(t, second.Body); len(data) != 2 {
		t.Errorf("%q", data)
	}
	drained(t, r)
}

// B053, B034, and 2025-11-25, "Listening for Messages from the Server".
func TestB053SessionsOwnStream(t *testing.T) {
	r := newRig(t, nil)
	id := r.begin("2025-11-25")
	s := r.handler.session(id, Caller{Name: "ann"})
	defer s.release()
	note := func(n int) []byte {
		return mcp.NewNotification("notifications/message", fmt.Appendf(nil, `{"n":%d}`, n))
	}
	mustSend := func(n int) {
		t.Helper()
		if err := s.Send(note(n)); err != nil {
			t.Fatal(err)
		}
	}
	mustSend(1) // before anybody listens
	first := r.do(http.MethodGet, "", "Mcp-Session-Id", id)
	if first.Header.Get("Content-Type") != typeStream || first.Header.Get("X-Accel-Buffering") != "no" {
		t.Error(first.Header)
	}
	one := newEventReader(first.Body, 1<<20)
	mustSend(2)
	for n := 1; n <= 2; n++ {
		if got := nextEvent(t, one); !strings.Contains(got, fmt.Sprintf(`"n":%d`, n)) {
			t.Error(got)
		}
	}
	// A new stream takes the place of the old one and gets what is new, only there.
	second := r.do(http.MethodGet, "", "Mcp-Session-Id", id)
	if _, err := one.next(); err == nil {
		t.Error("two streams for one session")
	}
	first.Body.Close()
	two := newEventReader(second.Body, 1<<20)
	mustSend(3)
	if got := nextEvent(t, two); !strings.Contains(got, `"n":3`) {
		t.Error(got)
	}
	// With a place to go on from, what the old connection may have lost comes again.
	third := r.do(http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-ID", "1-0")
	second.Body.Close()
	three := newEventReader(third.Body, 1<<20)
	mustSend(4)
	for n := 2; n <= 4; n++ {
		if got := nextEvent(t, three); !strings.Contains(got, fmt.Sprintf(`"n":%d`, n)) {
			t.Error(got)
		}
	}
	if err := s.Send(result(mcp.IntID(1), "{}")); !errors.Is(err, ErrFrame) {
		t.Error("a response on the session's own stream:", err)
	}
	s.End()
	if _, err := three.next(); err == nil {
		t.Error("the stream outlives its session")
	}
	third.Body.Close()
	if err := s.Send(note(5)); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
}

// What waits for a client that is away is bounded; what it has read makes room.
func TestUnreadMessagesAreBounded(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.Queue = 4096 })
	id := r.begin("2025-11-25")
	s := r.handler.session(id, Caller{Name: "ann"})
	defer s.release()
	frame := mcp.NewNotification("a", []byte(`{"x":"`+strings.Repeat("y", 900)+`"}`))
	sent := 0
	for ; sent < 100; sent++ {
		if err := s.Send(frame); err != nil {
			if !errors.Is(err, ErrFull) {
				t.Error(err)
			}
			break
		}
	}
	if sent < 2 || sent > 4 {
		t.Fatal(sent, "messages of 1 KB fit into 4 KB")
	}
	resp := r.do(http.MethodGet, "", "Mcp-Session-Id", id)
	events := newEventReader(resp.Body, 1<<20)
	for range sent {
		nextEvent(t, events)
	}
	// The client has them; the server knows soon, as its own write has returned.
	s.own.mu.Lock()
	for s.own.waiting > 0 {
		change := s.own.change
		s.own.mu.Unlock()
		<-change
		s.own.mu.Lock()
	}
	s.own.mu.Unlock()
	for range 100 {
		if err := s.Send(frame); err != nil {
			t.Fatal(err)
		}
		nextEvent(t, events)
		s.own.mu.Lock()
		for s.own.waiting > 0 {
			change := s.own.change
			s.own.mu.Unlock()
			<-change
			s.own.mu.Lock()
		}
		if s.own.size > 2*4096 {
			t.Errorf("%d bytes are kept", s.own.size)
		}
		s.own.mu.Unlock()
	}
	resp.Body.Close()
}

// A call whose client is away does not wait for it for ever, and its answer has room.
func TestAwayClientDoesNotBlockItsCall(t *testing.T) {
	sent := make(chan error, 1000)
	r := newRig(t, func(o *HandlerOptions) {
		o.Queue = 4096
		serve := o.Serve
		o.Serve = func(ctx context.Context, x *Exchange) {
			if x.Message.Method != "flood" {
				serve(ctx, x)
				return
			}
			frame := mcp.NewNotification("a", []byte(`{"x":"`+strings.Repeat("y", 900)+`"}`))
			_ = x.Send(frame)
			<-x.Done()
			for range 100 {
				sent <- x.Send(frame)
			}
			sent <- x.Reply(result(x.Message.ID, `{"large":"`+strings.Repeat("z", 100_000)+`"}`))
			close(sent)
		}
	})
	id := r.begin("2025-11-25")
	ctx, cancel := context.WithCancel(t.Context())
	resp := r.doContext(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"flood"}`, "Mcp-Session-Id", id)
	events := newEventReader(resp.Body, 1<<20)
	nextEvent(t, events)
	cancel()
	resp.Body.Close()
	full, last := 0, error(nil)
	for err := range sent {
		if last = err; errors.Is(err, ErrFull) {
			full++
		}
	}
	if full < 90 || last != nil {
		t.Errorf("%d messages had no room; the answer: %v", full, last)
	}
	resp = r.do(http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-ID", events.id)
	if data, _ := allEvents(t, resp.Body); len(data) == 0 || !strings.Contains(data[len(data)-1], `"large"`) {
		t.Error("the answer is lost")
	}
}

// What is kept for resumption is bounded, per session and in time.
func TestFinishedStreamsAreForgotten(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.Replay = 8 << 10 })
	id := r.begin("2025-11-25")
	for i := range 50 {
		resp := r.do(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"echo","params":{"x":%q}}`, i, strings.Repeat("y", 1000)), "Mcp-Session-Id", id, "Accept", typeStream)
		allEvents(t, resp.Body)
	}
	s := r.handler.session(id, Caller{Name: "ann"})
	defer s.release()
	// A client has its answer a moment before the server is done with it.
	settled := func() {
		t.Helper()
		waitFor(t, func() bool {
			r.handler.mu.Lock()
			defer r.handler.mu.Unlock()
			return r.handler.active == 0
		})
	}
	settled()
	s.mu.Lock()
	streams, size := len(s.streams), s.finishedSize()
	s.mu.Unlock()
	if streams < 4 || streams > 11 || size > 10<<10 { // the last may have been read while there was no room
		t.Errorf("%d streams of %d bytes are kept", streams, size)
	}
	for range 20 {
		resp := r.do(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"x":%q}}`, strings.Repeat("y", 20_000)), "Mcp-Session-Id", id, "Accept", typeStream)
		if data, _ := allEvents(t, resp.Body); len(data) != 1 {
			t.Fatal("an answer larger than what is kept is lost")
		}
	}
	settled()
	s.mu.Lock()
	last := slices.Clone(s.finished)
	s.mu.Unlock()
	if len(last) > 2 {
		t.Error(len(last), "large ones are kept")
	}
	for _, f := range last {
		s.forget(f.stream)
	}
	resp := r.do(http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-ID", "50-0")
	if text(t, resp); resp.StatusCode != 400 {
		t.Error(resp.StatusCode)
	}
	short := newRig(t, func(o *HandlerOptions) { o.ReplayFor = time.Nanosecond })
	id = short.begin("2025-11-25")
	allEvents(t, short.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"echo"}`, "Mcp-Session-Id", id, "Accept", typeStream).Body)
	drained(t, short)
}
