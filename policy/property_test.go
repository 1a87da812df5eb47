package policy

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
)

var (
	someNames = []string{"", "a", "b", "ab", "abb", "c", "abcdefghijklmnopqrstuvwxyzab"}
	someGlobs = []string{
		"a", "b", "ab", "a*", "ab*", "a?", "*b", "?", "??", "*", "?*", "*?", "[!a]", "[ab]", "[a-c]*", "a*b", "*a*",
		"abcdefghijklmnopqrstuvwxyz*", "abcdefghijklmnopqrstuvwxyzab",
	}
	someUpstreams = []string{"", "a", "b"}
	// someValues are arguments that rules over few values tell apart.
	someValues = []any{
		nil, true, 1, 2, 3, 2.5, "a", "b", "ab", "abc", "1", "https://a.example.com/", "x@example.com", "/srv/a/b", "/etc",
		[]any{},
		[]any{"a"},
		[]any{"a", "b"},
		[]any{1, "a"},
		[]any{nil},
		map[string]any{"x": "a"},
		map[string]any{},
		[]any{map[string]any{"x": "a"}, map[string]any{}},
		[]any{map[string]any{"x": "a"}, map[string]any{"x": 2}},
	}
	someOperations = []struct {
		name     string
		operands []any
	}{
		{"eq", []any{"a", "b", 1, 2, true, nil}},
		{"ne", []any{"a", 2, nil}},
		{"in", []any{[]any{"a"}, []any{"a", "b"}, []any{1, 2, "a"}, []any{nil, "a"}, []any{1}}},
		{"not_in", []any{[]any{"a"}, []any{"a", "b"}, []any{1, "a"}, []any{nil, "a"}}},
		{"matches", []any{"a.*", "(a|b)", ".*"}},
		{"not_matches", []any{"a.*", "b"}},
		{"contains", []any{"a", "b", 1}},
		{"gt", []any{1, 2}},
		{"gte", []any{1, 2, 2.0}},
		{"lt", []any{2, 3}},
		{"lte", []any{2, 2.5}},
		{"max_length", []any{0, 1, 2}},
		{"present", []any{true}},
		{"absent", []any{true}},
		{"within", []any{"/srv", "/srv/a", []any{"/srv", "/etc"}}},
		{"host", []any{"a.example.com", "*.example.com", []any{"a.example.com", "example.com"}}},
		{"domain", []any{"example.com", "a.example.com"}},
		{"origin", []any{"typed", []any{"typed", "trusted"}}},
	}
	someSelectors = []string{"args.x", "args.l", "args.l[*]", "args.l[*].x", "args.l[0]", "args.l[-1]", "args", "caller", "upstream"}
)

// someFacts are facts that depend on the value alone.
var someFacts = &Facts{Origins: func(_ string, v doc.Value) ([]flow.Origin, bool) {
	switch v.String() {
	case "a":
		return []flow.Origin{flow.Typed}, true
	case "b":
		return []flow.Origin{flow.Trusted}, true
	case "ab":
		return []flow.Origin{flow.Malformed}, true
	case "abc":
		return []flow.Origin{flow.Unknown}, false
	}
	return []flow.Origin{flow.Untrusted}, true
}}

// constraints draws a when that loads.
func constraints(t *rapid.T, effect Effect) map[string]any {
	when := map[string]any{}
	for range rapid.IntRange(0, 2).Draw(t, "constraints") {
		selector := rapid.SampledFrom(someSelectors).Draw(t, "selector")
		set := map[string]any{}
		for range rapid.IntRange(1, 2).Draw(t, "operators") {
			op := rapid.SampledFrom(someOperations).Draw(t, "operator")
			set[op.name] = rapid.SampledFrom(op.operands).Draw(t, "operand")
		}
		if rapid.IntRange(0, 3).Draw(t, "optional") == 0 {
			set["optional"] = true
		}
		if rapid.Bool().Draw(t, "any") {
			set["quantifier"] = "any"
		}
		if _, err := specConstraint(selector, set, effect); err == nil {
			when[selector] = set
		}
	}
	if len(when) == 0 {
		return nil
	}
	return when
}

