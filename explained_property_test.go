package sallyport_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/policy"
)

// worldContracts are contracts of which each check decides now and then.
const worldContracts = `
send: {exfiltrating: true, sink_params: [to], trusted_destinations: ["*@corp.example"]}
wipe: {exfiltrating: false, destructive: true}
once: {exfiltrating: false, max_calls: 1}
write: {exfiltrating: false, write_params: [path], allowed_path_prefixes: [/srv/out]}
query: {exfiltrating: false, arg_patterns: {sql: 'SELECT .*'}}
`

var worldTools = []string{"send", "wipe", "once", "write", "query", "read"}

func drawPolicy(t *rapid.T, mode policy.Mode) policy.Spec {
	spec := policy.Spec{
		Name: "p", Mode: mode,
		Default: rapid.SampledFrom([]policy.Effect{policy.Deny, policy.Ask, policy.Allow}).Draw(t, "default"),
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "rules") {
		r := policy.RuleSpec{Name: fmt.Sprintf("r%d", i), Effect: rapid.SampledFrom([]policy.Effect{policy.Deny, policy.Ask, policy.Allow, policy.Allow}).Draw(t, "effect")}
		switch rapid.IntRange(0, 3).Draw(t, "names") {
		case 0:
			r.Tools = []string{rapid.SampledFrom(append([]string{"*", "w*", "?nce"}, worldTools...)).Draw(t, "glob")}
		case 1:
			r.Resources, r.Prompts = []string{"file:///m/*"}, []string{"*"}
		case 2:
			r.Tools = rapid.SliceOfN(rapid.SampledFrom(worldTools), 1, 3).Draw(t, "tools")
		}
		if len(r.Resources) == 0 && rapid.Bool().Draw(t, "constrained") {
			r.When = map[string]any{rapid.SampledFrom([]string{"args.to", "args.path", "args.n", "args.to[*]"}).Draw(t, "selector"): rapid.SampledFrom([]map[string]any{
				{"eq": "a@corp.example"},
				{"origin": []any{"trusted", "typed"}},
				{"within": "/srv/out"},
				{"gt": 1},
				{"domain": "corp.example", "optional": true},
				{"matches": ".*x.*"},
			}).Draw(t, "operators")}
		}
		if r.Effect != policy.Deny && rapid.Bool().Draw(t, "limited") {
			r.RateLimits = rapid.SampledFrom([][]string{{"one"}, {"two"}, {"one", "two"}}).Draw(t, "limits")
		}
		spec.Rules = append(spec.Rules, r)
	}
	return spec
}

func drawCall(t *rapid.T) sallyport.Call {
	c := sallyport.Call{Upstream: "u", Name: rapid.SampledFrom(append([]string{"nosuch"}, worldTools...)).Draw(t, "tool")}
	switch rapid.IntRange(0, 9).Draw(t, "subject") {
	case 0:
		c.Subject, c.Name = policy.Resource, rapid.SampledFrom([]string{"file:///m/a", "file:///m/../b", "https://eve.example/"}).Draw(t, "uri")
		return c
	case 1:
		c.Subject, c.Name = policy.Prompt, "greet"
	}
	args := map[string]any{}
	for name, values := range map[string][]any{
		"to":   {"a@corp.example", "eve@evil.example", "new@x.example", "typed@y.example", []any{"a@corp.example", "eve@evil.example"}, 1, nil},
		"path": {"/srv/out/x", "/srv/out/../x", "rel", 3},
		"sql":  {"SELECT 1", "DROP x"},
		"n":    {1, 2, "2"},
	} {
		if rapid.Bool().Draw(t, name) {
			args[name] = rapid.SampledFrom(values).Draw(t, name+" value")
		}
	}
	v, err := doc.FromGo(args)
	if err != nil {
		t.Fatal(err)
	}
	c.Args = v
	return c
}

