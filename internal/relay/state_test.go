package relay

import (
	"fmt"
	"strings"
	"testing"
)

// B048: a requestState continues the request that it was given for. A server may give
// the same one for several; for any other it is refused before the server sees it.
func TestB048StatesBelongToTheirRequest(t *testing.T) {
	g := newRig(t, rigOptions{})
	call := func(id int, tool, state string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"a":1}%s}}`, id, tool, state)
	}
	for i, tool := range []string{"echo", "read_ticket"} {
		more := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"resultType":"input_required","requestState":"same","inputRequests":{}}}`, i)
		g.client(call(i, tool, ""))
		g.serverWants(call(i, tool, ""))
		g.server(more)
		g.clientWants(more)
	}
	const state = `,"requestState":"same"`
	for i, frame := range []string{
		call(10, "nosuch", state),
		`{"jsonrpc":"2.0","id":11,"method":"prompts/get","params":{"name":"echo"` + state + `}}`,
		`{"jsonrpc":"2.0","id":12,"method":"resources/read","params":{"uri":"echo"` + state + `}}`,
	} {
		g.client(frame)
		if f := g.clientHears(); !strings.Contains(f, fmt.Sprintf(`"id":%d,"error":{"code":-32602`, 10+i)) {
			t.Errorf("%s: %s", frame, f)
		}
	}
	for i, tool := range []string{"read_ticket", "echo", "echo"} { // used twice: a call of its own
		g.client(call(20+i, tool, state))
		g.serverWants(call(20+i, tool, state))
		g.server(textResult(20+i, "ok"))
		g.clientWants(textResult(20+i, "ok"))
	}
	if !g.relay.GaveState("same") || g.relay.GaveState("other") {
		t.Error("it is not known which states were given")
	}
	g.quiet()
}
