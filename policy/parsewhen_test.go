package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

// TestWhenProblems has what an author can get wrong in when, and what is said. The
// column is that of what is wrong.
func TestWhenProblems(t *testing.T) {
	const roots = "a selector starts with one of args, tool, upstream, resource, prompt, caller"
	for _, tt := range []struct{ when, want string }{
		// Selectors. The first key of the mapping stands at column 12.
		{`.args: 1`, "12: the selector '.args': at byte 0: a path starts with a name, not with a dot"},
		{`args..a: 1`, "12: the selector 'args..a': at byte 5: expected a name; an odd one is written [\"in quotes\"]"},
		{`args.: 1`, "12: the selector 'args.': at byte 5: expected a name; an odd one is written [\"in quotes\"]"},
		{`args.*: 1`, "12: the selector 'args.*': at byte 5: expected a name; \"every element\" is written [*]"},
		{`"args.a[": 1`, "12: the selector 'args.a[': at byte 7: expected an index such as 0 or -1, \"*\" or a name in quotes"},
		{`"args.a[#1]": 1`, "12: the selector 'args.a[#1]': [#n] depends on the order in which the client writes; name the member or index the list"},
		{`"": 1`, "12: the selector '': " + roots},
		{`"[0]": 1`, "12: the selector '[0]': " + roots},
		{`to: 1`, "12: the selector 'to': " + roots + "; did you mean 'args.to'?"},
		{`'to[*]': 1`, "12: the selector 'to[*]': " + roots + "; did you mean 'args.to[*]'?"},
		{`arguments.to: 1`, "12: the selector 'arguments.to': " + roots + "; did you mean 'args.to'?"},
		{`callr: x`, "12: the selector 'callr': " + roots + "; did you mean 'caller'?"},
		{`server: x`, "12: the selector 'server': " + roots + "; did you mean 'upstream'?"},
		{`token: x`, "12: the selector 'token': " + roots + "; did you mean 'caller'?"},
		{`tool.name: x`, "12: the selector 'tool.name': tool is text and holds nothing more; write tool alone"},
		{`args.a: 1, 'args["a"]': 2`, "23: the selector 'args.a' is already constrained in this rule"},
		{`resource: x`, "12: the rule names no resource, so resource is always missing"},
		{`prompt: x`, "12: the rule names no prompt, so prompt is always missing"},
		{`tool: {gt: 1}`, "18: tool is always text, and gt does not compare text"},
		{`tool: 1`, "18: tool is always text; write the operand of eq in quotes"},
		{`caller: {in: [1, true]}`, "20: caller is always text; write the operand of in in quotes"},
		{`caller: {origin: typed}`, "20: origin looks at arguments and resources, and caller is a name"},
		{`tool: {within: /srv}`, "18: within looks at arguments and resources, and tool is a name"},

		// What a selector is set to.
		{``, "11: an empty when constrains nothing; leave it out"},
		{`args.a: `, "20: write what the value must be here; {present: true}, {absent: true} or {eq: null} if that is meant"},
		{`args.a: [x]`, "20: a list alone does not say how to compare; write {in: […]}"},
		{`args.a: {}`, "20: no operator; write one, such as eq, in or matches"},
		{`args.a: {optional: true}`, "20: no operator; write one, such as eq, in or matches"},
		{`args.a: on`, "20: on can be read as true or false; if the text is meant, put it in quotes"},
		{`args.a: 0x1F`, "20: write the number '0x1F' in plain decimal digits, such as 10, -0.5 or 1e6; if text is meant, put it in quotes"},
		{`args.a: {equals: 1}`, "21: unknown operator 'equals'; did you mean 'eq'?"},
		{`args.a: {regex: x}`, "21: unknown operator 'regex'; did you mean 'matches'?"},
		{`args.a: {">=": 1}`, "21: unknown operator '>='; did you mean 'gte'?"},
		{`args.a: {matchs: x}`, "21: unknown operator 'matchs'; did you mean 'matches'?"},
		{`args.a: {EQ: x}`, "21: unknown operator 'EQ'; did you mean 'eq'?"},
		{`args.a: {zzzzzz: x}`, "21: unknown operator 'zzzzzz'; known here: " + strings.Join(Operators(), ", ") + ", optional, quantifier"},
		{`args.a: {eq: 1, optional: maybe}`, "38: write true or false here, not the text 'maybe'"},
		{`args.a: {eq: 1, quantifier: some}`, "40: 'some' is not one of all, any"},
		{`args.a: {absent: true, eq: 1}`, "20: an argument that must be absent has no value to compare; leave the other operators out"},
		{`args.a: {absent: true, optional: true}`, "20: absent and optional contradict each other; leave one out"},
		{`args.a: {present: true, optional: true}`, "20: present and optional contradict each other; leave one out"},
		{`args.a: {present: true, absent: false}`, "20: present is set twice"},

		// Operands.
		{`args.a: {in: x}`, "25: in: takes a list: ['x']"},
		{`args.a: {in: []}`, "25: in: an empty list would be the same for every value; write what is meant"},
		{`args.a: {not_in: {a: 1}}`, "29: not_in: takes a list: [an object of 1]"},
		{`args.a: {matches: 5}`, "30: matches: takes a pattern in quotes, not a number"},
		{`args.a: {matches: ""}`, "30: matches: an empty pattern matches only empty text; write eq: \"\" if that is meant"},
		{`args.a: {matches: "a("}`, "30: matches: not an RE2 pattern: missing closing ): `a(`"},
		{`args.a: {matches: "a)|(b"}`, "30: matches: not an RE2 pattern: unexpected ): `a)|(b`"},
		{`args.a: {contains: ""}`, "31: contains: every text contains the empty text; write what it must contain"},
		{`args.a: {gt: "5"}`, "25: gt: compares numbers, not text"},
		{`args.a: {lte: true}`, "26: lte: compares numbers, not a boolean"},
		{`args.a: {max_length: -1}`, "33: max_length: takes a whole number of characters or elements, from 0 on"},
		{`args.a: {max_length: 1.5}`, "33: max_length: takes a whole number of characters or elements, from 0 on"},
		{`args.a: {present: 1}`, "30: present: takes true or false, not a number"},
		{`args.a: {within: out}`, "29: within: prefix 'out': it is not an absolute path"},
		{`args.a: {within: [/srv, ~/out]}`, "36: within: ~ is not expanded here; write the directory out, or ${HOME}"},
		{`args.a: {within: /srv/../etc}`, "29: within: prefix '/srv/../etc': write it without \"..\""},
		{`args.a: {within: [/srv, 'C:\x']}`, "29: within: these paths are spelled for different systems"},
		{`args.a: {within: []}`, "29: within: an empty list would be the same for every value; write what is meant"},
		{`args.a: {within: [1]}`, "30: within: write text here, not a number"},
		{`args.a: {within: {a: 1}}`, "29: within: takes text or a list of it, not an object"},
		{`args.a: {host: "https://x.example/"}`, "27: host: write the host alone, without scheme, path or length of a network"},
		{`args.a: {host: "10.0.0.0/8"}`, "27: host: write the host alone, without scheme, path or length of a network"},
		{`args.a: {host: "x.example:443"}`, "27: host: write the host alone, without its port"},
		{`args.a: {host: "a@x.example"}`, "27: host: write the domain alone, without what stands before @"},
		{`args.a: {host: "api-*.x.example"}`, "27: host: \"*\" stands for the left labels of a host (*.example.com), and for nothing else"},
		{`args.a: {host: "*"}`, "27: host: \"*\" stands for the left labels of a host (*.example.com), and for nothing else"},
		{`args.a: {host: ""}`, "27: host: write a host here"},
		{`args.a: {host: [x.example, "x y"]}`, "39: host: it can never match: not a valid host name"},
		{`args.a: {host: "*.com"}`, "27: host: that is everybody below a public suffix; name a domain, such as example.com"},
		{`args.a: {domain: co.uk}`, "29: domain: that is everybody below a public suffix; name a domain, such as example.com"},
		{`args.a: {domain: "*.x.example"}`, "29: domain: domain stands for every name below it already; leave *. out"},
		{`args.a: {domain: 10.0.0.1}`, "29: domain: an IP address has no names below it; use host and the address alone"},
		{`args.a: {host: "64:ff9b::7f00:1"}`, "27: host: an IPv6 address with an IPv4 address inside is never compared; write the IPv4 address"},
		{`args.a: {origin: tpyed}`, "29: origin: 'tpyed' is no origin; did you mean 'typed'?"},
		{`args.a: {origin: [typed, malformed]}`, "37: origin: 'malformed' is no origin; known here: trusted, approved, typed, vouched, party, inside, unknown, untrusted"},

		// All at once.
		{`.a: {eqq: 1}, args.b: {gt: x, in: []}`, "12: the selector '.a': at byte 0: a path starts with a name, not with a dot\n17: unknown operator 'eqq'; did you mean 'eq'?\n39: gt: compares numbers, not text\n46: in: an empty list would be the same for every value; write what is meant"},
	} {
		const place = "p.yaml:4:"
		want := place + strings.ReplaceAll(tt.want, "\n", "\n"+place)
		_, err := load(t, "p:\n  rules:\n  - effect: allow\n    when: {"+tt.when+"}\n")
		if err == nil {
			t.Errorf("{%s} was accepted", tt.when)
			continue
		}
		if got := err.Error(); got != want {
			t.Errorf("{%s}:\ngot  %s\nwant %s", tt.when, got, want)
		}
	}
}

func TestForeignPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		`(?=a)b`: "look-ahead", `(?!a)b`: "look-ahead", `(?<=a)b`: "look-behind", `(?<!a)b`: "look-behind",
		`(a)\1`: "back-references", `(?P<n>a)(?P=n)`: "back-references", `(?<n>a)\k<n>`: "back-references",
		`(?>a)`: "atomic", `a++`: "possessive", `a*+`: "possessive", `a{2}+`: "possessive", `(?#x)a`: "comments",
		`(?(1)a|b)`: "conditional", `(?R)`: "recursion", `a\Z`: `\Z`, `\u00e9`: `\x{…}`, `a\hb`: `[ \t]`, `a{,3}`: "{0,n}",
		`\Qa`: `\E`, `[a`: "not an RE2 pattern", `a**`: "not an RE2 pattern", `(?i`: "not an RE2 pattern", `x{2000}`: "not an RE2 pattern",
		strings.Repeat("a", doc.MaxPattern+1): "at most 4096",
	} {
		if _, err := doc.CompilePattern(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", pattern, err, want)
		}
	}
	for pattern, text := range map[string]string{
		`\(\?=a`: "(?=a", `[(?=]a`: "=a", `\Q(?=\E`: "(?=", `[\]1-3]`: "2", `[]a](b)`: "]b", `[^]a]b`: "xb", `[[:alpha:]]+`: "xy",
		`(?i)abc`: "ABC", `(?P<n>a)b`: "ab", `(?<n>a)b`: "ab", `a\{,3}`: "a{,3}", `^a$`: "a", `\Aa\z`: "a", `a|b`: "b", `a+?`: "aa",
		`.*`: "a\nb", `(?m)^a$\n^b$`: "a\nb", `\\1`: `\1`, `[{,]`: ",", `a\++`: "a++", `{[^}]*}+`: "{a}}", `a{,x}`: "a{,x}", `a{x,3}`: "a{x,3}",
	} {
		re, err := doc.CompilePattern(pattern)
		if err != nil || !re.MatchString(text) {
			t.Errorf("%q: %v, want a match of %q", pattern, err, text)
		}
		if err == nil && pattern != ".*" && re.MatchString(text+"\n") {
			t.Errorf("%q matches a part of the text", pattern)
		}
	}
}

