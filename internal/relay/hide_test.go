package relay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
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

func TestRateLimitedAndPolicyDryRunAreRecorded(t *testing.T) {
	g := newRig(t, rigOptions{
		config: `
version: 1
rate_limits: {one: {rate: 1, per: 1h}}
policies:
  p:
    rules: [{name: slow, effect: allow, tools: [echo], rate_limits: [one]}]
tools: {echo: {max_calls: 9}}
`,
		engine: func(o *sallyport.Options) {
			o.RateLimits = map[string]sallyport.RateLimit{"one": {Rate: 1.0 / 3600, Burst: 1}}
		},
	})
	g.answered(1, "echo", `{}`, "ok")
	g.call(2, "echo", `{}`)
	if text := g.refused(2, "rate"); !strings.Contains(text, "retry in 1h0m0s") && !strings.Contains(text, "retry in 59m") {
		t.Error(text)
	}
	var limited bool
	for _, r := range records(t, g) {
		limited = limited || r["request"] == "2" && r["outcome"] == "rate_limited" && r["check"] == "rate"
	}
	if !limited {
		t.Error("nothing says rate_limited")
	}

	g = newRig(t, rigOptions{config: `
version: 1
policies: {p: {mode: dry-run}}
tools: {echo: {max_calls: 1}}
`})
	g.answered(1, "echo", `{}`, "it would be denied")
	g.call(2, "echo", `{}`)
	g.refused(2, "budget") // what is no rule is enforced
	var dry bool
	for _, r := range records(t, g) {
		dry = dry || r["outcome"] == "dry-run-allowed" && r["mode"] == "dry-run" && r["check"] == "policy"
	}
	if !dry {
		t.Error("nothing says dry-run-allowed")
	}
}

// What would have been refused stands in the log, whatever follows it in the same request.
func TestDryRunOfAListenIsRecorded(t *testing.T) {
	g := newRig(t, rigOptions{config: `
version: 1
policies:
  p:
    mode: dry-run
    rules:
      - {name: open, effect: allow, resources: ["file:///open/*"]}
`})
	listen := `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["file:///open/a","file:///secret","file:///open/b"]}}}`
	g.client(listen)
	g.serverWants(listen)
	for _, r := range records(t, g) {
		if r["request"] != "7" {
			continue
		}
		if reason, _ := r["reason"].(string); r["outcome"] != "dry-run-allowed" || !strings.Contains(reason, "file:///secret") {
			t.Errorf("recorded as %v: %v", r["outcome"], r["reason"])
		}
		return
	}
	t.Error("nothing is recorded")
}

// A refusal says that it is one, in dry-run too.
func TestDryRunThatCannotBeRecordedIsRefused(t *testing.T) {
	g := newRig(t, rigOptions{config: "version: 1\nmode: dry-run\npolicies: {p: {}}\ntools:" + plainTools})
	g.answered(1, "echo", `{}`, "it would be denied")
	g.audit.Close()
	g.call(2, "echo", `{}`)
	if answer := g.clientHears(); !strings.Contains(answer, "could not be recorded") || strings.Contains(answer, "dryRun") {
		t.Error(answer)
	}
}

// A rule that looks at a prompt's arguments sees those that a completion is about.
func TestCompletionArgumentsAreJudged(t *testing.T) {
	g := newRig(t, rigOptions{config: `
version: 1
policies:
  p:
    rules:
      - {effect: deny, prompts: [greet], when: {args.name: root}}
      - {effect: allow, prompts: [greet]}
`})
	ask := func(id int, rest string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"},%s}}`, id, rest)
	}
	ok := ask(1, `"argument":{"name":"name","value":"ro"}`)
	g.client(ok)
	g.serverWants(ok)
	for i, rest := range []string{
		`"argument":{"name":"name","value":"root"}`,
		`"argument":{"name":"other","value":""},"context":{"arguments":{"name":"root"}}`,
	} {
		g.client(ask(10+i, rest))
		g.wantError(fmt.Sprint(10+i), -31403)
	}
	g.client(ask(20, `"argument":["name"]`))
	g.wantError("20", -32602)
}
