package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

func TestSelectorsReach(t *testing.T) {
	args := parseArgs(t, `{"a":{"b":1},"items":[{"id":1},{"id":2}],"odd key":1,"n":null,"map":{"x":1,"y":1}}`)
	for selector, want := range map[string]Outcome{
		"args.a.b": Pass, "args.items[0].id": Pass, "args.items[-2].id": Pass, "args.items[-1].id": Fail, `args["odd key"]`: Pass,
		"args.map[*]": Pass, "args.items[*].id": Fail, `args["a"]["b"]`: Pass,
		"args.x": Fail, "args.a.x": Fail, "args.items[2].id": Fail, "args.items[-3].id": Fail, "args.A.b": Fail,
		"args.n.b": Cannot, "args.a[0]": Cannot, "args.items.id": Cannot, "args.a.b.c": Cannot, "args.a.b[*]": Cannot, "args.n[0]": Cannot,
	} {
		p := ruled(t, "'"+selector+"': 1")[Deny]
		trace := p.Trace(Target{Name: "x", Args: args}, nil)[0].Constraints[0]
		if trace.Outcome != want {
			t.Errorf("%s: %v (%s), want %v", selector, trace.Outcome, trace.Detail, want)
		}
	}
}

func TestNamesAsSelectors(t *testing.T) {
	p := one(t, `
  default: allow
  rules:
    - {name: caller, effect: deny, when: {caller: {ne: laptop}}}
    - {name: tool, effect: deny, tools: ["*"], when: {tool: {matches: "delete_.*"}}}
    - {name: upstream, effect: deny, when: {upstream: {in: [crm, erp]}}}
    - {name: docs, effect: allow, resources: ["*"], when: {resource: {domain: docs.example.com}}}
    - {name: summary, effect: allow, prompts: ["*"], when: {prompt: summary, args.length: {lt: 9}}}
`)
	for _, tt := range []struct {
		target Target
		rule   string
		effect Effect
	}{
		{Target{Name: "read", Caller: "laptop"}, "", Allow},
		{Target{Name: "read", Caller: "phone"}, "caller", Deny},
		{Target{Name: "read"}, "caller", Deny}, // nobody said who calls
		{Target{Name: "delete_all", Caller: "laptop"}, "tool", Deny},
		{Target{Name: "read", Caller: "laptop", Upstream: "erp"}, "upstream", Deny},
		{Target{Subject: Resource, Name: "https://docs.example.com/a", Caller: "laptop"}, "docs", Allow},
		{Target{Subject: Resource, Name: "https://docs.example.com.evil.example/a", Caller: "laptop"}, "", Deny},
		{Target{Subject: Resource, Name: "\xff", Caller: "laptop"}, "", Deny},
		{Target{Subject: Prompt, Name: "summary", Caller: "laptop", Args: parseArgs(t, `{"length":8}`)}, "summary", Allow},
		{Target{Subject: Prompt, Name: "summary", Caller: "laptop", Args: parseArgs(t, `{"length":"8"}`)}, "", Deny},
		{Target{Subject: Prompt, Name: "summary", Caller: "laptop"}, "", Deny},
	} {
		got := p.Evaluate(tt.target, nil)
		rule := ""
		if got.Rule != nil {
			rule = got.Rule.Name
		}
		if got.Effect != tt.effect || rule != tt.rule {
			t.Errorf("%+v: %v by %q (%s), want %v by %q", tt.target, got.Effect, rule, got.Reason, tt.effect, tt.rule)
		}
	}
}

// The limits of one constraint cannot be evaluated beyond, so that a flood neither gets
// through an allow rule nor round a deny rule.
func TestLimitsOfAConstraint(t *testing.T) {
	list := func(n int, element string) string {
		return `{"l":[` + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + `]}`
	}
	rules := ruled(t, `"args.l[*]": a`)
	anyOf := ruled(t, `"args.l[*]": {eq: b, quantifier: any}`)
	expect(t, rules, list(MaxValues, `"a"`), Pass, "as many values as are looked at")
	expect(t, rules, list(MaxValues+1, `"a"`), Cannot, "one more")
	expect(t, anyOf, list(MaxValues, `"a"`), Fail, "as many values, and none passes")
	expect(t, anyOf, list(MaxValues+1, `"a"`), Cannot, "one more, and none passes")
	// A missing element behind what is looked at is not looked at either.
	last := strings.TrimSuffix(list(MaxValues+1, `{"x":1}`), "]}") + ",{}]}"
	expect(t, ruled(t, `"args.l[*].x": 1`), last, Cannot, "more values, and then one without")
	long := `"` + strings.Repeat("a", 4096) + `"`
	last = strings.TrimSuffix(list(MaxText/4096+1, `{"x":`+long+`}`), "]}") + ",{}]}"
	expect(t, ruled(t, `"args.l[*].x": {matches: "a*"}`), last, Cannot, "more text, and then an element without")
	pattern := ruled(t, `"args.l[*]": {matches: "a*"}`)
	expect(t, pattern, list(MaxText/4096, long), Pass, "as much text as is looked at")
	expect(t, pattern, list(MaxText/4096+1, long), Cannot, "more text")
	one := ruled(t, `args.x: {contains: b}`)
	expect(t, one, `{"x":"`+strings.Repeat("a", MaxText+1)+`b"}`, Pass, "without a wildcard")
}

