package gateway

import (
	"context"
	"net/http"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// A request that is cancelled in the batch that it stands in is cancelled at the server if it
// has it, and the batch has an answer for each of its requests all the same.
func TestARequestCancelledInItsBatchKeepsItsPlace(t *testing.T) {
	a := toolServer("a", "hold", "quick")
	serve := a.serve
	a.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if name, _ := param(m, "name"); name == "hold" {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return serve(ctx, c, m, about)
	}
	r := newRig(t, Options{}, a)
	s := r.overHTTP(newCaller(t, "ann", everything, nil))
	p := post(t, s.URL, "ann", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}`)
	with := []string{"Mcp-Session-Id", p.header.Get("Mcp-Session-Id")}
	post(t, s.URL, "ann", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, with...)
	const hold = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hold"}}`
	const stop = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`
	const quick = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"quick"}}`
	for batch, n := range map[string]int{"[" + hold + "," + stop + "]": 1, "[" + hold + "," + quick + "," + stop + "]": 2} {
		p := post(t, s.URL, "ann", batch, with...)
		if p.status != http.StatusOK || get(t, p.body, n-1) == nil || get(t, p.body, n) != nil || get(t, p.body, 0, "error", "message") != "[sallyport] the request was cancelled" {
			t.Errorf("%s: %d %s", batch, p.status, p.body)
		}
		if n == 2 && get(t, p.body, 1, "result", "structuredContent", "tool") != "quick" {
			t.Errorf("%s: %s", batch, p.body)
		}
	}
}
