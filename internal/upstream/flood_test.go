package upstream

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/lograte"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/stdio"
)

// What a server that reads nothing makes this program answer does not pile up.
func TestForcedFramesAreBounded(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	q := newQueue(stdio.NewWriter(w), func(error) {})
	defer func() {
		close(q.stop)
		r.Close()
		<-q.done
	}()
	for range 100 * maxQueued {
		q.force([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"x"}}`))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.frames) > 4*maxQueued {
		t.Errorf("%d frames wait", len(q.frames))
	}
}

// Nor does it over HTTP, where each answer is a request of its own.
func TestRefusalsAreBounded(t *testing.T) {
	const many = 20 * maxRefusals
	var at, most atomic.Int64
	release, flooded := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		m, _ := mcp.Parse(body)
		switch m.Method {
		case "initialize":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`, m.ID.Raw())
		case "test/flood":
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range many {
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q%d\",\"method\":5}\n\n", i)
			}
			w.(http.Flusher).Flush()
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", m.ID.Raw())
			close(flooded)
		default:
			if m.Kind == mcp.Response {
				n := at.Add(1)
				for before := most.Load(); n > before && !most.CompareAndSwap(before, n); before = most.Load() {
				}
				<-release
				at.Add(-1)
			}
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(server.Close)
	var log logText
	s := newServer(t, Options{Name: "flood", URL: server.URL, Log: log.logger()})
	c := open(t, s, Client{Era: Handshake, Params: []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)}, nil)
	do(t, c, req(1, "test/flood", "{}"), nil)
	<-flooded
	for end := time.Now().Add(2 * time.Second); most.Load() < maxRefusals && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	close(release)
	if n := strings.Count(log.String(), "dropped a message that is not valid"); n != lograte.PerMinute {
		t.Errorf("%d lines in the log", n)
	}
	if n := most.Load(); n == 0 || n > maxRefusals {
		t.Errorf("%d answers at once", n)
	}
}