func TestModeAndHiding(t *testing.T) {
	p := one(t, "  mode: dry-run\n  hide_denied_tools: true\n  hide_denied_prompts: false\n")
	if p.Mode() != DryRun || !p.Hides(Tool) || p.Hides(Resource) || p.Hides(Prompt) || p.Hides(subjects) {
		t.Errorf("mode %v", p.Mode())
	}
	if p := one(t, "  mode: enforce\n"); p.Mode() != Enforce || p.Hides(Tool) {
		t.Errorf("mode %v", p.Mode())
	}
	if p := one(t, "  default: deny\n"); p.Mode() != Inherit {
		t.Errorf("mode %v", p.Mode())
	}
	for m, want := range map[Mode]string{Inherit: "inherit", Enforce: "enforce", DryRun: "dry-run"} {
		if m.String() != want {
			t.Errorf("%v", m)
		}
	}
}

func TestDenies(t *testing.T) {
	p := one(t, `
  default: deny
  rules:
    - {effect: deny, tools: [delete_odd], when: {args.x: 1}}
    - {effect: deny, tools: [delete_phone], when: {caller: phone}}
    - {effect: allow, tools: [mine], when: {caller: laptop}}
    - {effect: ask, tools: [asked], when: {caller: phone}}
    - {effect: allow, tools: ["delete_*", "read_*"], when: {args.y: 2}}
`)
	for _, tt := range []struct {
		caller, name string
		want         bool
	}{
		{"laptop", "delete_odd", false},
		{"laptop", "delete_phone", false},
		{"phone", "delete_phone", true},
		{"", "delete_phone", true}, // the deny rule matches whoever it is
		{"laptop", "mine", false},
		{"phone", "mine", true},
		{"", "mine", true},
		{"phone", "asked", false},
		{"laptop", "asked", true},
		{"laptop", "read_x", false},
		{"laptop", "other", true},
	} {
		if got := p.Denies(Target{Name: tt.name, Caller: tt.caller}); got != tt.want {
			t.Errorf("%s for %q: %v", tt.name, tt.caller, got)
		}
	}
	if !p.Denies(Target{Subject: Resource, Name: "x"}) || !p.Denies(Target{Subject: subjects}) {
		t.Error("what nothing names is not denied")
	}
	outside := one(t, "  rules: [{effect: allow, resources: ['*'], when: {resource: {origin: typed}}}]\n")
	if outside.Denies(Target{Subject: Resource, Name: "https://a.example/"}) {
		t.Error("what depends on the session is said to be denied for certain")
	}
	if one(t, "  default: ask\n").Denies(Target{Name: "x"}) {
		t.Error("what the default asks about is denied")
	}
}

func TestAccessors(t *testing.T) {
	p := one(t, "  rules: [{effect: allow, tools: [a, 'b*'], upstreams: [u], when: {'args.to[0]': {matches: 'x.*', max_length: 9, optional: true}, caller: me}}, {effect: ask}]\n")
	r := p.Rules()[0]
	if g := r.Globs(Tool); len(g) != 2 || !g[0].Literal() || g[1].Literal() || g[1].String() != "b*" || r.Globs(Prompt) != nil || r.Globs(subjects) != nil {
		t.Errorf("globs %v", g)
	}
	if u := r.Upstreams(); len(u) != 1 || u[0].String() != "u" || p.Rules()[1].Upstreams() != nil {
		t.Errorf("upstreams %v", u)
	}
	if g := p.Rules()[1].Globs(Tool); len(g) != 1 || g[0].String() != "*" {
		t.Errorf("a rule without lists covers %v", g)
	}
	when := r.When()
	c := when[0]
	if len(when) != 2 || c.Selector != "args.to[0]" || !c.Optional || c.Wildcard() || c.Root() != "args" || len(c.Steps()) != 2 || when[1].Root() != "caller" {
		t.Errorf("when %+v", c)
	}
	if want := "args.to[0] matches 'x.*' and max_length 9 (optional)"; c.String() != want {
		t.Errorf("got %s, want %s", c, want)
	}
	ops := c.Operations()
	if len(ops) != 2 || ops[0].Operator != Matches || ops[0].Pattern() != "x.*" || ops[1].Pattern() != "" || ops[1].Operands()[0].Number() != "9" {
		t.Errorf("operations %+v", ops)
	}
	if c.Place == "" || ops[0].Place == "" || !strings.HasPrefix(ops[0].Place, "p.yaml:2:") || c.Key.Text() != "args.to[0]" || ops[0].Node.Text() != "x.*" || r.Node == nil {
		t.Errorf("places %s, %s", c.Place, ops[0].Place)
	}
}

func TestOperandsAreNotShared(t *testing.T) {
	p := one(t, "  rules: [{effect: allow, when: {args.a: {in: [x, y]}}}]\n")
	p.Rules()[0].When()[0].Operations()[0].Operands()[0] = doc.Value{}
	if got := p.Evaluate(Target{Name: "t", Args: parseArgs(t, `{"a":"x"}`)}, nil).Effect; got != Allow {
		t.Error("a caller of Operands changed the rule")
	}
}
