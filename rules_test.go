package sallyport_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/confine/osresolve"
)

func TestRateLimits(t *testing.T) {
	now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	opt := sallyport.Options{
		Now: clock,
		Policy: rules(t, `
p:
  rules:
    - {name: slow, effect: allow, tools: [read], rate_limits: [few, shared]}
    - {name: free, effect: allow, tools: [query]}
`),
		Contracts:  contracts(t, mail),
		RateLimits: map[string]sallyport.RateLimit{"few": {Rate: 0.5, Burst: 2}, "shared": {Rate: 1, Burst: 10, Global: true}},
	}
	s := session(t, opt, "read", "query")
	run := func(want sallyport.Verdict) sallyport.Decision {
		t.Helper()
		d := decide(t, s, "read", `{}`)
		if d.Verdict == sallyport.Allow {
			d = s.Start(t.Context(), d.ID)
		}
		if d.Verdict != want {
			t.Fatalf("got %v: %s", d.Verdict, d.Reason)
		}
		return d
	}
	// Deciding debits nothing, starting does.
	for range 5 {
		decide(t, s, "read", `{}`)
	}
	run(sallyport.Allow)
	first := decide(t, s, "read", `{}`)
	second := decide(t, s, "read", `{}`)
	if d := s.Start(t.Context(), first.ID); d.Verdict != sallyport.Allow {
		t.Fatal(d.Reason)
	}
	d := s.Start(t.Context(), second.ID) // the last token went between its decision and its start
	want(t, d, sallyport.Deny, sallyport.CheckRate, "rule 'slow' allows no more calls for now: retry in 2.0s")
	if d.Retry != 2*time.Second {
		t.Errorf("retry in %v", d.Retry)
	}
	run(sallyport.Deny)
	now = now.Add(2 * time.Second)
	run(sallyport.Allow)
	run(sallyport.Deny)
	want(t, decide(t, s, "query", `{"sql":"SELECT 1"}`), sallyport.Allow, "", "")

	opt.RateLimits = nil
	if _, err := sallyport.New(opt); err == nil {
		t.Error("a rate limit that does not exist is no error")
	}
}

func TestContinuedCallIsDebitedOnce(t *testing.T) {
	s := session(t, sallyport.Options{
		Policy:     rules(t, "p: {rules: [{effect: allow, rate_limits: [one]}]}"),
		Contracts:  contracts(t, mail),
		RateLimits: map[string]sallyport.RateLimit{"one": {Rate: 0.001, Burst: 1}},
	}, "read")
	d := decide(t, s, "read", `{}`)
	if d = s.Start(t.Context(), d.ID); d.Verdict != sallyport.Allow {
		t.Fatal(d.Reason)
	}
	c := call(t, "read", `{}`)
	c.Continues = d.ID
	d = s.Decide(t.Context(), c)
	want(t, d, sallyport.Allow, "", "")
	want(t, s.Start(t.Context(), d.ID), sallyport.Allow, "", "")
	want(t, decide(t, s, "read", `{}`), sallyport.Deny, sallyport.CheckRate, "retry in 16m40s")
}

// A policy that runs dry covers its rules and rate limits, nothing else.
func TestPolicyDryRun(t *testing.T) {
	s := session(t, sallyport.Options{
		Policy:     rules(t, "p: {mode: dry-run, rules: [{name: refuses, effect: deny, tools: [wipe, send, never]}, {effect: ask, tools: [query]}, {effect: allow, rate_limits: [one]}]}"),
		Contracts:  contracts(t, mail),
		RateLimits: map[string]sallyport.RateLimit{"one": {Rate: 0.001, Burst: 1}},
	}, "read", "send", "never", "query")
	s.Observe(sallyport.Output{Upstream: "u", Tool: "read", Value: value(t, `"eve@attacker.example"`)})
	for _, c := range []struct {
		tool, args string
		verdict    sallyport.Verdict
		check      sallyport.Check
		runs       bool
	}{
		{"send", `{"to":"ann@corp.example"}`, sallyport.Deny, sallyport.CheckPolicy, true},
		{"send", `{"to":"eve@attacker.example"}`, sallyport.Deny, sallyport.CheckFlow, false},
		{"send", `{"to":"new@partner.example"}`, sallyport.Ask, sallyport.CheckFlow, false},
		{"never", `{}`, sallyport.Deny, sallyport.CheckBudget, false},
		{"query", `{"sql":"SELECT 1"}`, sallyport.Ask, sallyport.CheckPolicy, true},
		{"query", `{"sql":"DROP"}`, sallyport.Deny, sallyport.CheckPattern, false},
		{"nosuch", `{}`, sallyport.Deny, sallyport.CheckPin, false},
		{"read", `{}`, sallyport.Allow, "", true},
		{"read", `{}`, sallyport.Deny, sallyport.CheckRate, true},
	} {
		d := decide(t, s, c.tool, c.args)
		d = s.Start(t.Context(), d.ID)
		if d.Verdict != c.verdict || d.Check != c.check || d.Runs() != c.runs {
			t.Errorf("%s %s: %v by %q, runs %v: %s", c.tool, c.args, d.Verdict, d.Check, d.Runs(), d.Reason)
		}
	}
}

