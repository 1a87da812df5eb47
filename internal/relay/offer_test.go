package relay

import (
	"context"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// A request that is offered after the end is not answered: whoever offers it has another way.
func TestOffer(t *testing.T) {
	e := newEnds(t, mailConfig, nil)
	offer := func(raw string, elsewhere bool) bool {
		m, bad := mcp.Parse([]byte(raw))
		if bad != nil {
			t.Fatal(bad)
		}
		return e.relay.Offer(context.Background(), m, elsewhere)
	}
	const one, two, three, four = `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":3,"method":"ping"}`, `{"jsonrpc":"2.0","id":4,"method":"ping"}`
	if !offer(one, true) {
		t.Error("not taken by a relay that goes on")
	}
	e.wantServer(one)
	idle := e.relay.Drain()
	if !offer(two, true) {
		t.Error("not taken while something is open")
	}
	e.wantServer(two)
	for _, id := range []string{"1", "2"} {
		e.fromServer(`{"jsonrpc":"2.0","id":`+id+`,"result":{}}`, mcp.ID{})
		e.wantClient(`{"jsonrpc":"2.0","id":`+id+`,"result":{}}`, id)
	}
	within(t, idle, "idle")
	if offer(three, true) {
		t.Error("begun where the end would cut it off")
	}
	if !offer(three, false) {
		t.Error("not taken, and there is no other way")
	}
	e.wantServer(three)
	e.relay.End(t.Context(), "over")
	e.wantClient(`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"[sallyport] over before it answered"}}`, "3")
	if offer(four, false) || offer(four, true) {
		t.Error("taken after the end")
	}
}
