package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// 2025-11-25, "Resumability and Redelivery", from the client's end: exactly one answer,
// or an error, whatever the connections do.
func TestResumedCall(t *testing.T) {
	abort := func(w http.ResponseWriter) {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler) // the connection breaks off
	}
	for _, c := range []struct {
		name  string
		parts []func(w http.ResponseWriter) // by connection; the last one repeats
		err   error
		seen  string // what onMessage got
		last  string // Last-Event-ID of the connections after the first
	}{
		{
			"polled", []func(http.ResponseWriter){
				func(w http.ResponseWriter) { sse(w, "retry: 1\nid: a\ndata:") },
				func(w http.ResponseWriter) { sse(w, "id: b\n"+data(progress)) },
				func(w http.ResponseWriter) { sse(w, "id: c\n"+data(answer)) },
			}, nil, "notifications/progress ", "a b ",
		},
		{
			"broken off", []func(http.ResponseWriter){
				func(w http.ResponseWriter) { sse(w, "id: a\n"+data(progress)); abort(w) },
				func(w http.ResponseWriter) { sse(w, data(answer)) },
			}, nil, "notifications/progress ", "a ",
		},
		{
			"an event broken off is not believed", []func(http.ResponseWriter){
				func(w http.ResponseWriter) {
					sse(w, "id: a\n"+data(progress))
					fmt.Fprint(w, "id: b\n"+data(answer))
					abort(w)
				},
				func(w http.ResponseWriter) { sse(w, "id: c\n"+data(answer)) },
			}, nil, "notifications/progress ", "a ",
		},
		{
			"a server that is busy", []func(http.ResponseWriter){
				func(w http.ResponseWriter) { sse(w, "id: a\ndata:") },
				func(w http.ResponseWriter) { w.WriteHeader(503) },
				func(w http.ResponseWriter) { sse(w, data(answer)) },
			}, nil, "", "a a ",
		},
		{
			"no id",
			[]func(http.ResponseWriter){func(w http.ResponseWriter) { sse(w, data(progress)) }},
			ErrNoAnswer, "notifications/progress ", "",
		},
		{
			"an id that was taken back",
			[]func(http.ResponseWriter){func(w http.ResponseWriter) { sse(w, "id: a\ndata:", "id\ndata:") }},
			ErrNoAnswer, "", "",
		},
		{
			"nothing new",
			[]func(http.ResponseWriter){func(w http.ResponseWriter) { sse(w, "id: a\ndata:") }},
			ErrNoAnswer, "", "a a a a a ",
		},
		{
			"no resumption", []func(http.ResponseWriter){
				func(w http.ResponseWriter) { sse(w, "id: a\ndata:") },
				func(w http.ResponseWriter) { w.WriteHeader(405) },
			}, ErrNoStream, "", "a ",
		},
		{
			"not a stream", []func(http.ResponseWriter){
				func(w http.ResponseWriter) { sse(w, "id: a\ndata:") },
				func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html") },
			}, ErrMediaType, "", "a ",
		},
		{
			"session lost", []func(http.ResponseWriter){
				func(w http.ResponseWriter) { sse(w, "id: a\ndata:") },
				func(w http.ResponseWriter) { w.WriteHeader(404) },
			}, ErrSessionLost, "", "a ",
		},
		{
			"a time that nobody waits",
			[]func(http.ResponseWriter){func(w http.ResponseWriter) { sse(w, "retry: 86400000\nid: a\ndata:") }},
			ErrNoAnswer, "", "",
		},
		{
			"another's answer", []func(http.ResponseWriter){
				func(w http.ResponseWriter) { sse(w, "id: a\ndata:") },
				func(w http.ResponseWriter) {
					sse(w, "id: b\n"+data(strings.Replace(answer, "1", "2", 1)), data(answer))
				},
			}, nil, "", "a ",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n atomic.Int32
			var last strings.Builder
			u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body string) {
				if strings.Contains(body, "initialize") {
					w.Header().Set("Mcp-Session-Id", "s")
					w.Header().Set("Content-Type", typeJSON)
					_, _ = w.Write(result(mcp.IntID(0), "{}"))
					return
				}
				i := int(n.Add(1)) - 1
				if i > 0 {
					last.WriteString(r.Header.Get("Last-Event-ID") + " ")
					if r.Method != http.MethodGet || r.Header.Get("Accept") != typeStream || r.Header.Get("Mcp-Protocol-Version") != "2025-11-25" || r.Header.Get("Mcp-Session-Id") != "s" {
						t.Error(r.Method, r.Header)
					}
				}
				c.parts[min(i, len(c.parts)-1)](w)
			})
			cl := newTestClient(t, u.URL, nil)
			if _, err := cl.Do(t.Context(), []byte(initialize("2025-11-25")), nil, nil); err != nil {
				t.Fatal(err)
			}
			cl.SetVersion("2025-11-25")
			var seen strings.Builder
			m, err := cl.Do(t.Context(), []byte(toolCall), nil, func(m mcp.Message) error { seen.WriteString(m.Method + " "); return nil })
			if c.err == nil && (err != nil || string(m.Raw) != answer) || c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("%s, %v", m.Raw, err)
			}
			if seen.String() != c.seen || last.String() != c.last {
				t.Errorf("messages %q, ids %q", seen.String(), last.String())
			}
		})
	}
}