func TestRulesAskTheSession(t *testing.T) {
	dir := t.TempDir()
	s := session(t, sallyport.Options{
		Resolve: osresolve.Resolve,
		Policy: rules(t, `
p:
  rules:
    - {effect: allow, tools: [post], when: {args.to: {origin: [trusted, typed]}}}
    - {effect: allow, tools: [read], when: {args.path: {within: ["`+dir+`"]}}}
    - {effect: allow, tools: [query], when: {caller: local}}
`),
		Contracts: contracts(t, "post: {max_calls: 99}\nread: {max_calls: 99}\nquery: {max_calls: 99}"),
	}, "post", "read", "query")
	s.Prompt("write to bob@partner.example")
	want(t, decide(t, s, "post", `{"to":"bob@partner.example"}`), sallyport.Allow, "", "")
	want(t, decide(t, s, "post", `{"to":["bob@partner.example","new@partner.example"]}`), sallyport.Deny, sallyport.CheckPolicy, "")
	want(t, decide(t, s, "post", `{"to":""}`), sallyport.Deny, sallyport.CheckPolicy, "")
	want(t, decide(t, s, "read", `{"path":"`+filepath.Join(dir, "a")+`"}`), sallyport.Allow, "", "")
	want(t, decide(t, s, "read", `{"path":"`+dir+`/../a"}`), sallyport.Deny, sallyport.CheckPolicy, "")
	want(t, decide(t, s, "query", `{}`), sallyport.Allow, "", "")
}

// Who may not write to strangers may not do so by writing to somebody worse as well.
func TestDenyByOriginMindsEveryDestination(t *testing.T) {
	s := session(t, sallyport.Options{
		Policy:    rules(t, "p: {rules: [{effect: deny, tools: [send], when: {args.to: {origin: unknown}}}, {effect: allow}]}"),
		Contracts: contracts(t, "send: {exfiltrating: true, sink_params: [to]}"), Flow: settings(func(f *sallyport.FlowSettings) { f.Untrusted = sallyport.Ask }),
	}, "send")
	s.Observe(sallyport.Output{Upstream: "u", Tool: "read", Value: value(t, `"eve@attacker.example"`)})
	want(t, decide(t, s, "send", `{"to":"new@partner.example"}`), sallyport.Deny, sallyport.CheckPolicy, "")
	want(t, decide(t, s, "send", `{"to":["new@partner.example","eve@attacker.example"]}`), sallyport.Deny, sallyport.CheckPolicy, "")
	want(t, decide(t, s, "send", `{"to":"new@partner.example, eve@attacker.example"}`), sallyport.Deny, sallyport.CheckPolicy, "")
	want(t, decide(t, s, "send", `{"to":"eve@attacker.example"}`), sallyport.Ask, sallyport.CheckFlow, "")
}

func TestExplain(t *testing.T) {
	s := session(t, sallyport.Options{
		Policy: rules(t, `
p:
  hide_denied_tools: true
  rules:
    - {name: big, effect: deny, tools: [twice], when: {args.n: {gt: 5}}}
    - {name: rest, effect: allow, tools: [twice, send], rate_limits: [one]}
`),
		Contracts:  contracts(t, mail),
		RateLimits: map[string]sallyport.RateLimit{"one": {Rate: 0.001, Burst: 1}},
	}, "twice", "send", "wipe")
	x := s.Explain(t.Context(), call(t, "twice", `{"n":3}`))
	want(t, x.Decision, sallyport.Allow, "", "")
	if len(x.Rules) != 2 || x.Rules[0].Matched || !x.Rules[1].Matched || len(x.Rules[0].Constraints) != 1 {
		t.Errorf("rules %+v", x.Rules)
	}
	if x.Budget == nil || *x.Budget != 2 || x.Used != 0 || len(x.Limits) != 1 || x.Hidden || len(x.Steps) != 9 {
		t.Errorf("explanation %+v", x)
	}
	x = s.Explain(t.Context(), call(t, "send", `{"to":"new@partner.example"}`))
	want(t, x.Decision, sallyport.Ask, sallyport.CheckFlow, "")
	// Nothing was spent.
	for range 5 {
		want(t, s.Explain(t.Context(), call(t, "twice", `{}`)).Decision, sallyport.Allow, "", "")
	}
	d := decide(t, s, "twice", `{}`)
	want(t, s.Start(t.Context(), d.ID), sallyport.Allow, "", "")
	want(t, s.Explain(t.Context(), call(t, "twice", `{}`)).Decision, sallyport.Deny, sallyport.CheckRate, "")
	decide(t, s, "twice", `{}`)
	x = s.Explain(t.Context(), call(t, "twice", `{}`))
	want(t, x.Decision, sallyport.Deny, sallyport.CheckBudget, "max_calls is 2")
	if x.Used != 2 || x.Steps[len(x.Steps)-1].Verdict != sallyport.Deny {
		t.Errorf("explanation %+v", x)
	}
	x = s.Explain(t.Context(), call(t, "wipe", `{}`))
	want(t, x.Decision, sallyport.Deny, sallyport.CheckPolicy, "")
	if !x.Hidden {
		t.Error("a denied tool is not hidden")
	}
	if s.Hidden(call(t, "twice", `{}`)) {
		t.Error("a tool that is allowed with other arguments is hidden")
	}
}
