package policy

import (
	"fmt"
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
var someFacts = &Facts{Origin: func(_ string, v doc.Value) (flow.Origin, bool) {
	switch v.String() {
	case "a":
		return flow.Typed, true
	case "b":
		return flow.Trusted, true
	case "ab":
		return flow.Malformed, true
	case "abc":
		return flow.Unknown, false
	}
	return flow.Untrusted, true
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

func TestGlobCoversOnlyWhatItMatches(t *testing.T) {
	covered := 0
	piece := rapid.SampledFrom([]string{"a", "b", "é", "*", "?", "[ab]", "[!a]", "[!ab]", "[a-é]"})
	letters := rapid.SampledFrom([]string{"a", "b", "c", "é", "\n", "\xff", "]"})
	glob := func(t *rapid.T, what string) Glob {
		s := ""
		for _, p := range rapid.SliceOfN(piece, 1, 5).Draw(t, what) {
			s += p
		}
		g, err := ParseGlob(s)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := glob(t, "a"), glob(t, "b")
		if !a.Covers(a) {
			t.Fatalf("%v does not cover itself", a)
		}
		if !a.Covers(b) {
			return
		}
		covered++
		for range 20 {
			name := ""
			for _, l := range rapid.SliceOfN(letters, 0, 6).Draw(t, "name") {
				name += l
			}
			if b.Match(name) && !a.Match(name) {
				t.Fatalf("%v covers %v, but only the second matches %q", a, b, name)
			}
		}
	})
	if covered == 0 {
		t.Error("no glob covered another")
	}
}

func TestCoversOnlyWhatItMatches(t *testing.T) {
	covered := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := someRule(t), someRule(t)
		if rapid.Bool().Draw(t, "near") {
			b = a
			b.Effect = Effect(rapid.IntRange(0, 2).Draw(t, "effect"))
			b.When = narrowed(t, a.When, b.Effect)
			if rapid.Bool().Draw(t, "tools") {
				b.Tools = rapid.SliceOfN(rapid.SampledFrom(someGlobs), 1, 2).Draw(t, "narrow")
			}
		}
		p, err := New(Spec{Name: "p", Rules: []RuleSpec{a, b}})
		if err != nil {
			return // an operand that only other effects take
		}
		first, second := p.rules[0], p.rules[1]
		if first.Covers(second) != (p.Shadowed(1) == first) {
			t.Fatalf("Covers is %v, Shadowed is %v", first.Covers(second), p.Shadowed(1))
		}
		if !first.Covers(second) {
			return
		}
		covered++
		for range 5 {
			for _, target := range targets(someArgs(t)) {
				for _, f := range []*Facts{nil, someFacts} {
					if matches(second, target, f) && !matches(first, target, f) {
						t.Fatalf("%+v is said to cover %+v, and does not match %+v", a, b, target)
					}
				}
			}
		}
	})
	if covered == 0 {
		t.Error("no rule covered another")
	}
}