// 2026-07-28: "Resumable SSE streams via Last-Event-ID are not supported."
func TestStatelessCallsAreNotResumed(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request, _ string) { sse(w, "id: a\n"+data(progress)) })
	c := newTestClient(t, u.URL, nil)
	body, _ := modern(1, "tools/list", "")
	if _, err := c.Do(t.Context(), []byte(body), nil, nil); !errors.Is(err, ErrNoAnswer) || u.count() != 1 {
		t.Error(err, u.count())
	}
	c.SetVersion("2026-07-28")
	if err := c.Listen(t.Context(), nil); !errors.Is(err, ErrNoStream) || u.count() != 1 {
		t.Error(err, u.count())
	}
}

// The server's `retry` is honoured, not shortened.
func TestRetryIsHonoured(t *testing.T) {
	var first time.Time
	var waited time.Duration
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		if r.Method == http.MethodPost {
			sse(w, "retry: 150\nid: a\ndata:")
			first = time.Now()
			return
		}
		waited = time.Since(first)
		sse(w, data(answer))
	})
	c := newTestClient(t, u.URL, nil)
	if _, err := c.Do(t.Context(), []byte(toolCall), nil, nil); err != nil {
		t.Fatal(err)
	}
	if waited < 140*time.Millisecond {
		t.Error("came back after", waited)
	}
}

