package streamhttp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// upstream is an MCP server that the test writes itself.
type upstream struct {
	*httptest.Server
	mu   sync.Mutex
	seen []*http.Request // their bodies are gone; see bodies
	body []string
}

func newUpstream(t testing.TB, serve func(w http.ResponseWriter, r *http.Request, body string)) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.seen, u.body = append(u.seen, r), append(u.body, string(b))
		u.mu.Unlock()
		serve(w, r, string(b))
	}))
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) last() *http.Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen[len(u.seen)-1]
}

func (u *upstream) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.seen)
}

func newTestClient(t testing.TB, target string, change func(*ClientOptions)) *Client {
	t.Helper()
	o := ClientOptions{URL: target, RetryDelay: time.Millisecond}
	if change != nil {
		change(&o)
	}
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // no DELETE to servers that have ended
		_ = c.Close(ctx)
	})
	return c
}

const (
	toolCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`
	answer   = `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`
	progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`
	question = `{"jsonrpc":"2.0","id":"s1","method":"elicitation/create","params":{}}`
)

func sse(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", typeStream)
	for _, e := range events {
		fmt.Fprintf(w, "%s\n\n", e)
	}
	w.(http.Flusher).Flush()
}

func data(s string) string { return "data: " + s }
