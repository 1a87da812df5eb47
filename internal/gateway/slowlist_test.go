package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// withoutList makes a server answer no tools/list.
func withoutList(s *server) *server {
	serve := s.serve
	s.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "tools/list" {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return serve(ctx, c, m, about)
	}
	return s
}

// The headers of a call are compared with the schema of its own server alone: it does not
// wait for one that does not list its tools.
func TestACallDoesNotWaitForTheListOfAnotherServer(t *testing.T) {
	a, b := toolServer("a", "look").stateless(), withoutList(toolServer("b", "look").stateless())
	r := newRig(t, Options{}, a, b)
	s := r.overHTTP(newCaller(t, "ann", everything, nil))
	done := make(chan reply, 1)
	go func() {
		done <- modern(t, s.URL, "ann", "1", "tools/call", `"name":"a__look"`, "Mcp-Name", "a__look")
	}()
	select {
	case p := <-done:
		if p.status != http.StatusOK || !strings.Contains(p.body, "a ran") {
			t.Errorf("got %d %s", p.status, p.body)
		}
	case <-time.After(patience):
		t.Error("the call waits")
	}
}

// A server whose every page comes in time, and the last one never, does not keep the tools
// of others from a client.
func TestASlowListIsLeftOut(t *testing.T) {
	a, b := toolServer("a", "look"), toolServer("b", "look")
	page := 0
	serve := b.serve
	b.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method != "tools/list" {
			return serve(ctx, c, m, about)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		page++
		return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, page), nil
	}
	r := newRig(t, Options{}, a, b)
	r.listTime = 200 * time.Millisecond
	k := r.stdio(newCaller(t, "ann", everything, nil))
	k.initialize()
	if list := k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(list, "a__look") {
		t.Errorf("got %s", list)
	}
	if page > 5 {
		t.Errorf("%d pages were asked for", page)
	}
}
