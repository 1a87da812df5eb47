package policy

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"p: {default: allow, rules: [{name: a, effect: deny, tools: ['x*']}]}",
		"p: {rules: [{effect: ask, resources: [a], prompts: ['[a-z]'], upstreams: [u]}]}",
		"a: &a {rules: [{effect: allow}]}\nb: {<<: *a, default: ask}",
		"p: {rules: [{when: {}}]}",
		"p:\n  mode: dry-run\n  hide_denied_tools: true\n  rules:\n  - effect: allow\n    when:\n      args.domain: {in: [light, climate]}\n      args.id: {matches: '(light|climate)\\..+', optional: true}\n      args.targets[*].id: {not_matches: 'lock\\..*'}\n      args.to: {origin: [trusted, typed]}\n    rate_limits: [r]\n",
		"p: {rules: [{effect: deny, when: {args.n: {gt: 1e999999999, lte: -0.0}, 'args[*][\"k\"][-1]': {max_length: 0, quantifier: any}}}]}",
		"p: {rules: [{effect: ask, when: {args.h: {host: ['*.x.example', '::1'], domain: co.uk}, args.p: {within: ['/a', 'C:\\b']}, caller: {ne: a}}}]}",
		"p: {default: denied, rules: [{effect: allow, tool: x, when: {args..a: 1, args.: {eqq: 2}}}]}",
		"w: &w {args.a: 1}\np: {rules: [{effect: allow, when: {<<: *w, args.b: {absent: true}}}]}",
	} {
		f.Add([]byte(s))
	}
	args, err := doc.Parse([]byte(`{"domain":"light","n":5,"h":"https://a.x.example/","p":"/a/b","to":["a@x.example"],"targets":[{"id":"lock.x"}]}`), doc.Limits{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p strictyaml.Problems
		n := strictyaml.Parse("f", data, nil, &p)
		if n == nil {
			return
		}
		policies := Parse(n, &p)
		if !p.Empty() {
			if strings.Contains(p.Err().Error(), "%!") && !bytes.Contains(data, []byte("%")) {
				t.Errorf("a problem is not formatted: %v", p.Err())
			}
			return
		}
		if len(policies) == 0 {
			t.Fatal("no policy and no problem")
		}
		for name, pol := range policies {
			checkPolicy(t, name, pol, args)
		}
	})
}

// checkPolicy holds what is true of every policy that loads.
func checkPolicy(t *testing.T, name string, pol *Policy, args doc.Value) {
	if pol.Name() != name || len(pol.Digest()) != 64 {
		t.Errorf("policy %q is named %q, digest %q", name, pol.Name(), pol.Digest())
	}
	for i, r := range pol.Rules() {
		if r.Name == "" || r.Source == "" {
			t.Errorf("a rule without name or place: %+v", r)
		}
		if r.Effect == Deny && len(r.RateLimits) > 0 {
			t.Error("a deny rule with a rate limit")
		}
		for _, c := range r.When() {
			if c.Place == "" || len(c.Operations()) == 0 || c.String() == "" {
				t.Errorf("a constraint without place or operator: %+v", c)
			}
		}
		if by := pol.Shadowed(i); by != nil && !by.Covers(r) {
			t.Errorf("rule %d is shadowed by one that does not cover it", i+1)
		}
	}
	if got := pol.Evaluate(Target{Subject: Resource, Name: "\x00nobody names this"}, nil); got.Effect != Deny && got.Rule == nil {
		t.Error("a resource is not denied by default")
	}
	for _, n := range []string{"a", "read_x"} {
		target := Target{Name: n, Caller: "c", Args: args}
		for _, facts := range []*Facts{nil, someFacts} {
			got := pol.Evaluate(target, facts)
			if trace := pol.Trace(target, facts); trace[len(trace)-1].Rule != got.Rule {
				t.Errorf("the trace ends with %v, and %v decided", trace[len(trace)-1].Rule, got.Rule)
			}
			if got.Effect != Deny && pol.Denies(target) {
				t.Errorf("%s is %v and said to be denied", n, got.Effect)
			}
		}
	}
}

