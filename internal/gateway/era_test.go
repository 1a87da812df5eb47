package gateway

import (
	"fmt"
	"strings"
	"testing"
)

// A client of either era reaches a server of the other; the relay sees what the client sees.
func TestErasAreBridged(t *testing.T) {
	t.Run("handshake client, stateless server", func(t *testing.T) {
		up := toolServer("a", "look").stateless()
		r := newRig(t, Options{}, up)
		k := r.stdio(newCaller(t, "local", everything, nil))
		hello := k.initialize()
		if get(t, hello, "result", "protocolVersion") != "2025-11-25" || get(t, hello, "result", "serverInfo", "name") != "a" {
			t.Errorf("got %s", hello)
		}
		if list := k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); get(t, list, "result", "tools", 0, "name") != "look" {
			t.Errorf("got %s", list)
		}
		if got := k.call(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"look"}}`); !strings.Contains(got, "a ran") {
			t.Errorf("got %s", got)
		}
		k.close()
	})
	t.Run("stateless client, handshake server", func(t *testing.T) {
		up := toolServer("a", "look")
		r := newRig(t, Options{}, up, toolServer("b", "look").stateless())
		k := r.stdio(newCaller(t, "local", everything, nil))
		discover := k.call(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`)
		if get(t, discover, "result", "supportedVersions", 0) != "2026-07-28" || get(t, discover, "result", "resultType") != "complete" {
			t.Errorf("got %s", discover)
		}
		list := k.call(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + modernMeta + `}}`)
		if get(t, list, "result", "tools", 0, "name") != "a__look" || get(t, list, "result", "tools", 1, "name") != "b__look" || get(t, list, "result", "cacheScope") != "private" {
			t.Errorf("got %s", list)
		}
		got := k.call(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{` + modernMeta + `,"name":"a__look"}}`)
		if !strings.Contains(got, "a ran") || get(t, got, "result", "resultType") != "complete" {
			t.Errorf("got %s", got)
		}
		if got := k.call(`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"}}}`); fmt.Sprint(get(t, got, "error", "code")) != "-32022" || get(t, got, "error", "data", "supported", 0) != "2026-07-28" {
			t.Errorf("got %s", got)
		}
		k.close()
	})
}
