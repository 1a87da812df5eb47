package gateway

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// Over HTTP an agent that begins a new session, or says something else of its client, is not asked
// anew: a caller's sessions have approvals.max_questions together.
func TestQuestionsOfACallerCountOverItsSessions(t *testing.T) {
	up := toolServer("a", "look")
	o, _ := asking(t)
	o.Asking.Settings.MaxQuestions = 2
	r := newRig(t, o, up)
	s := r.overHTTP(newCaller(t, "ann", asksFirst, nil), newCaller(t, "bob", asksFirst, nil))
	handshake := func(caller string) string {
		t.Helper()
		p := post(t, s.URL, caller, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}`)
		with := []string{"Mcp-Session-Id", p.header.Get("Mcp-Session-Id")}
		post(t, s.URL, caller, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, with...)
		return post(t, s.URL, caller, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"look","arguments":{}}}`, with...).body
	}
	stateless := func(caller, name string) string {
		t.Helper()
		meta := strings.Replace(modernMeta, `"name":"`, `"name":"`+name, 1)
		if meta == modernMeta {
			t.Fatal("the client has no name")
		}
		return post(t, s.URL, caller, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+meta+`,"name":"look","arguments":{}}}`,
			"MCP-Protocol-Version", mcp.V20260728, "Mcp-Method", "tools/call", "Mcp-Name", "look").body
	}
	for i, c := range []struct {
		got  string
		asks bool
	}{
		{handshake("ann"), true},
		{stateless("ann", "x"), true},
		{handshake("ann"), false},
		{stateless("ann", "y"), false},
		{handshake("bob"), true},
	} {
		if strings.Contains(c.got, "sallyport approve ") != c.asks || strings.Contains(c.got, "(approvals.max_questions)") == c.asks {
			t.Errorf("%d: got %s", i, c.got)
		}
	}
}
