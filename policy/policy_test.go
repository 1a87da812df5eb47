package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

func load(t testing.TB, yaml string) (map[string]*Policy, error) {
	t.Helper()
	var p strictyaml.Problems
	n := strictyaml.Parse("p.yaml", []byte(yaml), nil, &p)
	if n == nil {
		t.Fatal(p.Err())
	}
	policies := Parse(n, &p)
	return policies, p.Err()
}

// one loads a policy whose rules are given.
func one(t testing.TB, yaml string) *Policy {
	t.Helper()
	policies, err := load(t, "p:\n"+yaml)
	if err != nil {
		t.Fatal(err)
	}
	return policies["p"]
}

func TestEvaluate(t *testing.T) {
	p := one(t, `
  description: what support may do
  default: ask
  rules:
    - {name: no-deletes, effect: deny, tools: ["delete_*"], reason: deletes are done by hand}
    - {name: mail, effect: allow, tools: [send_email, "read_*"], upstreams: ["mail*"]}
    - {effect: ask, tools: [read_secret]}
    - {name: docs, effect: allow, resources: ["file:///docs/*"]}
    - {name: prompts, effect: ask, prompts: [summary], tools: [summarise]}
    - {name: crm, effect: allow, upstreams: [crm]}
`)
	tool := func(upstream, name string) Target { return Target{Subject: Tool, Upstream: upstream, Name: name} }
	for _, tt := range []struct {
		target Target
		effect Effect
		rule   string
	}{
		{tool("mail", "send_email"), Allow, "mail"},
		{tool("mail2", "read_box"), Allow, "mail"},
		{tool("mail", "read_secret"), Allow, "mail"},
		{tool("files", "read_secret"), Ask, "#3"},
		{tool("files", "send_email"), Ask, ""},
		{tool("crm", "anything"), Allow, "crm"},
		{tool("crm", "delete_contact"), Deny, "no-deletes"},
		{tool("", "summarise"), Ask, "prompts"},
		{Target{Subject: Resource, Upstream: "crm", Name: "file:///docs/a/b"}, Allow, "docs"},
		{Target{Subject: Resource, Upstream: "crm", Name: "file:///etc/passwd"}, Deny, ""},
		{Target{Subject: Prompt, Upstream: "crm", Name: "summary"}, Ask, "prompts"},
		{Target{Subject: Prompt, Upstream: "crm", Name: "summarise"}, Deny, ""},
		{Target{Subject: Resource, Upstream: "crm", Name: "summary"}, Deny, ""},
		{Target{Subject: subjects, Upstream: "crm", Name: "anything"}, Deny, ""},
		{Target{Subject: 200, Upstream: "crm", Name: "anything"}, Deny, ""},
	} {
		got := p.Evaluate(tt.target, nil)
		rule := ""
		if got.Rule != nil {
			rule = got.Rule.Name
		}
		if got.Effect != tt.effect || rule != tt.rule {
			t.Errorf("%v: %v by %q, want %v by %q", tt.target, got.Effect, rule, tt.effect, tt.rule)
		}
		if got.Rule == nil && got.Reason == "" {
			t.Errorf("%v: the default gives no reason", tt.target)
		}
	}
	if got := p.Evaluate(tool("", "delete_x"), nil).Reason; got != "deletes are done by hand" {
		t.Errorf("reason %q", got)
	}
	if got, want := p.Rules()[0].Source, "p.yaml:6:7"; got != want {
		t.Errorf("source %s, want %s", got, want)
	}
}

func TestResourcesAndPromptsAreDeniedWhateverTheDefault(t *testing.T) {
	for _, d := range []string{"allow", "ask", "deny"} {
		p := one(t, "  default: "+d+"\n  rules: [{effect: allow}]\n")
		for _, s := range []Subject{Resource, Prompt} {
			if got := p.Evaluate(Target{Subject: s, Name: "x"}, nil); got.Effect != Deny || got.Rule != nil {
				t.Errorf("default %s: a %v is %v", d, s, got.Effect)
			}
		}
		if got := p.Evaluate(Target{Name: "x"}, nil).Effect; got != Allow {
			t.Errorf("default %s: a rule without lists does not cover a tool: %v", d, got)
		}
	}
}

