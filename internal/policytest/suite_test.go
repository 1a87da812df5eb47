package policytest

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// desk is the policy of these tests.
func desk(t testing.TB) *policy.Policy {
	t.Helper()
	p, err := policy.New(policy.Spec{Name: "desk", Rules: []policy.RuleSpec{
		{Name: "read", Effect: policy.Allow, Tools: []string{"read_*"}, RateLimits: []string{"slow"}},
		{Name: "mail", Effect: policy.Allow, Tools: []string{"send_*"}},
		{Name: "pay", Effect: policy.Ask, Tools: []string{"pay"}},
		{Name: "manuals", Effect: policy.Allow, Resources: []string{"file:///manuals/*"}},
		{Name: "who", Effect: policy.Allow, Tools: []string{"mine"}, When: map[string]any{"caller": "ana"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func options(t testing.TB) Options {
	p := desk(t)
	return Options{
		Policy: func(name, _ string) (*policy.Policy, error) {
			if name != "" && name != p.Name() {
				return nil, errors.New("no such policy")
			}
			return p, nil
		},
		Caller: "local", Upstream: "mail",
	}
}

func engine(p *policy.Policy, more sallyport.Options) (*sallyport.Engine, error) {
	more.Policy = p
	more.RateLimits = map[string]sallyport.RateLimit{"slow": {Rate: 1, Burst: 1}}
	return sallyport.New(more)
}

// run loads and runs the steps of one test.
func run(t *testing.T, opt Options, steps string) Outcome {
	t.Helper()
	text := "tests:\n- name: t\n  steps:\n"
	for line := range strings.Lines(steps) {
		text += "  - " + strings.TrimSpace(line) + "\n"
	}
	s, err := Load("f.yaml", []byte(text), opt)
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Run(context.Background(), engine, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o[0]
}

// Each row is right as it is written. With the opposite expectation it fails: a step
// that is passed over would be found.
func TestExpectations(t *testing.T) {
	for _, tt := range []struct{ name, before, call, expect, opposite string }{
		{"allow", "", `{tool: read_a}`, `expect: allow`, `expect: deny`},
		{"rule", "", `{tool: read_a}`, `expect: allow, rule: read`, `expect: allow, rule: mail`},
		{"default", "", `{tool: other}`, `expect: deny, rule: default`, `expect: deny, rule: read`},
		{"check", "", `{tool: other}`, `expect: deny, check: policy`, `expect: deny, check: flow`},
		{"reason", "", `{tool: other}`, `expect: deny, reason: no rule matches`, `expect: deny, reason: No rule matches`},
		{"ask", "", `{tool: pay}`, `expect: ask`, `expect: allow`},
		{"yes", "", `{tool: pay}`, `expect: ask, answer: yes`, `expect: ask, answer: yes, then: deny`},
		{"no", "", `{tool: pay}`, `expect: ask, answer: no`, `expect: ask, answer: no, then: allow`},
		{"then", "", `{tool: pay}`, `expect: ask, answer: no, then: {expect: deny, reason: the answer was no}`, `expect: ask, answer: no, then: {expect: deny, check: rate}`},
		{"resource", "", `{resource: "file:///manuals/a"}`, `expect: allow, rule: manuals`, `expect: deny`},
		{"prompt", "", `{prompt: p}`, `expect: deny, rule: default`, `expect: allow`},
		{"observed", `{observe: {tool: read_x, text: eve@x.example}}`, `{tool: send_mail, args: {to: eve@x.example}}`, `expect: deny, check: flow`, `expect: ask`},
		{"not observed", `{observe: {tool: read_x, text: eve@y.example}}`, `{tool: send_mail, args: {to: eve@x.example}}`, `expect: ask, check: flow`, `expect: deny`},
		{"typed", `{prompt: write to eve@x.example}`, `{tool: send_mail, args: {to: eve@x.example}}`, `expect: allow`, `expect: ask`},
		{"result", `{call: {tool: read_x}, expect: allow, result: eve@x.example}`, `{tool: send_mail, args: {to: eve@x.example}}`, `expect: deny`, `expect: ask`},
		{"other upstream", `{observe: {tool: read_x, upstream: web, text: eve@x.example}}`, `{tool: send_mail, args: {to: eve@x.example}}`, `expect: deny`, `expect: ask`},
		{"rate", `{call: {tool: read_x}, expect: allow}`, `{tool: read_x}`, `expect: deny, check: rate`, `expect: allow`},
		{"wait", "{call: {tool: read_x}, expect: allow}\n{wait: 1s}", `{tool: read_x}`, `expect: allow`, `expect: deny`},
		{"wait too short", "{call: {tool: read_x}, expect: allow}\n{wait: 900ms}", `{tool: read_x}`, `expect: deny, check: rate`, `expect: allow`},
		{"listed", `{tools: [read_a]}`, `{tool: read_a}`, `expect: allow`, `expect: deny`},
		{"not listed", `{tools: [read_b]}`, `{tool: read_a}`, `expect: deny, check: pin`, `expect: ask, check: pin`},
		{"listed elsewhere", `{tools: [read_b], upstream: web}`, `{tool: read_a}`, `expect: allow`, `expect: deny`},
		{"schema", `{tools: [{name: read_a, inputSchema: {type: object, properties: {u: {type: string, format: uri}}}}]}`, `{tool: read_a, args: {u: "https://x.example"}}`, `expect: ask`, `expect: allow`},
		{"a day", "{call: {tool: read_x}, expect: allow}\n{wait: 1d}", `{tool: read_x}`, `expect: allow`, `expect: deny`},
		{"caller", "", `{tool: mine}`, `expect: deny`, `expect: allow`},
	} {
		for _, expect := range []string{tt.expect, tt.opposite} {
			steps := tt.before + "\n{call: " + tt.call + ", " + expect + "}"
			o := run(t, options(t), strings.TrimPrefix(steps, "\n"))
			if good := len(o.Failures) == 0; good != (expect == tt.expect) {
				t.Errorf("%s: %s: %v", tt.name, expect, o.Failures)
			}
		}
	}
}

// A test of its own caller, and nothing of one test reaches the next.
func TestEachTestIsItsOwnSession(t *testing.T) {
	s, err := Load("f.yaml", []byte(`
tests:
  - name: a
    caller: ana
    steps:
      - {call: {tool: mine}, expect: allow, rule: who}
      - {observe: {tool: read_x, text: eve@x.example}}
      - {call: {tool: read_x}, expect: allow}
      - {call: {tool: read_x}, expect: deny, check: rate}
  - name: b
    steps:
      - {call: {tool: read_x}, expect: allow}
      - {call: {tool: send_mail, args: {to: eve@x.example}}, expect: ask}
`), options(t))
	if err != nil {
		t.Fatal(err)
	}
	cov := NewCoverage([]*policy.Policy{desk(t)})
	all, err := s.Run(context.Background(), engine, cov)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if len(o.Failures) > 0 {
			t.Errorf("%s: %v", o.Name, o.Failures)
		}
	}
	var out strings.Builder
	if err := cov.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	want := "coverage: policy desk: 3 of 5 rules decided a call\n" +
		"       3  read\n       1  mail\n       0  pay  never decided\n       0  manuals  never decided\n       1  who\n       0  default\n"
	if out.String() != want {
		t.Errorf("coverage:\n%s\nwant:\n%s", out.String(), want)
	}
}

// What a called tool answers has the labels of its contract, what is only observed has
// none, and what the user typed is theirs.
func TestLabelsInTests(t *testing.T) {
	var p strictyaml.Problems
	entries := contract.Parse(strictyaml.Parse("c.yaml", []byte(`
read_mail: {exfiltrating: false, output: {From: party, "[*].from": party, token: secret, note: inside}}
read_book: {exfiltrating: false, output: {"[*].email": vouched}}
send_mail: {exfiltrating: true, sink_params: [to], typed_params: [subject]}
`), nil, &p), &p, contract.Options{})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	set, err := contract.NewSet(entries, contract.Options{Packs: contract.PackChoice{None: true}})
	if err != nil {
		t.Fatal(err)
	}
	labelled := func(p *policy.Policy, more sallyport.Options) (*sallyport.Engine, error) {
		more.Contracts = set
		more.RateLimits = map[string]sallyport.RateLimit{"slow": {Rate: 1, Burst: 9}}
		more.Policy = p
		return sallyport.New(more)
	}
	const send = `{call: {tool: send_mail, args: {to: ana@x.example}}, expect: `
	for _, tt := range []struct{ name, steps string }{
		{"json", `{call: {tool: read_book}, expect: allow, result: {json: [{email: ana@x.example}]}}
			` + send + `allow}`},
		{"structured", `{call: {tool: read_mail}, expect: allow, result: {json: {note: ask ana@x.example}}}
			` + send + `ask, reason: text of people inside}`},
		{"text", `{call: {tool: read_mail}, expect: allow, result: "From: ana@x.example\n\nhello"}
			` + send + `ask, reason: names a party}`},
		{"whole result", `{call: {tool: read_mail}, expect: allow, result: {result: {content: [{type: text, text: '[{"from":"ana@x.example"}]'}]}}}
			` + send + `ask, reason: names a party}`},
		{"an error", `{call: {tool: read_mail}, expect: allow, result: {result: {isError: true, content: [{type: text, text: '[{"from":"ana@x.example"}]'}]}}}
			` + send + `deny, check: flow}`},
		{"secret", `{prompt: write to ana@x.example}
			{call: {tool: read_mail}, expect: allow, result: {json: {token: tok-99887766}}}
			{call: {tool: send_mail, args: {to: ana@x.example, body: it is tok 9988 7766}}, expect: ask, reason: must not leave}`},
		{"observed", `{observe: {tool: read_book, json: [{email: ana@x.example}]}}
			` + send + `deny, check: flow}`},
		{"typed", `{prompt: "tell ana@x.example about 'Lunch'"}
			{call: {tool: send_mail, args: {to: ana@x.example, subject: Lunch}}, expect: allow}
			{call: {tool: send_mail, args: {to: ana@x.example, subject: Dinner}}, expect: ask, reason: for the user alone to choose}`},
		{"agreed to, and read back", `{call: {tool: send_mail, args: {to: ana@x.example}}, expect: ask, answer: yes, result: sent to ana@x.example}
			` + send + `ask, reason: not a vouched recipient}
			{call: {tool: read_book}, expect: allow, result: {json: [{email: ana@x.example}]}}
			` + send + `ask, reason: not a vouched recipient}`},
	} {
		text := "tests:\n- name: t\n  steps:\n"
		for line := range strings.Lines(tt.steps) {
			text += "  - " + strings.TrimSpace(line) + "\n"
		}
		s, err := Load("f.yaml", []byte(text), options(t))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		o, err := s.Run(t.Context(), labelled, nil)
		if err != nil || len(o[0].Failures) > 0 {
			t.Errorf("%s: %v %+v", tt.name, err, o)
		}
	}
}

// A policy that runs dry refuses in words only, and nothing is asked.
func TestDryPolicy(t *testing.T) {
	opt := options(t)
	p, err := policy.New(policy.Spec{Name: "dry", Mode: policy.DryRun, Rules: []policy.RuleSpec{{Name: "pay", Effect: policy.Ask, Tools: []string{"pay"}}}})
	if err != nil {
		t.Fatal(err)
	}
	opt.Policy = func(string, string) (*policy.Policy, error) { return p, nil }
	o := run(t, opt, `{call: {tool: read_x}, expect: deny, check: policy, result: eve@x.example}
		{call: {tool: send_mail, args: {to: eve@x.example}}, expect: deny, check: flow}`)
	if len(o.Failures) > 0 {
		t.Errorf("%v", o.Failures)
	}
	// What the flow asks is answered; the rule's own question stays words.
	o = run(t, opt, `{call: {tool: pay, args: {n: 1}}, expect: ask, check: flow, answer: yes}`)
	if len(o.Failures) != 1 || !strings.Contains(o.Failures[0].Text, "ask by check policy (not enforced: the policy runs dry), want allow") {
		t.Errorf("an answer under a dry policy: %v", o.Failures)
	}
	o = run(t, opt, `{tools: [{name: pay, inputSchema: {type: object, additionalProperties: false}}]}
		{call: {tool: pay}, expect: ask, check: policy, answer: yes}`)
	if len(o.Failures) != 1 || !strings.Contains(o.Failures[0].Text, "nothing is asked here") {
		t.Errorf("an answer where nothing is asked: %v", o.Failures)
	}
}

func TestContextEndsARun(t *testing.T) {
	s, err := Load("f.yaml", []byte("tests: [{name: t, steps: [{call: {tool: read_a}, expect: allow}]}]"), options(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Run(ctx, engine, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// Failures and steps of one test are bounded.
func TestManyFailures(t *testing.T) {
	steps := strings.Repeat("{call: {tool: other}, expect: allow}\n", 2*maxLog)
	o := run(t, options(t), steps)
	if len(o.Failures) != maxFailed+1 || len(o.Log) != maxLog || o.Calls != 2*maxLog {
		t.Errorf("%d failures, %d lines, %d calls", len(o.Failures), len(o.Log), o.Calls)
	}
	var out bytes.Buffer
	if err := WriteJUnit(&out, []Result{{File: "f\x1b\u202e", Outcomes: []Outcome{o}}}); err != nil {
		t.Fatal(err)
	}
	var back junitSuites
	if err := xml.Unmarshal(out.Bytes(), &back); err != nil || back.Failures != 1 || back.Suites[0].Name != `f\u{001b}\u{202e}` {
		t.Errorf("%+v, %v", back, err)
	}
}

// A file is read whole or not at all, and a suite that loads runs the same twice.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"tests: [{name: t, steps: [{call: {tool: read_a}, expect: allow}]}]",
		"tests: [{name: t, policy: desk, caller: c, upstream: u, steps: [{call: {tool: pay, args: {a: [1, {b: null}]}}, expect: ask, answer: yes, then: {expect: deny, rule: default, check: rate, reason: x}, result: {json: [1]}}]}]",
		"upstream: a\ntools: {a: [x, {name: y, inputSchema: {type: object}}], b: list.json}\ntests:\n- name: t\n  steps:\n  - tools: [x, x, \"\\u202e\"]\n  - observe: {tool: x, result: {content: [{type: text, text: a@b.example}]}}\n  - prompt: a@b.example\n  - wait: 1h\n  - call: {resource: \"http://x.example/\"}\n    expect: deny\n",
		"tests: &a [{name: t, steps: [{call: {prompt: p}, expect: deny}]}]\ntools: {x: *a}",
		"tests: [{name: t, steps: [{wait: 99999999h}, {wait: -1s}, {wait: 1e9}, {call: {tool: a, prompt: b}}]}]",
		"tools: {a: [x], b: [y]}\ntests: [{name: t, steps: [{listed: [x], upstream: a}, {listed: [y], hidden: [y], upstream: b}, {hidden: [z]}, {wait: 1d12h}]}]",
		"tests: {}", "[]", "tests: [[]]", "tests: [{steps: [{observe: {tool: a, text: x, json: 1}}]}]", "a: &a [*a]", "", "\x00",
	} {
		f.Add([]byte(seed))
	}
	opt := options(f)
	opt.Tools = func(file, upstream string) ([]contract.Tool, error) {
		return []contract.Tool{{Upstream: upstream, Name: file}}, nil
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Load("f.yaml", data, opt)
		if err != nil {
			le, ok := errors.AsType[*strictyaml.LoadError](err)
			if !ok || len(le.Problems) == 0 || s != nil {
				t.Fatalf("suite %v, error %v", s, err)
			}
			return
		}
		calls := 0
		for _, test := range s.Tests {
			for _, st := range test.steps {
				if st.call != nil {
					calls++
				}
			}
		}
		first, err := s.Run(context.Background(), engine, nil)
		if err != nil {
			t.Fatal(err)
		}
		second, err := s.Run(context.Background(), engine, nil)
		if err != nil || !reflect.DeepEqual(first, second) {
			t.Fatalf("it runs otherwise the second time: %v\n%v\n%v", err, first, second)
		}
		for _, o := range first {
			calls -= o.Calls
		}
		if calls != 0 || len(first) == 0 || len(first) != len(s.Tests) {
			t.Fatalf("%d tests, %d calls left out", len(first), calls)
		}
	})
}