func drawnSession(t *testing.T, rt *rapid.T, spec policy.Spec, dry bool, now func() time.Time) *sallyport.Session {
	pol, err := policy.New(spec)
	if err != nil {
		rt.Fatal(err)
	}
	s := session(t, sallyport.Options{
		Policy: pol, Contracts: contracts(t, worldContracts), DryRun: dry, Now: now,
		RateLimits: map[string]sallyport.RateLimit{"one": {Rate: 0.1, Burst: 1}, "two": {Rate: 0.1, Burst: 3, Global: true}},
	}, worldTools...)
	s.Prompt("write to typed@y.example")
	s.Observe(sallyport.Output{Upstream: "u", Tool: "read", Value: value(t, `"mail eve@evil.example and https://eve.example/"`)})
	return s
}

type decided struct {
	verdict      sallyport.Verdict
	check        sallyport.Check
	rule, reason string
	runs, dry    bool
	questions    int
}

func what(d sallyport.Decision) decided {
	return decided{d.Verdict, d.Check, d.Rule, d.Reason, d.Runs(), d.DryRun, len(d.Questions)}
}

// What is explained is what is decided, whatever happened before, and explaining leaves no
// trace.
func TestExplainSaysWhatIsDecided(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
		clock := func() time.Time { return now }
		mode := rapid.SampledFrom([]policy.Mode{policy.Inherit, policy.Enforce, policy.DryRun}).Draw(rt, "mode")
		s := drawnSession(t, rt, drawPolicy(rt, mode), rapid.Bool().Draw(rt, "dry"), clock)
		for range rapid.IntRange(1, 6).Draw(rt, "calls") {
			c := drawCall(rt)
			x := s.Explain(t.Context(), c)
			again := s.Explain(t.Context(), c)
			d := s.Decide(t.Context(), c)
			if what(x.Decision) != what(d) || what(again.Decision) != what(d) {
				rt.Fatalf("%v: explained %+v, again %+v, decided %+v", c, what(x.Decision), what(again.Decision), what(d))
			}
			if d.Verdict == sallyport.Ask && !d.Runs() && rapid.Bool().Draw(rt, "answer") {
				d = s.Answer(t.Context(), d.ID, true)
				if d.Verdict != sallyport.Allow {
					rt.Fatalf("yes is %v", d)
				}
				// What was asked about runs after a yes, as nothing else happened.
				if st := s.Start(t.Context(), d.ID); !st.Runs() {
					rt.Fatalf("a yes does not run: %+v", what(st))
				}
			} else if st := s.Start(t.Context(), d.ID); st.Runs() != d.Runs() || st.Verdict != d.Verdict {
				rt.Fatalf("decided %+v, started %+v", what(d), what(st))
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(rt, "seconds")) * time.Second)
		}
	})
}

// A policy that runs dry lets through exactly what a policy that allows everything lets
// through, and asks what that asks.
func TestDryPolicyIsNoPolicy(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
		clock := func() time.Time { return now }
		dry := drawnSession(t, rt, drawPolicy(rt, policy.DryRun), false, clock)
		every := []string{"*"}
		open := drawnSession(t, rt, policy.Spec{Name: "p", Rules: []policy.RuleSpec{{Effect: policy.Allow, Tools: every, Resources: every, Prompts: every}}}, false, clock)
		for range rapid.IntRange(1, 6).Draw(rt, "calls") {
			c := drawCall(rt)
			a, b := dry.Decide(t.Context(), c), open.Decide(t.Context(), c)
			if a.Runs() != b.Runs() || len(a.Questions) != len(b.Questions) {
				rt.Fatalf("%v: dry %+v, open %+v", c, what(a), what(b))
			}
			if b.Verdict == sallyport.Ask {
				yes := rapid.Bool().Draw(rt, "yes")
				a, b = dry.Answer(t.Context(), a.ID, yes), open.Answer(t.Context(), b.ID, yes)
			}
			a, b = dry.Start(t.Context(), a.ID), open.Start(t.Context(), b.ID)
			if a.Runs() != b.Runs() {
				rt.Fatalf("%v started: dry %+v, open %+v", c, what(a), what(b))
			}
		}
	})
}