// 2025-11-25, "Listening for Messages from the Server".
func TestListen(t *testing.T) {
	var n atomic.Int32
	done := make(chan struct{})
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		if r.Method != http.MethodGet || r.Header.Get("Accept") != typeStream {
			t.Error(r.Method, r.Header)
		}
		want := ""
		switch i := n.Add(1); i {
		case 1:
			sse(w, "retry: 1\nid: a\n"+data(progress), data(answer), data("x"), data(`{"jsonrpc":"2.0","id":"q","method":"a","params":[]}`))
		case 2:
			want = "a"
			w.WriteHeader(502)
		case 3:
			want = "a"
			sse(w, "id: b\n"+data(question))
			panic(http.ErrAbortHandler)
		case 4:
			want = "b"
			sse(w, data(progress))
			<-done
		}
		if got := r.Header.Get("Last-Event-ID"); got != want {
			t.Errorf("Last-Event-ID %q, want %q", got, want)
		}
	})
	defer close(done)
	refused := 0
	c := newTestClient(t, u.URL, func(o *ClientOptions) { o.Refused = func(*mcp.ParseError) { refused++ } })
	ctx, cancel := context.WithCancel(t.Context())
	var got strings.Builder
	err := c.Listen(ctx, func(m mcp.Message) error {
		got.WriteString(m.Method + " ")
		if n.Load() == 4 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || got.String() != "notifications/progress elicitation/create notifications/progress " || refused != 2 {
		t.Errorf("%v, %q, %d refused", err, got.String(), refused)
	}
}

func TestListenEnds(t *testing.T) {
	no := errors.New("no")
	for _, c := range []struct {
		name  string
		serve func(w http.ResponseWriter)
		err   error
	}{
		{"not offered", func(w http.ResponseWriter) { w.WriteHeader(405) }, ErrNoStream},
		{"forbidden", func(w http.ResponseWriter) { w.WriteHeader(403) }, &StatusError{}},
		{"HTML", func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html"); fmt.Fprint(w, "<p>") }, ErrMediaType},
		{"too large", func(w http.ResponseWriter) { sse(w, data(strings.Repeat("x", 2000))) }, ErrTooLarge},
		{"the caller's wish", func(w http.ResponseWriter) { sse(w, data(progress)) }, no},
		{"elsewhere", func(w http.ResponseWriter) { w.Header().Set("Location", "http://other.invalid/"); w.WriteHeader(302) }, ErrRedirect},
	} {
		u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request, _ string) { c.serve(w) })
		cl := newTestClient(t, u.URL, func(o *ClientOptions) { o.MaxMessage = 1000 })
		err := cl.Listen(t.Context(), func(mcp.Message) error { return no })
		var s *StatusError
		if want := (*StatusError)(nil); errors.As(c.err, &want) && !errors.As(err, &s) || want == nil && !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// Close ends it, too.
	started := make(chan struct{}, 1)
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		sse(w)
		started <- struct{}{}
		<-r.Context().Done()
	})
	cl := newTestClient(t, u.URL, nil)
	ended := make(chan error)
	go func() { ended <- cl.Listen(t.Context(), nil) }()
	<-started
	if err := cl.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// legacy is a server of 2024-11-05.
type legacy struct {
	*upstream
	events   chan string // sent on the stream
	endpoint string
}

func newLegacy(t testing.TB, endpoint string) *legacy {
	l := &legacy{events: make(chan string, 1000), endpoint: endpoint}
	l.upstream = newUpstream(t, func(w http.ResponseWriter, r *http.Request, body string) {
		switch {
		case r.URL.Path == "/post" && r.Method == http.MethodPost:
			m, _ := mcp.Parse([]byte(body))
			switch {
			case m.Method == "test/refused":
				w.WriteHeader(400)
				return
			case m.Method == "test/answered":
				l.events <- data(progress)
				l.events <- data(string(result(m.ID, "{}")))
			case m.Kind == mcp.Request && m.Method != "test/never":
				l.events <- data(string(result(m.ID, "{}")))
			}
			w.WriteHeader(202)
			fmt.Fprint(w, "Accepted")
		case r.Method == http.MethodGet:
			sse(w, "event: endpoint\n"+data(l.endpoint))
			for {
				select {
				case e := <-l.events:
					if e == "end" {
						return
					}
					fmt.Fprintf(w, "event: message\n%s\n\n", e)
					w.(http.Flusher).Flush()
				case <-r.Context().Done():
					return
				}
			}
		default:
			w.WriteHeader(405)
		}
	})
	return l
}

