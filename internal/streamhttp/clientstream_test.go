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
// 2025-11-25, "Backwards Compatibility": servers of 2024-11-05 can be reached.

// The endpoint must be of the same origin: configured headers go there.
// A server that speaks neither is refused as it refused.
// Nobody listens: what waits is bounded, and the connection is given up.