// narrowed draws constraints that are likely to be narrower than those given.
func narrowed(t *rapid.T, when map[string]any, effect Effect) map[string]any {
	out := map[string]any{}
	for selector, set := range when {
		more := map[string]any{}
		for k, v := range set.(map[string]any) {
			more[k] = v
		}
		op := rapid.SampledFrom(someOperations).Draw(t, "operator")
		more[op.name] = rapid.SampledFrom(op.operands).Draw(t, "operand")
		if _, err := specConstraint(selector, more, effect); err == nil {
			out[selector] = more
		} else {
			out[selector] = set
		}
	}
	for k, v := range constraints(t, effect) {
		if out[k] == nil {
			out[k] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func matches(r *Rule, target Target, f *Facts) bool {
	e := evaluator{target: target, facts: f}
	if !r.names(&target) {
		return false
	}
	matched, _ := e.rule(r)
	return matched
}

func TestCovers(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"tools: ['read_*']", "tools: [read_file]", true},
		{"tools: ['read_*']", "tools: ['read_a*', read_]", true},
		{"tools: ['read_*']", "tools: ['*']", false},
		{"tools: ['*']", "", true},
		{"", "tools: [x], prompts: [y]", false},
		{"upstreams: ['*']", "", true},
		{"upstreams: ['h*']", "upstreams: [hass]", true},
		{"upstreams: [hass]", "", false},
		{"when: {args.x: a}", "", false},
		{"", "when: {args.x: a}", true},
		{"when: {args.x: {in: [a, b]}}", "when: {args.x: a}", true},
		{"when: {args.x: {in: [a, b]}}", "when: {args.x: {in: [b, a]}, args.y: 1}", true},
		{"when: {args.x: {in: [a, b]}}", "when: {args.x: {in: [a, c]}}", false},
		{"when: {args.x: {not_in: [a]}}", "when: {args.x: {not_in: [a, b]}}", true},
		{"when: {args.x: {gt: 5}}", "when: {args.x: {gte: 6}}", true},
		{"when: {args.x: {gt: 5}}", "when: {args.x: {gte: 5}}", false},
		{"when: {args.x: {gte: 5.0}}", "when: {args.x: {gte: 5, lt: 7}}", true},
		{"when: {args.x: {lt: 5}}", "when: {args.x: {lt: 4}}", true},
		{"when: {args.x: {lt: 5}}", "when: {args.x: {in: [1, 4]}}", true},
		{"when: {args.x: {max_length: 9}}", "when: {args.x: {max_length: 8}}", true},
		{"when: {args.x: {matches: 'a.*'}}", "when: {args.x: {matches: 'a.*', max_length: 5}}", true},
		{"when: {args.x: {matches: 'a.*'}}", "when: {args.x: {in: [ab, ac]}}", true},
		{"when: {args.x: {matches: 'a.*'}}", "when: {args.x: {in: [ab, bc]}}", false},
		{"when: {args.x: {host: '*.example.com'}}", "when: {args.x: {host: [a.example.com, '*.b.example.com']}}", true},
		{"when: {args.x: {host: '*.example.com'}}", "when: {args.x: {domain: example.com}}", false},
		{"when: {args.x: {domain: example.com}}", "when: {args.x: {host: '*.example.com'}}", true},
		{"when: {args.x: {domain: example.com}}", "when: {args.x: 'https://a.example.com/'}", true},
		{"when: {args.x: {present: true}}", "when: {args.x: {gt: 1}}", true},
		{"when: {args.x: {present: true}}", "when: {args.x: {in: [null, a]}}", false},
		{"when: {args.x: {in: [a], optional: true}}", "when: {args.x: a}", true},
		{"when: {args.x: a}", "when: {args.x: {eq: a, optional: true}}", false},
		{"when: {args.x: {in: [a], optional: true}}", "when: {args.x: {absent: true}}", true},
		{"when: {'args.l[*]': {eq: a, quantifier: any}}", "when: {'args.l[*]': a}", true},
		{"when: {'args.l[*]': a}", "when: {'args.l[*]': {eq: a, quantifier: any}}", false},
		{"when: {args.x: {within: [/srv, /etc]}}", "when: {args.x: {within: /srv}}", true},
		{"when: {args.x: {within: /srv}}", "when: {args.x: {within: /srv/a}}", false}, // a link may lead out
		{"when: {args.x: {origin: [typed, trusted]}}", "when: {args.x: {origin: typed}}", true},
	} {
		p := one(t, fmt.Sprintf("  rules: [{effect: allow, %s}, {effect: allow, %s}]\n", tt.a, tt.b))
		if got := p.rules[0].Covers(p.rules[1]); got != tt.want {
			t.Errorf("{%s} covers {%s}: %v", tt.a, tt.b, got)
		}
	}
}

// A deny rule also takes what nobody can judge; an allow rule in front of it does not.
func TestCoversMindsWhatCannotBeJudged(t *testing.T) {
	for _, tt := range []struct {
		a, b, constraint string
		want             bool
	}{
		{"allow", "deny", "args.x: a", false},
		{"deny", "allow", "args.x: a", true},
		{"deny", "ask", "args.x: a", true},
		{"allow", "allow", "args.x: a", true},
	} {
		p := one(t, fmt.Sprintf("  rules: [{effect: %s, when: {%s}}, {effect: %s, when: {%[2]s}}]\n", tt.a, tt.constraint, tt.b))
		if got := p.rules[0].Covers(p.rules[1]); got != tt.want {
			t.Errorf("%s covers %s: %v", tt.a, tt.b, got)
		}
	}
	// 2 fails the first and cannot be compared with the second: the second takes it.
	p := one(t, "  rules: [{effect: deny, when: {args.x: {in: [a, 1]}}}, {effect: deny, when: {args.x: a}}]\n")
	if p.rules[0].Covers(p.rules[1]) {
		t.Error("a deny rule is said to cover one that takes more of what cannot be judged")
	}
}