// 2025-11-25, "Backwards Compatibility": servers of 2024-11-05 can be reached.
func TestLegacyServer(t *testing.T) {
	l := newLegacy(t, "/post?session=1")
	c := newTestClient(t, l.URL+"/sse", func(o *ClientOptions) {
		o.Header, o.IdleTimeout = http.Header{"X-Api-Key": {"k"}}, time.Millisecond // which is not for its stream
	})
	do := func(frame string) error {
		m, err := c.Do(t.Context(), []byte(frame), nil, nil)
		if err == nil && m.Kind != mcp.Response {
			t.Errorf("%+v", m)
		}
		return err
	}
	if err := do(toolCall); err == nil || errors.Is(err, ErrSessionLost) {
		t.Error("before initialize:", err)
	}
	if err := do(initialize("2024-11-05")); err != nil {
		t.Fatal(err)
	}
	if r := l.last(); r.URL.RequestURI() != "/post?session=1" || r.Header.Get("X-Api-Key") != "k" {
		t.Error(r.URL, r.Header)
	}
	c.SetVersion("2024-11-05")
	heard := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	l.events <- data(question) // before anybody listens
	if err := do(`{"jsonrpc":"2.0","id":2,"method":"a"}`); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- c.Listen(ctx, func(m mcp.Message) error { heard <- m.Method; return nil }) }()
	if got := <-heard; got != "elicitation/create" {
		t.Error(got)
	}
	if err := do(`{"jsonrpc":"2.0","id":3,"method":"test/answered"}`); err != nil {
		t.Fatal(err)
	}
	select { // B035: what came before the answer is heard before it
	case got := <-heard:
		if got != "notifications/progress" {
			t.Error(got)
		}
	default:
		t.Error("the answer came first")
	}
	if err := c.Send(t.Context(), []byte(`{"jsonrpc":"2.0","id":"s1","result":{}}`)); err != nil {
		t.Error(err)
	}
	var s *StatusError
	if err := do(`{"jsonrpc":"2.0","id":4,"method":"test/refused"}`); !errors.As(err, &s) {
		t.Error(err)
	}
	l.events <- data(`{"jsonrpc":"2.0","id":77,"result":{}}`) // answers nothing
	l.events <- data("x")
	l.events <- "event: other\ndata: y"
	// An answer that is not valid is an error for its call, at once.
	never := make(chan error, 1)
	go func() { never <- do(`{"jsonrpc":"2.0","id":5,"method":"test/never"}`) }()
	waitFor(t, func() bool { return len(c.eventSession().copyWaiting()) == 1 })
	l.events <- data(`{"jsonrpc":"2.0","id":5,"result":{},"jsonrpC":1}`)
	if err := <-never; !errors.Is(err, ErrBadMessage) {
		t.Error(err)
	}
	// A call that is cancelled is forgotten.
	ctx5, cancel5 := context.WithCancel(t.Context())
	go func() {
		_, err := c.Do(ctx5, []byte(`{"jsonrpc":"2.0","id":6,"method":"test/never"}`), nil, nil)
		never <- err
	}()
	waitFor(t, func() bool { return len(c.eventSession().copyWaiting()) == 1 })
	if err := do(`{"jsonrpc":"2.0","id":6,"method":"a"}`); !errors.Is(err, ErrFrame) {
		t.Error("one id twice:", err)
	}
	cancel5()
	if err := <-never; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// The end of the stream is the end of the session, and of what waits.
	go func() { never <- do(`{"jsonrpc":"2.0","id":7,"method":"test/never"}`) }()
	waitFor(t, func() bool { return len(c.eventSession().copyWaiting()) == 1 })
	l.events <- "end"
	if err := <-never; !errors.Is(err, ErrNoAnswer) {
		t.Error(err)
	}
	if err := do(toolCall); !errors.Is(err, ErrSessionLost) {
		t.Error(err)
	}
	if err := c.Listen(t.Context(), nil); !errors.Is(err, ErrSessionLost) {
		t.Error(err)
	}
	if err := do(initialize("2024-11-05")); err != nil {
		t.Error("a new session:", err)
	}
}

func (e *eventSession) copyWaiting() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var keys []string
	for k := range e.waiting {
		keys = append(keys, k)
	}
	return keys
}

// waitFor polls for what no channel tells.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
		<-time.After(time.Millisecond)
	}
}

