package policy

import (
	"strings"
	"testing"
)

// B084: whatever refuses says by what rule and what can be done about it, and never lets
// an argument write on the terminal.
func TestB084ReasonsNameWhatDecided(t *testing.T) {
	p := one(t, `
  default: deny
  rules:
    - {name: no-locks, effect: deny, tools: ["*"], when: {args.entity: {matches: "lock\\..*"}}, reason: locks are opened by hand}
    - {name: lights, effect: allow, tools: [call], when: {args.domain: {in: [light, climate]}}}
`)
	for args, want := range map[string]string{
		`{"domain":"lock"}`:                "no rule matches this call, and the policy's default is deny; rule 'lights' would let it through with args.domain in ['light', 'climate']",
		`{"domain":"light","entity":5}`:    "locks are opened by hand; args.entity cannot be checked: it is a number, and a pattern is tried on text only",
		`{"entity":"lock.x\u001b[2J"}`:     "locks are opened by hand",
		`{"domain":"light","entity":null}`: "locks are opened by hand; args.entity cannot be checked: it is null, and a pattern is tried on text only",
	} {
		got := p.Evaluate(Target{Name: "call", Args: parseArgs(t, args)}, nil)
		if got.Effect != Deny || got.Reason != want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", args, got.Effect, got.Reason, want)
		}
	}
	if got := p.Evaluate(Target{Name: "other"}, nil).Reason; got != "no rule matches this call, and the policy's default is deny" {
		t.Errorf("a tool that no rule names: %s", got)
	}
	note := `{"domain":"light","note":"SELECT * FROM t; rm -rf /tmp/x","tabId":"` + strings.Repeat("f", 36) + `"}`
	if got := p.Evaluate(Target{Name: "call", Args: parseArgs(t, note)}, nil); got.Effect != Allow {
		t.Errorf("an ordinary note: %v, %s", got.Effect, got.Reason)
	}
}

func TestTraceDetails(t *testing.T) {
	args := parseArgs(t, `{"domain":"lock","n":5,"long":"`+strings.Repeat("x", 5000)+`","to":["a@x.example","b@y.example"],"odd \u001b[2J":{"a\u202e":1},"empty":[],"hidden":"a\u001b]0;x"}`)
	for when, want := range map[string]string{
		`args.domain: {in: [light, climate]}`:              "FAIL args.domain = 'lock' fails in ['light', 'climate']",
		`args.domain: lock`:                                "PASS args.domain = 'lock': args.domain eq 'lock'",
		`args.n: "5"`:                                      "CANNOT args.n = 5 cannot be checked: it is a number, and what it is compared with is of another type",
		`args.long: {matches: "x*"}`:                       "CANNOT args.long = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…(+4940 bytes)' cannot be checked: it is longer than 4096 bytes, which no pattern is tried on",
		`"args.to[*]": {host: x.example}`:                  "FAIL args.to[1] = 'b@y.example' fails host ['x.example']",
		`"args.to[*]": {host: x.example, quantifier: any}`: "PASS args.to[0] = 'a@x.example': args.to[*] (any) host ['x.example']",
		`"args.empty[*]": x`:                               "FAIL args.empty: the wildcard finds nothing",
		`args.x: {eq: 1, optional: true}`:                  "PASS args.x eq 1 (optional): missing, and optional",
		`args.x: {absent: true}`:                           "PASS args.x absent: missing",
		`args.x: 1`:                                        "FAIL args.x eq 1: missing",
		`args.n: {gt: 9}`:                                  "FAIL args.n = 5 fails gt 9",
		`args.hidden: b`:                                   `FAIL args.hidden = 'a\u{001b}]0;x' fails eq 'b'`,
		`"args[*][*]": {eq: 1, quantifier: any}`:           `PASS args["odd \u001b[2J"]["a\u{202e}"] = 1: args[*][*] (any) eq 1`,
		`"args.to[*]": {in: [a, b, c, d, e, f, g, h]}`:     "FAIL args.to[0] = 'a@x.example' fails in ['a', 'b', 'c', 'd', 'e', and 3 more]",
		`caller: x`:                                        "CANNOT caller cannot be checked: it is not known",
	} {
		c := ruled(t, when)[Deny].Trace(Target{Name: "x", Args: args}, nil)[0].Constraints[0]
		if got := c.Outcome.String() + " " + c.Detail; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", when, got, want)
		}
	}
}
