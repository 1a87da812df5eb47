package streamhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// 2025-11-25 and 2026-07-28: JSON if nothing was sent before and the client takes it, else
// a stream; exactly one answer whatever Serve does.
func TestAnswer(t *testing.T) {
	r := newRig(t, nil)
	session := r.begin("2025-06-18")
	for _, c := range []struct {
		name, method, accept string
		status               int
		contentType          string
		want                 []string // of the body, in order
	}{
		{"plain", "echo", acceptBoth, 200, typeJSON, []string{`{"jsonrpc":"2.0","id":1,"result":{}}`}},
		{"JSON only", "echo", typeJSON, 200, typeJSON, []string{`"result":{}`}},
		{"stream only", "echo", typeStream, 200, typeStream, []string{": ", "event: message\n", `"result":{}`}},
		{"messages before", "test/stream", acceptBoth, 200, typeStream, []string{`"progress":0`, `"progress":1`, `"progress":2`, `"ok":true`}},
		{"messages to a client without streams", "test/stream", typeJSON, 200, typeJSON, []string{`"ok":true`}},
		{"nothing", "test/silent", acceptBoth, 200, typeJSON, []string{"-32603"}},
		{"panic", "test/panic", acceptBoth, 200, typeJSON, []string{"-32603"}},
		{"nothing, as a stream", "test/silent", typeStream, 200, typeStream, []string{"-32603"}},
		{"dropped", "test/drop", acceptBoth, 202, "", nil},
		{"dropped stream", "test/drop", typeStream, 200, typeStream, []string{": hello"}},
		{"two answers", "test/twice", acceptBoth, 200, typeJSON, []string{`"first":true`}},
	} {
		resp := r.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"`+c.method+`"}`, "Mcp-Session-Id", session, "Accept", c.accept)
		body := text(t, resp)
		if resp.StatusCode != c.status || resp.Header.Get("Content-Type") != c.contentType {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, resp.Header)
		}
		rest := body
		for _, w := range c.want {
			var ok bool
			if _, rest, ok = strings.Cut(rest, w); !ok {
				t.Errorf("%s: no %s in %s", c.name, w, body)
			}
		}
		if strings.Contains(body, "second") || c.status != 202 && c.method != "test/drop" && strings.Count(body, `"id":1`) != 1 {
			t.Errorf("%s: not one answer: %s", c.name, body)
		}
		if c.contentType == typeStream && resp.Header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("%s: %s", c.name, resp.Header)
		}
	}
	for range 3 { // "messages to a client without streams"
		if err := <-r.ended; !errors.Is(err, ErrJSONOnly) {
			t.Error(err)
		}
	}
	for range 2 { // "two answers"
		if err := <-r.ended; !errors.Is(err, ErrAnswered) {
			t.Error(err)
		}
	}
}

func TestPreferStream(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.PreferStream = true })
	old := r.begin("2025-03-26")
	for _, c := range []struct{ method, accept, want string }{
		{"echo", acceptBoth, typeStream},
		{"echo", "*/*", typeStream},
		{"echo", typeJSON, typeJSON},
		{"echo", typeJSON + ", " + typeStream + ";q=0", typeJSON},
		{"test/unknown", acceptBoth, typeJSON},
	} {
		body, headers := modern(1, c.method, "")
		resp := r.do(http.MethodPost, body, append(headers, "Accept", c.accept)...)
		if got := text(t, resp); resp.Header.Get("Content-Type") != c.want || strings.Count(got, `"id":1`) != 1 {
			t.Errorf("%s, %s: %s %s", c.method, c.accept, resp.Header.Get("Content-Type"), got)
		}
	}
	resp := r.do(http.MethodPost, `[{"jsonrpc":"2.0","id":1,"method":"echo"}]`, "Mcp-Session-Id", old)
	if got := text(t, resp); resp.Header.Get("Content-Type") != typeJSON || got[0] != '[' {
		t.Error(got)
	}
}

// Only a response with the request's own id is an answer, and nothing else is sent as one.
func TestExchangeTakesOnlyWhatFits(t *testing.T) {
	got := make(chan error, 16)
	r := newRig(t, func(o *HandlerOptions) {
		o.Serve = func(_ context.Context, x *Exchange) {
			if x.Message.Kind == mcp.Notification {
				got <- x.Send(mcp.NewNotification("a", nil))
				got <- x.Reply(mcp.ErrorResponse(mcp.ID{}, 1, "no", nil))
				got <- x.ReplyStatus(400, result(mcp.IntID(1), "{}"))
				return
			}
			for _, frame := range []string{`{`, `{"jsonrpc":"2.0","id":2,"result":{}}`, `{"jsonrpc":"2.0","id":"1","result":{}}`, `{"jsonrpc":"2.0","id":1,"method":"a"}`} {
				got <- x.Reply([]byte(frame))
			}
			got <- x.Send(result(mcp.IntID(1), "{}"))
			got <- x.Send([]byte(`[]`))
			_ = x.Reply(result(mcp.IntID(1), "{}"))
		}
	})
	body, headers := modern(1, "a", "")
	text(t, r.do(http.MethodPost, body, headers...))
	text(t, r.do(http.MethodPost, `{"jsonrpc":"2.0","method":"b"}`, "MCP-Protocol-Version", "2026-07-28"))
	for range 9 {
		if err := <-got; !errors.Is(err, ErrFrame) {
			t.Error(err)
		}
	}
}

// An answer that takes long becomes a stream with an immediate comment and more of them.
func TestSlowAnswerIsKeptAlive(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.StreamAfter, o.KeepAlive = time.Millisecond, time.Millisecond })
	body, headers := modern(1, "test/hold", "")
	resp := r.do(http.MethodPost, body, headers...) // returns with the head, while the request is held
	<-r.started
	buf := make([]byte, 4096)
	var seen string
	for strings.Count(seen, ": still here\n\n") < 3 {
		n, err := resp.Body.Read(buf)
		if err != nil {
			t.Fatal(err, seen)
		}
		seen += string(buf[:n])
	}
	if !strings.HasPrefix(seen, ": hello\n\n") || resp.Header.Get("Content-Type") != typeStream {
		t.Errorf("%q %v", seen, resp.Header)
	}
	close(r.free)
	if rest := text(t, resp); !strings.Contains(rest, `"held":true`) {
		t.Error(rest)
	}
}

// A client that takes JSON only waits for it.
func TestSlowAnswerAsJSON(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.StreamAfter = time.Nanosecond })
	body, headers := modern(1, "test/hold", "")
	go func() { <-r.started; r.free <- struct{}{} }()
	resp := r.do(http.MethodPost, body, append(headers, "Accept", typeJSON)...)
	if got := text(t, resp); resp.Header.Get("Content-Type") != typeJSON || !strings.Contains(got, `"held":true`) {
		t.Error(resp.Header, got)
	}
}

// 2026-07-28, "Cancellation": the connection is the request's life, before and after its
// answer has become a stream.
func TestStatelessDisconnectCancels(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.StreamAfter = time.Hour })
	for _, method := range []string{"test/hold", "test/streamhold"} {
		ctx, cancel := context.WithCancel(t.Context())
		body, headers := modern(1, method, "")
		done := make(chan struct{})
		go func() {
			defer close(done)
			resp, err := r.try(ctx, http.MethodPost, body, headers...)
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
		x := <-r.started
		cancel()
		<-done
		<-x.Done()
		if err := <-r.ended; !errors.Is(err, context.Canceled) {
			t.Error(method, err)
		}
		if err := x.Send(mcp.NewNotification("a", nil)); !errors.Is(err, ErrGone) && !errors.Is(err, ErrAnswered) {
			t.Error(method, "Send:", err)
		}
		if err := x.Reply(result(x.Message.ID, "{}")); !errors.Is(err, ErrGone) && !errors.Is(err, ErrAnswered) {
			t.Error(method, "Reply:", err)
		}
	}
	drained(t, r)
}

// drained checks that no answer is owed any more, by draining.
func drained(t *testing.T, r *rig) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := r.handler.Drain(ctx); err != nil {
		t.Error("something is still owed:", err)
	}
	r.handler.mu.Lock()
	defer r.handler.mu.Unlock()
	if r.handler.active != 0 || len(r.handler.open) != 0 || len(r.handler.sessions) != 0 || len(r.handler.perName) != 0 {
		t.Errorf("left: %d answers, %v requests, %d sessions, %v", r.handler.active, r.handler.open, len(r.handler.sessions), r.handler.perName)
	}
}

// 2025-11-25, "Sending Messages to the Server", 6: there a disconnect cancels nothing.
func TestHandshakeDisconnectCancelsNothing(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.StreamAfter = time.Hour })
	session := r.begin("2025-11-25")
	ctx, cancel := context.WithCancel(t.Context())
	go r.try(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"test/hold"}`, "Mcp-Session-Id", session)
	x := <-r.started
	cancel()
	<-x.Done()
	if x.Session.Context().Err() != nil {
		t.Error("the session ended")
	}
	r.free <- struct{}{} // the request was not cancelled: it takes this
	drained(t, r)
}

// The session's end reaches the calls that run in it, and their clients.
func TestEndOfASessionEndsItsCalls(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.StreamAfter = time.Hour })
	session := r.begin("2025-11-25")
	answers := make(chan string, 2)
	for _, method := range []string{"test/hold", "test/streamhold"} {
		go func() {
			resp, err := r.try(context.Background(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`, "Mcp-Session-Id", session)
			if err != nil {
				answers <- err.Error()
				return
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			answers <- string(b)
		}()
		<-r.started
	}
	text(t, r.do(http.MethodDelete, "", "Mcp-Session-Id", session))
	for range 2 {
		if err := <-r.ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if got := <-answers; !strings.Contains(got, `"held":true`) {
			t.Errorf("no answer: %q", got)
		}
	}
	drained(t, r)
}

// A client that reads nothing is given up after the write timeout, and holds nobody.
// A body that does not arrive is given up after its time.
// A body that was refused unread, and does not arrive, does not hold the connection.
// All bodies together are bounded.
// A client that has closed its sending half is gone as far as HTTP/1.1 can tell: the
// request must not hang, nor what it holds.
// The deadline of one request must not end the next one on its connection.
// No accepted call loses its answer; what comes later is refused.
// When time is up the calls are cancelled, and still answered.