// The endpoint must be of the same origin: configured headers go there.
func TestLegacyEndpoint(t *testing.T) {
	foreign := newUpstream(t, func(http.ResponseWriter, *http.Request, string) {})
	for endpoint, want := range map[string]error{
		"/post": nil, "post": nil, "SELF/post": nil,
		foreign.URL + "/post":       ErrRedirect,
		"//evil.invalid/post":       ErrRedirect,
		"https://evil.invalid/post": ErrRedirect,
		"javascript:alert(1)":       ErrRedirect,
		"http://u:p@127.0.0.1/post": ErrRedirect,
		"http://[::1/":              &StatusError{},
	} {
		l := newLegacy(t, "")
		l.endpoint = strings.Replace(endpoint, "SELF", l.URL, 1)
		c := newTestClient(t, l.URL+"/sse", nil)
		_, err := c.Do(t.Context(), []byte(initialize("2024-11-05")), nil, nil)
		var s *StatusError
		switch {
		case want == nil && err != nil, errors.Is(want, ErrRedirect) && !errors.Is(err, ErrRedirect), want != nil && !errors.Is(want, ErrRedirect) && !errors.As(err, &s):
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	if foreign.count() != 0 {
		t.Error("the other origin got a request")
	}
}

// A server that speaks neither is refused as it refused.
func TestNoLegacyServerEither(t *testing.T) {
	for name, get := range map[string]func(w http.ResponseWriter){
		"405":          func(w http.ResponseWriter) { w.WriteHeader(405) },
		"HTML":         func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html"); fmt.Fprint(w, "<p>") },
		"other stream": func(w http.ResponseWriter) { sse(w, data(progress)) },
		"empty stream": func(w http.ResponseWriter) { sse(w) },
	} {
		for status, tries := range map[int]int{400: 2, 404: 2, 405: 2, 401: 1, 403: 1, 500: 1} {
			u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, _ string) {
				if r.Method == http.MethodGet {
					get(w)
					return
				}
				w.WriteHeader(status)
				fmt.Fprint(w, "no")
			})
			c := newTestClient(t, u.URL, nil)
			_, err := c.Do(t.Context(), []byte(initialize("2025-11-25")), nil, nil)
			var s *StatusError
			if !errors.As(err, &s) || s.Status != status || string(s.Body) != "no" || u.count() != tries {
				t.Errorf("%s after %d: %v, %d requests", name, status, err, u.count())
			}
		}
	}
	// 2026-07-28: an answer in the refusal is the answer, not a reason to fall back.
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", typeJSON)
		w.WriteHeader(400)
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"no"}}`)
	})
	c := newTestClient(t, u.URL, nil)
	if m, err := c.Do(t.Context(), []byte(initialize("2025-11-25")), nil, nil); err != nil || m.Error == nil || u.count() != 1 {
		t.Error(err, u.count())
	}
}

// Nobody listens: what waits is bounded, and the connection is given up.
func TestLegacyUnheardMessagesAreBounded(t *testing.T) {
	l := newLegacy(t, "/post")
	c := newTestClient(t, l.URL, nil)
	if _, err := c.Do(t.Context(), []byte(initialize("2024-11-05")), nil, nil); err != nil {
		t.Fatal(err)
	}
	for range maxUnheard + 1 {
		l.events <- data(progress)
	}
	<-c.eventSession().done
	if _, err := c.Do(t.Context(), []byte(toolCall), nil, nil); !errors.Is(err, ErrSessionLost) {
		t.Error(err)
	}
	// What a listener refuses ends Listen, not the connection.
	l = newLegacy(t, "/post")
	c = newTestClient(t, l.URL, nil)
	if _, err := c.Do(t.Context(), []byte(initialize("2024-11-05")), nil, nil); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	for range 2 {
		l.events <- data(progress)
		if err := c.Listen(t.Context(), func(mcp.Message) error { return no }); !errors.Is(err, no) {
			t.Error(err)
		}
	}
	if _, err := c.Do(t.Context(), []byte(toolCall), nil, nil); err != nil {
		t.Error(err)
	}
}