func FuzzSelector(f *testing.F) {
	for _, s := range []string{
		"args", "args.a.b", "args.items[0]", "args.items[-1].x", "args[*]", `args["odd key"]`, "tool", "caller", ".args", "args..a", "args.",
		"args.a[", "args[#1]", "resource.x", "to", "args.\u202e", "args[99999999999]", `args["\ud800"]`, "args.*",
	} {
		f.Add(s, `{"a":{"b":[1]},"items":[{"x":null}]}`)
	}
	f.Fuzz(func(t *testing.T, selector, json string) {
		c, err := newConstraint(selector)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		again, err := newConstraint(c.Selector)
		if err != nil || !reflect.DeepEqual(again.steps, c.steps) || again.root != c.root {
			t.Fatalf("%q in canonical form is %q, which reads as another: %v", selector, c.Selector, err)
		}
		args, err := doc.Parse([]byte(json), doc.Limits{})
		if err != nil {
			return
		}
		// The walk finds what package doc finds.
		sel, err := doc.ParseSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		if c.root != argsRoot || args.Kind() != doc.Object {
			return
		}
		wrapped, err := doc.FromGo(map[string]any{"args": args})
		if err != nil {
			return
		}
		found, more := sel.Select(wrapped, MaxValues)
		op, err := newOperation(NotIn, parseArgs(t, `["\u0000never"]`), Deny)
		if err != nil {
			t.Fatal(err)
		}
		op.kinds = 0xff
		c.ops, c.Quantifier = []Operation{op}, Any
		e := evaluator{target: Target{Args: args}}
		if got := e.constraint(&c); (got == Pass) != (len(found) > 0) && !more {
			t.Errorf("%q in %s: %v, and package doc finds %d", selector, json, got, len(found))
		}
	})
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{
		`a|b`, `(?=a)`, `\Qa`, `[]a]`, `[[:alpha:]`, `a{,3}`, `(?P<n>a)`, `a)|(b`, `\1`, `(?i)x`, `x{1000}`, `(a*)*`, `[^]]`, `\`, `(?`, "\xff",
	} {
		f.Add(s, "a\nb")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, err := doc.CompilePattern(pattern)
		if err != nil {
			return
		}
		// A full match has no text before or behind it.
		if loc := re.FindStringIndex(text); loc != nil && (loc[0] != 0 || loc[1] != len(text)) {
			t.Errorf("%q matches %v of %q", pattern, loc, text)
		}
	})
}

// FuzzConstraint evaluates one constraint, and holds it against its opposite.
func FuzzConstraint(f *testing.F) {
	for _, row := range table {
		for _, c := range columns {
			if len(c.json) < 100 && c.json != "" {
				f.Add(strings.Trim(row.operator, "{}"), `{"x":`+c.json+`}`)
			}
		}
	}
	for _, json := range []string{
		`{"x":"http://[64:ff9b::7f00:1]/"}`, `{"x":"http://2130706433/"}`, `{"x":"a@b.example, c@d.example"}`, `{"x":"/srv/../etc"}`,
		`{"x":1e-999999999}`, `{"x":-0}`, `{"x":"\u202ea"}`, `{"x":[[[[1]]]]}`, `[]`, `{"x":{"x":{"x":1}}}`,
	} {
		f.Add("host: [b.example, 127.0.0.1]", json)
		f.Add("gt: -1e-5", json)
		f.Add("within: [/srv, /etc]", json)
	}
	f.Fuzz(func(t *testing.T, operators, json string) {
		args, err := doc.Parse([]byte(json), doc.Limits{})
		if err != nil || strings.ContainsAny(operators, "\n\r") || strings.Contains(operators, "x{") {
			return
		}
		for _, selector := range []string{"args.x", "args[*]", "args.x[*][0]"} {
			yaml := "p: {default: allow, rules: [{effect: deny, when: {'" + selector + "': {" + operators + "}}}]}"
			var p strictyaml.Problems
			n := strictyaml.Parse("f", []byte(yaml), nil, &p)
			if n == nil {
				return
			}
			policies := Parse(n, &p)
			if !p.Empty() || policies["p"] == nil || len(policies["p"].rules) != 1 || len(policies["p"].rules[0].when) != 1 {
				return
			}
			r := policies["p"].rules[0]
			target := Target{Name: "t", Args: args}
			e := evaluator{target: target, facts: someFacts}
			first := e.constraint(&r.when[0])
			if again := e.constraint(&r.when[0]); again != first {
				t.Errorf("%s %s of %s: %v, then %v", selector, operators, json, first, again)
			}
			traced := r.trace(&target, someFacts)[0]
			if traced.Outcome != first || traced.Detail == "" || strings.ContainsAny(traced.Detail, "\n\x1b\u202e") {
				t.Errorf("%s %s of %s: %v, traced %v %q", selector, operators, json, first, traced.Outcome, traced.Detail)
			}
			got := policies["p"].Evaluate(target, someFacts)
			if (got.Effect == Deny) != (first != Fail) {
				t.Errorf("%s %s of %s: %v, and the deny rule says %v", selector, operators, json, first, got.Effect)
			}
		}
	})
}
