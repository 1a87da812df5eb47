package streamhttp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// B059, B069, and 2025-11-25, "Session Management".
func TestB069SessionsBelongToTheirCaller(t *testing.T) {
	r := newRig(t, nil)
	session := r.begin("2025-11-25")
	if len(session) < 40 || strings.ContainsFunc(session, func(c rune) bool { return c < 0x21 || c > 0x7e }) {
		t.Error("session id", session)
	}
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	note := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	for _, c := range []struct {
		name, method, body string
		headers            []string
		status             int
	}{
		{"request", http.MethodPost, ping, []string{"Mcp-Session-Id", session}, 200},
		{"notification", http.MethodPost, note, []string{"Mcp-Session-Id", session}, 202},
		{"response", http.MethodPost, `{"jsonrpc":"2.0","id":9,"result":{}}`, []string{"Mcp-Session-Id", session}, 202},
		{"refused notification", http.MethodPost, `{"jsonrpc":"2.0","method":"test/refuse"}`, []string{"Mcp-Session-Id", session}, 400},
		{"panic in a notification", http.MethodPost, `{"jsonrpc":"2.0","method":"test/panic"}`, []string{"Mcp-Session-Id", session}, 500},
		{"supported version in the header", http.MethodPost, ping, []string{"Mcp-Session-Id", session, "MCP-Protocol-Version", "2025-06-18"}, 200},
		{"nonsense version in the header", http.MethodPost, ping, []string{"Mcp-Session-Id", session, "MCP-Protocol-Version", "1.0"}, 400},
		{"no id", http.MethodPost, ping, nil, 400},
		{"no id, notification", http.MethodPost, note, nil, 400},
		{"no id, GET", http.MethodGet, "", nil, 400},
		{"no id, DELETE", http.MethodDelete, "", nil, 400},
		{"two ids", http.MethodPost, ping, []string{"+Mcp-Session-Id", session, "+Mcp-Session-Id", session}, 400},
		{"unknown id", http.MethodPost, ping, []string{"Mcp-Session-Id", "0" + session}, 404},
		{"unknown id, initialize", http.MethodPost, initialize("2025-11-25"), []string{"Mcp-Session-Id", "0" + session}, 404},
		{"unknown id, GET", http.MethodGet, "", []string{"Mcp-Session-Id", "0" + session}, 404},
		{"unknown id, DELETE", http.MethodDelete, "", []string{"Mcp-Session-Id", "0" + session}, 404},
		{"initialize again", http.MethodPost, initialize("2025-11-25"), []string{"Mcp-Session-Id", session}, 400},
		{"another caller", http.MethodPost, ping, []string{"Mcp-Session-Id", session, "Authorization", "Bearer bob"}, 404},
		{"another caller, GET", http.MethodGet, "", []string{"Mcp-Session-Id", session, "Authorization", "Bearer bob"}, 404},
		{"another caller, resumption", http.MethodGet, "", []string{"Mcp-Session-Id", session, "Authorization", "Bearer bob", "Last-Event-ID", "1-0"}, 404},
		{"another caller, DELETE", http.MethodDelete, "", []string{"Mcp-Session-Id", session, "Authorization", "Bearer bob"}, 404},
		{"still there", http.MethodPost, ping, []string{"Mcp-Session-Id", session}, 200},
		{"DELETE", http.MethodDelete, "", []string{"Mcp-Session-Id", session}, 204},
		{"gone", http.MethodPost, ping, []string{"Mcp-Session-Id", session}, 404},
		{"gone, GET", http.MethodGet, "", []string{"Mcp-Session-Id", session}, 404},
		{"gone, DELETE", http.MethodDelete, "", []string{"Mcp-Session-Id", session}, 404},
	} {
		resp := r.do(c.method, c.body, c.headers...)
		body := text(t, resp)
		if resp.StatusCode != c.status {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, body)
		}
		if c.status == 202 && body != "" {
			t.Errorf("%s: a body: %s", c.name, body)
		}
		if resp.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: a session id in the answer", c.name)
		}
	}
}

// A session that did not begin leaves nothing behind.
func TestRefusedInitializeBeginsNoSession(t *testing.T) {
	r := newRig(t, nil)
	resp := r.do(http.MethodPost, initialize("never"))
	if body := text(t, resp); resp.StatusCode != 200 || resp.Header.Get("Mcp-Session-Id") != "" || !strings.Contains(body, "-32602") {
		t.Error(resp.StatusCode, resp.Header, body)
	}
	if n := len(r.handler.allSessions()); n != 0 {
		t.Error(n, "sessions")
	}
}

// B013: clients that vanish before they know their session leave none.
func TestB013VanishedInitializeLeavesNoSession(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.StreamAfter = time.Hour })
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		go r.try(ctx, http.MethodPost, initialize("slow"))
		x := <-r.started
		cancel()
		<-x.Done()
		<-x.Session.Context().Done()
		<-r.ended
	}
	if n := len(r.handler.allSessions()); n != 0 {
		t.Error(n, "sessions")
	}
}

