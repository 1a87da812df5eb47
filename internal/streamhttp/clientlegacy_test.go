package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

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
			case m.Method == "test/lost":
				w.WriteHeader(404)
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
	// A server that does not know the session did nothing with what was sent.
	if err := do(`{"jsonrpc":"2.0","id":8,"method":"test/lost"}`); !errors.Is(err, ErrNotTaken) {
		t.Error(err)
	}
	if err := c.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":"test/lost"}`)); !errors.Is(err, ErrNotTaken) {
		t.Error(err)
	}
	// The end of the stream is the end of the session, and of what waits: that was taken.
	go func() { never <- do(`{"jsonrpc":"2.0","id":7,"method":"test/never"}`) }()
	waitFor(t, func() bool { return len(c.eventSession().copyWaiting()) == 1 })
	l.events <- "end"
	if err := <-never; !errors.Is(err, ErrNoAnswer) || errors.Is(err, ErrNotTaken) {
		t.Error(err)
	}
	before := l.count()
	if err := do(toolCall); !errors.Is(err, ErrNotTaken) || l.count() != before {
		t.Errorf("%v after %d requests", err, l.count()-before)
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
