package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// B044: each side sees what the other declares, with members that nobody here knows; what
// is not there is an error of the protocol.
func TestB044CapabilitiesAreMirrored(t *testing.T) {
	const declared = `{"roots":{},"elicitation":{"form":{}},"x":{"deep":1.0}}`
	const offers = `{"tools":{"future":true},"experimental":{"y":[1.50]}}`
	greeting := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + declared + `,"clientInfo":{"name":"c","version":"0"}}}`
	a, b := toolServer("a", "x"), toolServer("b", "x")
	a.hello = `{"protocolVersion":"2025-11-25","capabilities":` + offers + `,"serverInfo":{"name":"a","version":"1"}}`
	k := newRig(t, Options{}, a).stdio(newCaller(t, "local", everything, nil))
	if hello := k.call(greeting); !strings.Contains(hello, `"capabilities":`+offers) {
		t.Errorf("got %s", hello)
	}
	if got := string(a.last(t).client.Params); !strings.Contains(got, `"capabilities":`+declared) {
		t.Errorf("the server sees %s", got)
	}
	k.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	k.wants(k.call(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x://y"}}`), `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`)
	k.close()

	// Of several, what any has; what none has is not made up.
	k = newRig(t, Options{}, a, b).stdio(newCaller(t, "local", everything, nil))
	hello := k.call(greeting)
	for _, c := range []string{"resources", "prompts", "logging", "completions", "tasks"} {
		if get(t, hello, "result", "capabilities", c) != nil {
			t.Errorf("%s is declared, and no upstream has it: %s", c, hello)
		}
	}
	if get(t, hello, "result", "capabilities", "tools", "future") != true || get(t, hello, "result", "capabilities", "experimental", "y") == nil {
		t.Errorf("got %s", hello)
	}
	for _, s := range []*server{a, b} {
		if got := string(s.last(t).client.Params); !strings.Contains(got, `"capabilities":`+declared) {
			t.Errorf("the server %s sees %s", s.name, got)
		}
	}
	k.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for method, params := range map[string]string{"logging/setLevel": `"level":"info"`, "resources/subscribe": `"uri":"x://y"`, "prompts/get": `"name":"a__p"`} {
		if got := k.call(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`); get(t, got, "error", "code") == nil {
			t.Errorf("%s, which nobody has: %s", method, got)
		}
	}
	k.close()
}

// B046: what a server says is wrong with a read stays an error, and resources are under the
// policy however they are asked for.
func TestB046ResourcesUnderPolicy(t *testing.T) {
	const file = `
p:
  default: allow
  rules:
    - {name: no-logs, effect: deny, resources: ["file:///logs/*"]}
    - {name: others, effect: allow, resources: ["*"]}
`
	a := library("a", []string{"file:///ok.txt", "file:///logs/today.txt"}, []string{"file:///logs/{date}.txt", "file:///{name}.md"}, "")
	serve := a.serve
	a.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "resources/read" {
			return "", rpcError{-32002, "its disk is full"}
		}
		return serve(ctx, c, m, about)
	}
	for _, ups := range [][]*server{{a}, {a, toolServer("b", "x")}} {
		k := newRig(t, Options{}, ups...).stdio(newCaller(t, "local", file, nil))
		k.initialize()
		list := k.call(`{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}`)
		if get(t, list, "result", "resourceTemplates", 1, "uriTemplate") != "file:///{name}.md" {
			t.Errorf("got %s", list)
		}
		k.wants(k.call(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///readme.md"}}`), `{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"its disk is full"}}`)
		a.mu.Lock()
		a.got = nil
		a.mu.Unlock()
		for _, q := range []string{
			`"method":"resources/read","params":{"uri":"file:///logs/2026.txt"}`,
			`"method":"resources/subscribe","params":{"uri":"file:///logs/2026.txt"}`,
			`"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"file:///logs/{date}.txt"},"argument":{"name":"date","value":"2"}}`,
		} {
			if got := k.call(`{"jsonrpc":"2.0","id":1,` + q + `}`); fmt.Sprint(get(t, got, "error", "code")) != "-31403" {
				t.Errorf("%s: %s", q, got)
			}
		}
		if got := k.call(`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"file:///{name}.md"},"argument":{"name":"name","value":"r"}}}`); get(t, got, "result", "by") != "a" {
			t.Errorf("got %s", got)
		}
		k.close()
		if a.saw("logs/") {
			t.Error("a denied resource reached the server")
		}
	}
}