func someRule(t *rapid.T) RuleSpec {
	globs := rapid.SliceOfN(rapid.SampledFrom(someGlobs), 1, 3)
	maybe := func(what string) []string {
		if rapid.Bool().Draw(t, what+"?") {
			return nil
		}
		return globs.Draw(t, what)
	}
	r := RuleSpec{
		Effect: Effect(rapid.IntRange(0, 2).Draw(t, "effect")),
		Tools:  maybe("tools"), Resources: maybe("resources"), Prompts: maybe("prompts"), Upstreams: maybe("upstreams"),
	}
	r.When = constraints(t, r.Effect)
	return r
}

// specs draws policies over few names, so that rules overlap.
func specs(t *rapid.T) Spec {
	s := Spec{Name: "p", Default: Effect(rapid.IntRange(0, 2).Draw(t, "default"))}
	for range rapid.IntRange(0, 6).Draw(t, "rules") {
		s.Rules = append(s.Rules, someRule(t))
	}
	return s
}

func someArgs(t *rapid.T) doc.Value {
	args := map[string]any{}
	for _, name := range []string{"x", "l"} {
		if rapid.IntRange(0, 4).Draw(t, name+"?") > 0 {
			args[name] = rapid.SampledFrom(someValues).Draw(t, name)
		}
	}
	v, err := doc.FromGo(args)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// targets are all names, with the arguments given.
func targets(args doc.Value) []Target {
	var l []Target
	for s := range subjects {
		for i, u := range someUpstreams {
			for _, n := range someNames {
				l = append(l, Target{Subject: s, Upstream: u, Name: n, Caller: someNames[i], Args: args})
			}
		}
	}
	return l
}

func compile(t *rapid.T, s Spec) *Policy {
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestIndexAgreesWithTheRules compares with a reading of the rules top to bottom.
func TestIndexAgreesWithTheRules(t *testing.T) {
	covers := func(globs []string, name string) bool {
		return slices.ContainsFunc(globs, func(s string) bool {
			g, err := ParseGlob(s)
			return err == nil && g.Match(name)
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		s := specs(t)
		p := compile(t, s)
		for _, target := range targets(someArgs(t)) {
			want, rule := s.Default, -1
			if target.Subject != Tool {
				want = Deny
			}
			for i, r := range s.Rules {
				named := [][]string{r.Tools, r.Resources, r.Prompts}
				every := target.Subject == Tool && r.Tools == nil && r.Resources == nil && r.Prompts == nil
				if !every && !covers(named[target.Subject], target.Name) || r.Upstreams != nil && !covers(r.Upstreams, target.Upstream) {
					continue
				}
				out := Pass
				for _, c := range p.rules[i].trace(&target, someFacts) {
					out = min(out, c.Outcome)
				}
				if out == Pass || out == Cannot && r.Effect != Allow {
					want, rule = r.Effect, i
					break
				}
			}
			got := p.Evaluate(target, someFacts)
			if got.Effect != want || (got.Rule == nil) != (rule < 0) || got.Rule != nil && got.Rule != p.rules[rule] {
				t.Fatalf("%v: got %v by %v, want %v by rule %d", target, got.Effect, got.Rule, want, rule+1)
			}
		}
	})
}

func TestRemovingAnAllowRuleNeverAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := specs(t)
		before := compile(t, s)
		all := targets(someArgs(t))
		for i, r := range s.Rules {
			if r.Effect != Allow {
				continue
			}
			less := s
			less.Rules = slices.Delete(slices.Clone(s.Rules), i, i+1)
			after := compile(t, less)
			for _, target := range all {
				if before.Evaluate(target, someFacts).Effect == Deny && after.Evaluate(target, someFacts).Effect != Deny {
					t.Fatalf("without rule %d, %v is no longer denied", i+1, target)
				}
			}
		}
	})
}

func TestADenyRuleOnTopNeverAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := specs(t)
		before := compile(t, s)
		more := s
		deny := someRule(t)
		deny.Effect = Deny
		if deny.When != nil {
			deny.When = constraints(t, Deny)
		}
		more.Rules = slices.Insert(slices.Clone(s.Rules), 0, deny)
		after := compile(t, more)
		for _, target := range targets(someArgs(t)) {
			was, is := before.Evaluate(target, someFacts), after.Evaluate(target, someFacts)
			if is.Effect != was.Effect && is.Effect != Deny {
				t.Fatalf("%v: %v, and with a deny rule on top %v", target, was.Effect, is.Effect)
			}
		}
	})
}

func TestDenyAllOnTopDeniesEverything(t *testing.T) {
	every := []string{"*"}
	rapid.Check(t, func(t *rapid.T) {
		s := specs(t)
		s.Rules = slices.Insert(s.Rules, 0, RuleSpec{Effect: Deny, Tools: every, Resources: every, Prompts: every})
		p := compile(t, s)
		for _, target := range targets(someArgs(t)) {
			if got := p.Evaluate(target, someFacts); got.Effect != Deny || got.Rule != p.rules[0] {
				t.Fatalf("%v is %v", target, got.Effect)
			}
		}
	})
}

// What an allow rule takes for certain, a deny rule with the same constraints takes too.
func TestNoValueIsAllowedByWhatADenyRuleMisses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := someRule(t)
		if r.When = constraints(t, Allow); r.When == nil {
			return
		}
		allow, deny := r, r
		allow.Effect, deny.Effect = Allow, Deny
		a, d := compile(t, Spec{Name: "p", Rules: []RuleSpec{allow}}), compile(t, Spec{Name: "p", Default: Allow, Rules: []RuleSpec{deny}})
		for _, target := range targets(someArgs(t)) {
			if a.Evaluate(target, someFacts).Effect == Allow && d.Evaluate(target, someFacts).Effect != Deny {
				t.Fatalf("%v passes %v and is not denied by it", target, r.When)
			}
		}
	})
}

func TestDeniesIsNeverWrong(t *testing.T) {
	denied := 0
	rapid.Check(t, func(t *rapid.T) {
		p := compile(t, specs(t))
		args := someArgs(t)
		for _, target := range targets(doc.Value{}) {
			if !p.Denies(target) {
				continue
			}
			denied++
			target.Args = args
			for _, f := range []*Facts{nil, someFacts} {
				if got := p.Evaluate(target, f); got.Effect != Deny {
					t.Fatalf("%v is said to be denied and is %v by %v", target, got.Effect, got.Rule)
				}
			}
		}
	})
	if denied == 0 {
		t.Error("nothing was ever denied")
	}
}

func TestTraceAgreesWithEvaluate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := compile(t, specs(t))
		for _, target := range targets(someArgs(t)) {
			want := p.Evaluate(target, someFacts)
			trace := p.Trace(target, someFacts)
			for i, rt := range trace {
				last := i == len(trace)-1
				if rt.Matched != last || last && rt.Rule != want.Rule || !last && rt.Rule != p.rules[i] {
					t.Fatalf("%v: entry %d of the trace is %+v, and %v decided", target, i+1, rt, want.Rule)
				}
				out := Pass
				for _, c := range rt.Constraints {
					out = min(out, c.Outcome)
				}
				if rt.Rule != nil && rt.Named && rt.Matched != (out == Pass || out == Cannot && rt.Rule.Effect != Allow) {
					t.Fatalf("%v: rule %s matched is %v with %v", target, rt.Rule.Name, rt.Matched, out)
				}
			}
		}
	})
}