func TestB076NamesCompareExactly(t *testing.T) {
	p := one(t, `
  default: deny
  rules:
    - {effect: deny, tools: [delete_file]}
    - {effect: allow, tools: ["delete_file", "read_*"]}
`)
	if got := p.Evaluate(Target{Name: "delete_file"}, nil).Effect; got != Deny {
		t.Fatalf("the name itself: %v", got)
	}
	// A variant is another name: the deny rule does not reach it, and neither does
	// any allow rule.
	for _, name := range []string{"Delete_File", "DELETE_FILE", "delete_file ", " delete_file", "delete\u200b_file", "ｄelete_file", "delete_file\n", "READ_x", "rеad_x"} {
		if got := p.Evaluate(Target{Name: name}, nil); got.Effect != Deny || got.Rule != nil {
			t.Errorf("%q: %v by %v, want the default", name, got.Effect, got.Rule)
		}
	}
	// The escape form is the same name once JSON is decoded.
	if got := p.Evaluate(Target{Name: "delete\u005ffile"}, nil); got.Rule == nil || got.Rule.Name != "#1" {
		t.Error("the decoded escape form is not the same name")
	}
}

func TestB079NoMatchBySimilarity(t *testing.T) {
	p := one(t, "  rules: [{effect: allow, tools: [verify_user]}]\n")
	for _, name := range []string{"verify_\u057Dser", "verify_user\u202e", "ｖerify_user", "verify_us\u200ber"} {
		if got := p.Evaluate(Target{Name: name}, nil).Effect; got != Deny {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestBuiltIn(t *testing.T) {
	p := BuiltIn()
	for s := range subjects {
		if got := p.Evaluate(Target{Subject: s, Upstream: "u", Name: "any/thing"}, nil); got.Effect != Allow || got.Reason == "" {
			t.Errorf("%v: %v %q", s, got.Effect, got.Reason)
		}
	}
	if p.Name() != BuiltInName {
		t.Error(p.Name())
	}
}

func TestParseProblems(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"no policy":         {"{}", "p.yaml:1:1: no policy is defined here; write one, or leave policies out to allow every tool"},
		"not a mapping":     {"[a]", "p.yaml:1:1: write a mapping of keys to values here, not a list"},
		"B085 default typo": {"p: {default: denied}", "p.yaml:1:14: 'denied' is not one of allow, deny, ask; did you mean 'deny'?"},
		"B085 key typo":     {"p: {rules: [{effect: deny, tool: [x]}]}", "p.yaml:1:28: unknown key 'tool'; did you mean 'tools'?"},
		"no effect":         {"p: {rules: [{tools: [x]}]}", "p.yaml:1:13: the rule '#1' has no effect; write effect: allow, deny or ask"},
		"scalar for a list": {"p: {rules: [{effect: deny, tools: x}]}", "p.yaml:1:35: write a list here: ['x']"},
		"empty list":        {"p: {rules: [{effect: deny, tools: []}]}", "p.yaml:1:35: an empty list covers nothing; leave the key out to cover every one"},
		"null list":         {"p: {rules: [{effect: deny, tools: }]}", "p.yaml:1:35: write a list here, not null"},
		"number in a list":  {"p: {rules: [{effect: deny, tools: [1]}]}", "p.yaml:1:36: write text here, not the number '1'; if the text is meant, put it in quotes"},
		"no in a list":      {"p: {rules: [{effect: deny, tools: [no]}]}", "p.yaml:1:36: no can be read as true or false; if the text is meant, put it in quotes"},
		"bad glob":          {"p: {rules: [{effect: deny, tools: ['a[']}]}", "p.yaml:1:36: the glob 'a[': [ is not closed; write [[] for the character itself"},
		"two of a name":     {"p: {rules: [{name: x, effect: deny}, {name: x, effect: allow}]}", "p.yaml:1:45: another rule of this policy is already named 'x'"},
		"a position's name": {"p: {rules: [{name: '#2', effect: deny}]}", "p.yaml:1:20: a rule's name must not start with #, which stands for a rule's position"},
		"invisible name":    {"p: {rules: [{name: \"a\\u200b\", effect: deny}]}", "p.yaml:1:20: a rule's name must have no white space at its ends and no characters that cannot be seen"},
		"reserved name":     {"built-in: {}", "p.yaml:1:1: the name built-in is taken by the policy that is used without a file; choose another"},
		"long reason":       {"p: {rules: [{effect: deny, reason: " + strings.Repeat("x", 1001) + "}]}", "p.yaml:1:36: the reason has 1001 bytes; at most 1000 are shown to an agent"},
		"null policy":       {"p:", "p.yaml:1:3: write a mapping of keys to values here, not null"},
		"a policy's mode":   {"p: {mode: dryrun}", "p.yaml:1:11: 'dryrun' is not one of enforce, dry-run; did you mean 'dry-run'?"},
		"hide":              {"p: {hide_denied_tools: yes}", "p.yaml:1:24: write true or false here, not the text 'yes'"},
		"all at once": {
			"p:\n  default: x\n  rules:\n    - {effekt: allow}\n",
			"p.yaml:2:12: 'x' is not one of allow, deny, ask\np.yaml:4:7: the rule '#1' has no effect; write effect: allow, deny or ask\np.yaml:4:8: unknown key 'effekt'; did you mean 'effect'?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := load(t, tt.in); err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestCoversUpstream(t *testing.T) {
	p := one(t, "  rules: [{effect: deny, upstreams: [has, 'crm*']}, {effect: allow}]\n")
	r := p.Rules()
	if r[0].CoversUpstream("hass") || r[0].CoversUpstream("") || !r[0].CoversUpstream("has") || !r[0].CoversUpstream("crm-eu") || !r[1].CoversUpstream("") {
		t.Error("a rule covers upstreams that it does not name, or not those it names")
	}
}

func TestNewRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		spec Spec
		want string
	}{
		"no name":     {Spec{}, "must not be empty"},
		"empty list":  {Spec{Name: "p", Rules: []RuleSpec{{Tools: []string{}}}}, "tools is an empty list"},
		"bad glob":    {Spec{Name: "p", Rules: []RuleSpec{{Resources: []string{"["}}}}, "rule '#1': resources: glob '[': "},
		"bad default": {Spec{Name: "p", Default: 3}, "the default is not an effect"},
		"bad effect":  {Spec{Name: "p", Rules: []RuleSpec{{Effect: 200}}}, "rule 1: not an effect"},
		"same name":   {Spec{Name: "p", Rules: []RuleSpec{{Name: "a"}, {Name: "a"}}}, "two rules are named 'a'"},
		"hidden name": {Spec{Name: "p", Rules: []RuleSpec{{Name: "a\x1b"}}}, `rule 1: name 'a\u{001b}'`},
	} {
		if _, err := New(tt.spec); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestDigest(t *testing.T) {
	base := "  default: deny\n  rules: [{name: a, effect: allow, tools: [x, y], reason: r}]\n"
	same := []string{base, "  description: d\n  default: deny\n  rules:\n  - {name: a, effect: allow, tools: [y, x, x], reason: r}\n"}
	other := []string{
		strings.Replace(base, "default: deny", "default: ask", 1),
		strings.Replace(base, "effect: allow", "effect: ask", 1),
		strings.Replace(base, "[x, y]", "[xy]", 1),
		strings.Replace(base, "[x, y]", "[x]", 1),
		strings.Replace(base, "tools", "prompts", 1),
		strings.Replace(base, "reason: r", "reason: s", 1),
		strings.Replace(base, "name: a", "name: b", 1),
		strings.Replace(base, "reason: r", "reason: r, upstreams: [u]", 1),
		strings.Replace(base, "reason: r", "reason: r, rate_limits: [l]", 1),
		strings.Replace(base, "reason: r", "reason: r, when: {args.a: 1}", 1),
		strings.Replace(base, "reason: r", "reason: r, when: {args.a: '1'}", 1),
		strings.Replace(base, "reason: r", "reason: r, when: {args.b: 1}", 1),
		strings.Replace(base, "reason: r", "reason: r, when: {args.a: {ne: 1}}", 1),
		strings.Replace(base, "reason: r", "reason: r, when: {args.a: {eq: 1, optional: true}}", 1),
		strings.Replace(base, "reason: r", "reason: r, when: {args.a: {eq: 1, quantifier: any}}", 1),
		strings.Replace(base, "reason: r", "reason: r, when: {args.a: {eq: 1, lt: 2}}", 1),
		"  mode: dry-run\n" + base,
		"  mode: enforce\n" + base,
		"  hide_denied_tools: true\n" + base,
		"  hide_denied_prompts: true\n" + base,
	}
	seen := map[string]bool{}
	for _, s := range same {
		seen[one(t, s).Digest()] = true
	}
	if len(seen) != 1 {
		t.Error("policies that decide the same have different digests")
	}
	for _, s := range other {
		d := one(t, s).Digest()
		if seen[d] {
			t.Errorf("the same digest for\n%s", s)
		}
		seen[d] = true
	}
}

func TestMatchesNothing(t *testing.T) {
	p, err := New(Spec{Name: "p", Rules: []RuleSpec{
		{Name: "a", Effect: Deny, Tools: []string{"delete_custmer", "delete_*", "drop_*", "read"}},
		{Name: "b", Effect: Deny, Tools: []string{"gone"}, Upstreams: []string{"other"}},
		{Name: "c", Effect: Allow, Resources: []string{"file:///*"}},
		{Name: "d", Effect: Allow},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range p.MatchesNothing("u", []string{"delete_customer", "read"}) {
		got = append(got, u.Rule.Name+":"+u.Glob.String())
	}
	if s := strings.Join(got, " "); s != "a:delete_custmer a:drop_*" {
		t.Errorf("got %s", s)
	}
	if n := len(p.MatchesNothing("u", nil)); n != 5 {
		t.Errorf("%d of an empty list", n)
	}
}
