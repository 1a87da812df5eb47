package policy

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

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
	covered, passing := 0, 0
	check := func(t *rapid.T) {
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
		if first.Covers(second) && !first.CoversPassing(second) {
			t.Fatal("it covers everything, and not what passes")
		}
		if !first.CoversPassing(second) {
			return
		}
		for range 5 {
			for _, target := range targets(someArgs(t)) {
				e := evaluator{target: target, facts: someFacts}
				asAllow := *second
				asAllow.Effect = Allow
				if matched, _ := e.rule(&asAllow); matched && second.names(&target) && !matches(first, target, someFacts) {
					t.Fatalf("%+v is said to cover what passes %+v, and does not match %+v", a, b, target)
				}
			}
		}
		passing++
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
	}
	// Few draws are of the rarer kind: draw until both were seen.
	for round := 0; round < 20 && (covered == 0 || passing == covered); round++ {
		rapid.Check(t, check)
	}
	if covered == 0 {
		t.Error("no rule covered another")
	}
	if passing == covered {
		t.Error("no rule covered only what passes another")
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
		{"when: {args.x: {not_in: [a]}}", "when: {args.x: {not_in: [a, 1]}}", false}, // 2 cannot be compared with the first
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
	// null fails the first and cannot be judged by the second.
	p = one(t, "  rules: [{effect: deny, when: {args.x: {ne: null, optional: true}}}, {effect: deny, when: {args.x: {absent: true}}}]\n")
	if p.rules[0].Covers(p.rules[1]) {
		t.Error("a deny rule that null escapes is said to cover one that it does not")
	}
}

func TestGlobCovers(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"*", "*", true},
		{"*", "a?", true},
		{"a*", "a", true},
		{"a*", "ab*c", true},
		{"a*", "*", false},
		{"a*", "?*", false},
		{"?*", "*?", true},
		{"??*", "?*?", true},
		{"?*", "*", false},
		{"*a*", "bab*", true},
		{"*a*b", "a*ab", true},
		{"*a*b", "b*ab*", false},
		{"a?", "a*", false},
		{"[!a]", "[!ab]", true},
		{"[!ab]", "[!a]", false},
		{"[a-z]*", "[b-d]x", true},
		{"[a-z]*", "[b-é]x", false},
		{"[!a]", "[b-d]", true},
		{"[!c]", "[b-d]", false},
		{"[ab]", "?", false},
		{"?", "[ab]", true},
		{"read_*", "read_file", true},
		{"read_file", "read_*", false},
		{"read_file", "read_[f]ile", false}, // the same, and not worth finding out
	} {
		a, err := ParseGlob(tt.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := ParseGlob(tt.b)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Covers(b); got != tt.want {
			t.Errorf("%s covers %s: %v", tt.a, tt.b, got)
		}
	}
}
