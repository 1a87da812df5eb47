package gateway

import (
	"strings"
	"testing"
)

func TestB075HiddenIsStillRefused(t *testing.T) {
	g := newRig(t, rigOptions{config: `
version: 1
policies:
  p:
    hide_denied_tools: true
    hide_denied_prompts: true
    rules:
      - {effect: allow, tools: [echo], when: {args.n: {lt: 5}}}
      - {effect: allow, prompts: [greet]}
tools: {echo: {max_calls: 9}}
`})
	list := func(method, result string) string {
		t.Helper()
		f := `{"jsonrpc":"2.0","id":"` + method + `","method":"` + method + `"}`
		g.client(f)
		if method != "tools/list" { // the rig answers that one
			g.serverWants(f)
			g.server(`{"jsonrpc":"2.0","id":"` + method + `","result":` + result + `}`)
		}
		return g.clientHears()
	}
	got := list("tools/list", "")
	if !strings.Contains(got, `"tools":[{"name":"echo","inputSchema":{"type":"object"}}]`) {
		t.Errorf("client hears %s", got)
	}
	got = list("prompts/list", `{"prompts":[{"name":"greet"},{"name":"secret"}]}`)
	if !strings.Contains(got, `"prompts":[{"name":"greet"}]`) {
		t.Errorf("client hears %s", got)
	}
	got = list("resources/list", `{"resources":[{"uri":"file:///x"}]}`)
	if !strings.Contains(got, `file:///x`) {
		t.Errorf("resources are hidden, though nothing says so: %s", got)
	}
	g.call(1, "send_email", `{}`)
	g.refused(1, "policy")
	g.answered(2, "echo", `{"n":1}`, "ok")
	g.call(3, "echo", `{"n":7}`)
	g.refused(3, "policy")
}
