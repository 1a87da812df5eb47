package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

func (r *rig) shareAll() {
	o := r.setup.Load().Options
	for i := range o.Upstreams {
		o.Upstreams[i].Shared = true
	}
	r.setup.Store(newSetup(o, nil, r.opener))
}

// A shared server has one conversation: what belongs to a session stays with it, and
// nobody's questions or logs reach another.
func TestSharedServer(t *testing.T) {
	up := toolServer("a", "look")
	serve := up.serve
	up.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "tools/call" {
			about(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, progressToken(m)))
			if a, err := c.ask(ctx, "elicitation/create", `{"message":"who?"}`, c.tell); err != nil || a.Error == nil {
				t.Errorf("a question of a shared server is answered: %v %s", err, a.Raw)
			}
			c.tell(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"secret"}}`)
		}
		return serve(ctx, c, m, about)
	}
	r := newRig(t, Options{}, up)
	r.shareAll()
	ann, bob := r.stdio(newCaller(t, "ann", everything, nil)), r.stdio(newCaller(t, "bob", everything, nil))
	ann.initialize()
	bob.initialize()
	for _, k := range []*client{ann, bob} {
		k.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{},"_meta":{"progressToken":"t"}}}`)
		k.wants(k.next(), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`)
		if got := k.next(); !strings.Contains(got, "a ran") {
			t.Errorf("got %s", got)
		}
	}
	if n := len(up.conns); n != 1 {
		t.Errorf("%d conversations", n)
	}
	up.last(t).tell(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	for _, k := range []*client{ann, bob} {
		k.wants(k.next(), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	}
	ann.close()
	if got := bob.call(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); !strings.Contains(got, "look") {
		t.Errorf("got %s", got)
	}
	if up.closedConns() != 0 {
		t.Error("it was closed while somebody uses it")
	}
	bob.close()
	if up.closedConns() != 1 {
		t.Error("it was not closed when nobody did")
	}
}