func TestIdleSessionEnds(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.SessionIdle = time.Millisecond })
	id := r.begin("2025-11-25")
	s := r.handler.session(id, Caller{Name: "ann"}) // in use from here on, or gone
	if s != nil {
		if s.Context().Err() != nil {
			t.Error("a session in use has ended")
		}
		s.endIdle()
		if s.Context().Err() != nil {
			t.Error("a session in use was ended")
		}
		s.release()
		<-s.Context().Done()
	}
	resp := r.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", id)
	if text(t, resp); resp.StatusCode != 404 {
		t.Error(resp.StatusCode)
	}
}

// A caller's own longest unused session makes room; those of others and those in use
// never do.
func TestSessionCaps(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.CallerShare, o.MaxSessions = 2, 3 })
	alive := func(id, caller string) bool {
		s := r.handler.session(id, Caller{Name: caller})
		if s != nil {
			s.release()
		}
		return s != nil
	}
	// A client has its answer a moment before the server is done with the request.
	begin := func(headers ...string) string {
		id := r.begin("2025-11-25", headers...)
		waitFor(t, func() bool {
			r.handler.mu.Lock()
			s := r.handler.sessions[id]
			r.handler.mu.Unlock()
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.uses == 0
		})
		return id
	}
	bob := []string{"Authorization", "Bearer bob"}
	first, second := begin(), begin()
	if !alive(first, "ann") {
		t.Fatal("gone too early")
	}
	third := begin()
	if alive(second, "ann") || !alive(first, "ann") || !alive(third, "ann") {
		t.Error("the session that was unused for longest must go")
	}
	b1 := begin(bob...)
	b2 := begin(bob...)
	if alive(b1, "bob") || !alive(b2, "bob") || !alive(first, "ann") || !alive(third, "ann") {
		t.Error("the total makes callers push out their own only")
	}
	resp := r.do(http.MethodPost, initialize("2025-11-25"), "Authorization", "Bearer eve")
	if text(t, resp); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Error("no room:", resp.StatusCode)
	}
	held := r.handler.session(b2, Caller{Name: "bob"})
	resp = r.do(http.MethodPost, initialize("2025-11-25"), bob...)
	if text(t, resp); resp.StatusCode != http.StatusServiceUnavailable {
		t.Error("all in use:", resp.StatusCode)
	}
	held.release()
}

func TestRequestsAtOnceAreCapped(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.CallerShare = 2 })
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			body, headers := modern(i, "test/hold", "")
			if resp, err := r.try(context.Background(), http.MethodPost, body, headers...); err == nil {
				text(t, resp)
			}
		})
		<-r.started
	}
	body, headers := modern(3, "echo", "")
	resp := r.do(http.MethodPost, body, headers...)
	if got := text(t, resp); resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(got, `"id":3`) || resp.Header.Get("Retry-After") == "" {
		t.Error(resp.StatusCode, got)
	}
	resp = r.do(http.MethodPost, body, append(headers, "Authorization", "Bearer bob")...)
	if text(t, resp); resp.StatusCode != 200 {
		t.Error("another caller:", resp.StatusCode)
	}
	close(r.free)
	wg.Wait()
	waitFor(t, func() bool {
		r.handler.mu.Lock()
		defer r.handler.mu.Unlock()
		return len(r.handler.open) == 0
	})
	resp = r.do(http.MethodPost, body, headers...)
	if text(t, resp); resp.StatusCode != 200 {
		t.Error("afterwards:", resp.StatusCode)
	}
}

// 64 sessions of 8 callers at once: each gets what is its own, in order, and nothing else.
func TestManySessions(t *testing.T) {
	r := newRig(t, nil)
	r.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 128
	var wg sync.WaitGroup
	for n := range 64 {
		wg.Go(func() {
			caller := fmt.Sprintf("caller-%d", n%8)
			auth := []string{"Authorization", "Bearer " + caller}
			id := r.begin(mcp.V20251125, auth...)
			headers := append(auth, "Mcp-Session-Id", id)
			own := r.do(http.MethodGet, "", headers...)
			events := newEventReader(own.Body, 1<<20)
			s := r.handler.session(id, Caller{Name: caller})
			for i := range 20 {
				if err := s.Send(mcp.NewNotification("notifications/message", fmt.Appendf(nil, `{"to":%d,"n":%d}`, n, i))); err != nil {
					t.Error(err)
				}
				resp := r.do(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"test/stream"}`, i), headers...)
				data, _ := allEvents(t, resp.Body)
				if len(data) != 4 || !strings.Contains(data[3], fmt.Sprintf(`"id":%d`, i)) {
					t.Errorf("%q", data)
				}
				resp = r.do(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"echo","params":{"session":%d}}`, i, n), headers...)
				if got := text(t, resp); !strings.Contains(got, fmt.Sprintf(`{"session":%d}`, n)) {
					t.Error(got)
				}
			}
			for i := range 20 {
				if got := nextEvent(t, events); !strings.Contains(got, fmt.Sprintf(`{"to":%d,"n":%d}`, n, i)) {
					t.Error(got)
				}
			}
			s.release()
			text(t, r.do(http.MethodDelete, "", headers...))
			if _, err := events.next(); err == nil {
				t.Error("the stream of a session that has ended goes on")
			}
			own.Body.Close()
		})
	}
	wg.Wait()
}