func TestRateLimits(t *testing.T) {
	p := one(t, "  rules: [{effect: allow, rate_limits: [b, a]}, {effect: ask, rate_limits: [a]}]\n")
	if got := p.Evaluate(Target{Name: "x"}, nil).Rule.RateLimits; !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("got %v", got)
	}
	for rule, want := range map[string]string{
		"effect: deny, rate_limits: [a]":      "p.yaml:1:41: a deny rule lets nothing through that a rate could limit; leave rate_limits out",
		"effect: allow, rate_limits: []":      "p.yaml:1:42: an empty list limits nothing; leave it out",
		"effect: allow, rate_limits: [a, a]":  "p.yaml:1:46: the rate limit 'a' is already named",
		"effect: allow, rate_limits: a":       "p.yaml:1:42: write a list here: ['a']",
		"effect: allow, rate_limits: ['']":    "p.yaml:1:43: a rate limit's name must not be empty",
		"effect: allow, rate_limits: ['a b']": "",
	} {
		_, err := load(t, "p: {rules: [{"+rule+"}]}")
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s:\ngot  %v\nwant %s", rule, err, want)
		}
	}
}

func TestSpecIsTheSameAsTheFile(t *testing.T) {
	file := one(t, `
  default: ask
  mode: dry-run
  hide_denied_tools: true
  rules:
    - name: a
      effect: allow
      when:
        args.x: 5
        "args.l[*]": {in: [a, null], optional: true, quantifier: any}
        args.y: {present: false}
      rate_limits: [r, s]
`)
	spec, err := New(Spec{Name: "p", Default: Ask, Mode: DryRun, Hide: []Subject{Tool}, Rules: []RuleSpec{{
		Name: "a", Effect: Allow, RateLimits: []string{"s", "r"},
		When: map[string]any{
			`args["x"]`: 5, "args.y": map[string]any{"absent": true},
			"args.l[*]": map[string]any{"in": []any{nil, "a"}, "optional": true, "quantifier": "any"},
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if file.Digest() != spec.Digest() {
		t.Error("the same policy from a file and from a program has two digests")
	}
}

func TestSpecRefuses(t *testing.T) {
	rule := func(when map[string]any) RuleSpec { return RuleSpec{Effect: Allow, When: when} }
	for name, tt := range map[string]struct {
		rule RuleSpec
		want string
	}{
		"empty when":       {rule(map[string]any{}), "an empty when"},
		"selector":         {rule(map[string]any{"args..a": 1}), "when 'args..a': at byte 5"},
		"operator":         {rule(map[string]any{"args.a": map[string]any{"equals": 1}}), "did you mean 'eq'"},
		"operand":          {rule(map[string]any{"args.a": map[string]any{"gt": "x"}}), "'gt': compares numbers"},
		"Go type":          {rule(map[string]any{"args.a": struct{}{}}), "no JSON form"},
		"list alone":       {rule(map[string]any{"args.a": []any{"x"}}), "does not say how to compare"},
		"null alone":       {rule(map[string]any{"args.a": nil}), "does not say how to compare"},
		"twice":            {rule(map[string]any{"args.a": 1, `args["a"]`: 2}), "already constrained"},
		"no operator":      {rule(map[string]any{"args.a": map[string]any{}}), "no operator"},
		"optional":         {rule(map[string]any{"args.a": map[string]any{"eq": 1, "optional": 1}}), "takes true or false"},
		"quantifier":       {rule(map[string]any{"args.a": map[string]any{"eq": 1, "quantifier": "some"}}), "takes all or any"},
		"missing subject":  {rule(map[string]any{"resource": "x"}), "names no resource"},
		"element":          {rule(map[string]any{"args.a": map[string]any{"within": []any{"/a", "b"}}}), "element 2: prefix 'b': it is not an absolute path"},
		"limits of a deny": {RuleSpec{Effect: Deny, RateLimits: []string{"a"}}, "a deny rule"},
		"no limits":        {RuleSpec{Effect: Allow, RateLimits: []string{}}, "empty list of rate limits"},
		"limit twice":      {RuleSpec{Effect: Allow, RateLimits: []string{"a", "a"}}, "named twice"},
		"limit unnamed":    {RuleSpec{Effect: Allow, RateLimits: []string{""}}, "must not be empty"},
	} {
		if _, err := New(Spec{Name: "p", Rules: []RuleSpec{tt.rule}}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	for _, s := range []Spec{{Name: "p", Mode: 9}, {Name: "p", Hide: []Subject{9}}} {
		if _, err := New(s); err == nil {
			t.Errorf("%+v was accepted", s)
		}
	}
}
