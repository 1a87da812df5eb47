package report

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/auditread"
	"github.com/sallyport-dev/sallyport/internal/pins"
)

var update = flag.Bool("update", false, "write testdata, to be read before it is committed")

// deskConfig has a rule for every operator, and most of what a contract can say.
const deskConfig = `version: 1
upstreams:
  desk: {transport: stdio, command: /usr/bin/desk-server, args: [--quiet]}
  bank: {transport: http, url: "https://bank.example/mcp?key=hidden"}
tools:
  desk/send_mail:
    exfiltrating: true
    sink_params: [to, cc]
    trusted_destinations: ["*@desk.example"]
  desk/save:
    write_params: [path]
    allowed_path_prefixes: [/srv/desk/out]
    exfiltrating: false
  desk/query:
    arg_patterns: {sql: "SELECT .*"}
    exfiltrating: false
  bank/pay:
    exfiltrating: true
    sink_params: [iban]
    max_calls: 3
    destructive: true
  bank/contacts:
    exfiltrating: false
    typed_params: [q]
    output: {"list[*].iban": vouched}
rate_limits:
  payments: {rate: 5, per: 1h, burst: 2, scope: global}
policies:
  clerk:
    hide_denied_tools: true
    rules:
      - name: words
        effect: allow
        tools: [desk__query]
        when:
          args.a: 1
          args.b: {ne: "x"}
          args.c: {in: [1, "two", true]}
          args.d: {not_in: [x]}
          args.e: {matches: "a|b"}
          args.f: {not_matches: "c+"}
          args.g: {contains: part}
          args.h: {gt: 1, lte: 9}
          args.i: {gte: 0.5, lt: 2}
          args.j: {max_length: 5, optional: true}
          args.k: {present: true}
          args.l: {absent: true}
          args.m: {within: /srv/desk}
          args.n: {host: [desk.example]}
          args.o: {domain: desk.example}
          args.to: {origin: [trusted, typed]}
          "args.list[*].id": {ne: y}
          "args.any[*]": {eq: z, quantifier: any}
      - {name: pay, effect: ask, tools: [bank__pay], rate_limits: [payments], reason: money leaves}
      - {name: docs, effect: allow, resources: ["file:///srv/desk/*"], upstreams: [desk]}
      - {name: the-rest, effect: allow}
  boss:
    default: allow
    mode: dry-run
    rules:
      - {name: no-pay, effect: deny, tools: [bank__pay]}
tokens:
  - {name: laptop, policy: clerk, sha256: 5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8}
  - {name: phone, policy: boss, env: PHONE, expires: 2027-01-01T00:00:00Z}
audit:
  redact: [args.pin]
`

var deskTools = map[string]string{
	"desk": `[{"name":"send_mail","inputSchema":{"type":"object","properties":{"to":{"type":"string","format":"email"},"cc":{"type":"string"},"body":{"type":"string"}}}},
		{"name":"save","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}},
		{"name":"query","inputSchema":{"type":"object","properties":{"sql":{"type":"string"}}}},
		{"name":"post_message","inputSchema":{"type":"object","properties":{"url":{"type":"string","format":"uri"}}}},
		{"name":"write_note","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"the file to write"}}}}]`,
	"bank": `[{"name":"pay","inputSchema":{"type":"object","properties":{"iban":{"type":"string"}}}},
		{"name":"contacts","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}}]`,
}

func deskCall(caller, upstream, tool, verdict, check, rule, outcome string) audit.Record {
	return audit.Record{
		Event: "tools/call", Phase: audit.PhaseVerdict, Session: "s", Caller: caller, Policy: "clerk", PolicyDigest: "older", Upstream: upstream, Target: tool,
		Verdict: verdict, Check: check, Rule: rule, Outcome: outcome, Mode: "enforce",
	}
}

func deskLog(t testing.TB) []byte {
	t.Helper()
	args, err := doc.Parse([]byte(`{"password":"x1y2z3"}`), doc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	secret := deskCall("laptop", "desk", "query", "allow", "", "words", "allowed")
	secret.Arguments = args
	flow := deskCall("laptop", "desk", "send_mail", "deny", "flow", "the-rest", "denied")
	flow.Reason = "destination to='evil@x.example' was first seen in the output of 'query'"
	flow.Evidence = []audit.Evidence{{Argument: "to", Destination: "evil@x.example", Origin: "untrusted", Upstream: "desk", Tool: "query", Call: 1, Place: "content[0].text"}}
	dry := deskCall("phone", "bank", "pay", "deny", "policy", "no-pay", "dry-run-allowed")
	dry.Policy, dry.Mode = "boss", "dry-run"
	asked := deskCall("laptop", "bank", "pay", "ask", "approval", "pay", "asked")
	asked.Approval = "00000000000000a1"
	yes := audit.Record{Event: "approval", Phase: "answered", Approval: "00000000000000a1", Upstream: "bank", Target: "pay", Outcome: "allowed", Detail: "yes, once, channel code", Duration: 1500 * time.Millisecond}
	late := deskCall("laptop", "desk", "query", "allow", "", "words", "allowed")
	late.Time = time.Date(2026, 3, 1, 14, 30, 0, 0, time.UTC)
	vanish := deskCall("laptop", "desk", "vanish", "deny", "pin", "", "denied")
	vanish.Reason = "tool 'vanish' is refused: it is new since the tools of this server were pinned; a person can see the difference with: sallyport pins diff --upstream desk"
	return writeLog(t,
		audit.Record{Event: "config", Detail: "digest abc"}, audit.Record{Event: "session", Detail: "start"},
		audit.Record{Event: "pin", Upstream: "desk", Detail: "first list: 5 tools pinned"},
		secret, audit.Record{Event: "tools/call", Phase: audit.PhaseOutcome, Ref: 4, Caller: "laptop", Upstream: "desk", Target: "query", Outcome: "error", Duration: time.Second},
		flow, flow, dry, asked, yes, asked, yes, asked, yes,
		deskCall("laptop", "bank", "pay", "deny", "budget", "pay", "denied"),
		deskCall("laptop", "bank", "pay", "deny", "rate", "pay", "rate_limited"),
		vanish,
		audit.Record{Event: "pin", Upstream: "desk", Target: "vanish", Outcome: "denied", Detail: "it is new"},
		audit.Record{Event: "resources/read", Phase: audit.PhaseVerdict, Caller: "laptop", Policy: "clerk", PolicyDigest: "older", Upstream: "desk", Target: "file:///srv/desk/a", Verdict: "allow", Rule: "docs", Outcome: "allowed"},
		late,
	)
}

func deskInput(t testing.TB) Input {
	t.Helper()
	in := input(t, deskConfig, deskTools, deskLog(t))
	now := func(text string) pins.Pin {
		v, err := doc.Parse([]byte(text), doc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		p := pins.Pin{Since: made, How: pins.First}
		p.Definition = v
		return p
	}
	in.Pins = []*pins.File{{
		ID: strings.Repeat("0", 64), Names: []string{"desk"}, Shown: "/usr/bin/desk-server --quiet",
		Sets: []*pins.Set{{ID: "x", First: made, Pins: map[string]pins.Pin{"query": now(`{"name":"query"}`)}, Waiting: map[string]pins.Pin{"vanish": now(`{"name":"vanish"}`)}}},
	}}
	return in
}

func TestGolden(t *testing.T) {
	p := build(t, deskInput(t))
	for name, got := range map[string]string{"desk.md": markdownOf(t, p), "desk.html": htmlOf(t, p)} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not what is made today: look at the difference after\n\tgo test ./internal/report -run TestGolden -update", file)
		}
	}
}

// Maps have no order; a pack has.
func TestEqualInputGivesEqualBytes(t *testing.T) {
	first := build(t, deskInput(t))
	md, page := markdownOf(t, first), htmlOf(t, first)
	for range 10 {
		p := build(t, deskInput(t))
		if markdownOf(t, p) != md || htmlOf(t, p) != page {
			t.Fatal("the same input gave another pack")
		}
	}
}

func TestFindings(t *testing.T) {
	const rules = "version: 1\npolicies:\n  main:\n    rules:\n      - {name: read, effect: allow, tools: [a]}\n"
	const one = `[{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"integer"}}}}]`
	sink := map[string]string{"desk": `[{"name":"a","description":"sends","inputSchema":{"type":"object","properties":{"url":{"type":"string","format":"uri"}}}}]`}
	yes := audit.Record{Event: "approval", Phase: "answered", Upstream: "desk", Target: "a", Outcome: "allowed", Detail: "yes, once, channel code"}
	no := yes
	no.Outcome = "denied"
	ran := call("a", "allow", "", "allowed")
	dry := call("a", "deny", "policy", "dry-run-allowed")
	changed := func(log []byte) []byte { return []byte(strings.Replace(string(log), `"local"`, `"other"`, 1)) }
	cut := func(log []byte) []byte { return log[strings.IndexByte(string(log), '\n')+1:] }
	question := func(id string) audit.Record {
		return audit.Record{Event: "approval", Phase: "asked", Approval: id, Upstream: "desk", Target: "a", Outcome: "asked"}
	}
	again := func(id string) audit.Record { // the same question, of a call that is made again while it is open
		r := call("a", "ask", "approval", "asked")
		r.Approval = id
		return r
	}
	answer := func(id string) audit.Record {
		r := yes
		r.Approval = id
		return r
	}
	for _, c := range []struct {
		name, conf string
		tools      map[string]string
		log        []byte
		rank       Rank
		kind, text string // a part of it; text "": there must be none of the kind
	}{
		{"no log", rules, nil, nil, Medium, "no log", "No audit log"},
		{"there is a log", rules, nil, writeLog(t, ran), 0, "no log", ""},
		{"edited", rules, nil, changed(writeLog(t, ran, ran)), High, "log changed", "edited"},
		{"cut at its beginning", rules, nil, cut(writeLog(t, ran, ran)), High, "log changed", "removed"},
		{"whole", rules, nil, writeLog(t, ran, ran), 0, "log changed", ""},
		{"empty", rules, nil, []byte{}, Note, "nothing happened", "no call"},
		{"dry run", rules, nil, writeLog(t, dry), High, "ran although refused", "1 call ran"},
		{"no dry run", rules, nil, writeLog(t, ran), 0, "ran although refused", ""},
		{"no policy", "version: 1\n", nil, nil, Medium, "no policy", "every tool"},
		{"a policy", rules, nil, nil, 0, "no policy", ""},
		{"all tools", "version: 1\npolicies:\n  main:\n    rules:\n      - {name: all, effect: allow}\n", nil, nil, Medium, "broad allow rule", "all of the policy main"},
		{"all tools with a condition", "version: 1\npolicies:\n  main:\n    rules:\n      - {name: all, effect: allow, when: {args.x: 1}}\n", nil, nil, 0, "broad allow rule", ""},
		{"all tools asked", "version: 1\npolicies:\n  main:\n    rules:\n      - {name: all, effect: ask}\n", nil, nil, 0, "broad allow rule", ""},
		{"default allow", "version: 1\npolicies:\n  main:\n    default: allow\n    rules:\n      - {name: nope, effect: deny, tools: [b]}\n", nil, nil, Medium, "broad allow rule", "no rule covers"},
		{"sink", rules, sink, nil, Medium, "sink without a contract", "stands in url"},
		{"sink that is refused", "version: 1\npolicies:\n  main:\n    rules:\n      - {name: nope, effect: deny}\n", sink, nil, 0, "sink without a contract", ""},
		{"sink with a contract", "tools:\n  a: {exfiltrating: true, sink_params: [url]}\n" + rules, sink, nil, 0, "sink without a contract", ""},
		{"sink that may send anywhere", "flow: {unknown: allow}\n" + rules, sink, nil, High, "sink without a contract", "is allowed"},
		{"no sink", rules, map[string]string{"desk": one}, nil, 0, "sink without a contract", ""},
		{"writer", strings.Replace(rules, "[a]", "[write_file]", 1), map[string]string{"desk": `[{"name":"write_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]`}, nil, Medium, "writes anywhere", "in path"},
		{"assist", "flow: {profile: assist}\n" + rules, nil, nil, Low, "flow assists", "assist"},
		{"balanced", rules, nil, nil, 0, "flow assists", ""},
		{"flow off", "tools:\n  a: {exfiltrating: false}\n" + rules, sink, nil, Low, "flow off", "a"},
		{"always yes", rules, nil, writeLog(t, ran, yes, yes, yes), Medium, "always granted", "3 of 3"},
		{"yes twice", rules, nil, writeLog(t, ran, yes, yes), 0, "always granted", ""},
		{"once no", rules, nil, writeLog(t, ran, yes, yes, yes, no), 0, "always granted", ""},
		{"never called", strings.Replace(rules, "[a]", "[a, b]", 1), map[string]string{"desk": `[{"name":"a"},{"name":"b"}]`}, writeLog(t, ran), Low, "never called", "1 tool that the policy lets through and nobody called in that time: b"},
		{"refused and never called", rules, map[string]string{"desk": `[{"name":"a"},{"name":"b"}]`}, writeLog(t, ran), 0, "never called", ""},
		{"not listed", rules, map[string]string{"desk": `[{"name":"b"}]`}, writeLog(t, ran), Low, "not listed", "a"},
		{"flow denial", rules, nil, writeLog(t, call("a", "deny", "flow", "denied")), Medium, "refused", "a was refused once by the check flow"},
		{"policy denial", rules, nil, writeLog(t, call("a", "deny", "policy", "denied"), call("a", "deny", "policy", "denied")), Low, "refused", "2 times"},
		{"pin", rules, nil, writeLog(t, ran, audit.Record{Event: "pin", Target: "a", Outcome: "denied"}), Medium, "definition changed", "once"},
		{"first pin", rules, nil, writeLog(t, ran, audit.Record{Event: "pin", Detail: "6 tools pinned"}), 0, "definition changed", ""},
		{"reload refused", rules, nil, writeLog(t, ran, audit.Record{Event: "config", Outcome: "error"}), Medium, "configuration refused", "1 reload"},
		{"asked in vain", rules, nil, writeLog(t, call("a", "ask", "approval", "asked")), Low, "questions without an answer", "Questions: 1. Answers in the log: 0."},
		{"asked again and again", rules, nil, writeLog(t, question("1"), again("1"), again("1"), again("1"), answer("1")), 0, "questions without an answer", ""},
		{"asked again in vain", rules, nil, writeLog(t, question("1"), again("1"), again("1"), question("2"), again("2"), answer("1")), Low, "questions without an answer", "Questions: 2. Answers in the log: 1."},
		{"lint", "audit: {sync: none}\n" + rules, nil, nil, Note, "SP507 not forced to disk", ""},
		{"other policy", rules, nil, writeLog(t, ran), Medium, "another policy", "No call was decided"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf := c.conf
			if !strings.HasPrefix(conf, "version") {
				conf = strings.Replace(conf, "version: 1\n", "", 1)
				conf = "version: 1\n" + conf
			}
			p := build(t, input(t, conf, c.tools, c.log))
			i := slices.IndexFunc(p.Findings, func(f Finding) bool { return f.Kind == c.kind })
			switch {
			case c.text == "" && c.rank == 0 && i >= 0:
				t.Errorf("there is a finding: %+v", p.Findings[i].Text)
			case c.text == "" && c.rank == 0:
			case i < 0:
				t.Errorf("there is no finding of the kind %q: %+v", c.kind, kinds(p))
			case p.Findings[i].Rank != c.rank || !strings.Contains(p.Findings[i].Text, c.text):
				t.Errorf("%s: %s, want %s: %s", p.Findings[i].Rank, p.Findings[i].Text, c.rank, c.text)
			}
		})
	}
}

func kinds(p *Pack) (l []string) {
	for _, f := range p.Findings {
		l = append(l, f.Kind)
	}
	return l
}

func TestFindingsAreRankedAndBounded(t *testing.T) {
	p := build(t, deskInput(t))
	if !slices.IsSortedFunc(p.Findings, func(a, b Finding) int { return int(a.Rank) - int(b.Rank) }) {
		t.Error("a finding stands before a more urgent one")
	}
	var names []string
	for range 400 {
		names = append(names, `{"name":"send_`+strings.Repeat("x", len(names)+1)+`","inputSchema":{"type":"object","properties":{"url":{"type":"string","format":"uri"}}}}`)
	}
	many := build(t, input(t, "version: 1\n", map[string]string{"": "[" + strings.Join(names, ",") + "]"}, nil))
	if n := len(many.Findings); n < 10 || n > maxFindings {
		t.Errorf("%d findings", n)
	}
	md := markdownOf(t, many)
	if !strings.Contains(md, "more.") || len(md) > 300_000 {
		t.Errorf("%d bytes for 400 tools, or it is not said that some are left out", len(md))
	}
}

// Only the days that are asked for count, and the whole log is verified.
func TestDays(t *testing.T) {
	early, late := call("a", "deny", "flow", "denied"), call("b", "allow", "", "allowed")
	early.Time, late.Time = made.AddDate(0, 0, -9), made
	data := writeLog(t, early, late)
	in := input(t, "version: 1\n", nil, nil)
	in.Log = readLog(t, data, auditread.Filter{Since: made.AddDate(0, 0, -1), Until: made.AddDate(0, 0, 1)})
	in.Log.Since, in.Log.Until = made.AddDate(0, 0, -1), made.AddDate(0, 0, 1)
	p := build(t, in)
	md := markdownOf(t, p)
	if slices.Contains(kinds(p), "refused") || !strings.Contains(md, "| 1 | 1 | 0 | 0 |") || !strings.Contains(md, "2 in 2 lines") {
		t.Errorf("the day before counts, or is not verified: %v", kinds(p))
	}
	if !strings.Contains(md, "2026-03-01 to 2026-03-02") {
		t.Error("the days are not named as they were given")
	}
}

func TestBuildWantsAPolicy(t *testing.T) {
	in := input(t, "version: 1\n", nil, nil)
	in.Policies = nil
	if _, err := Build(in); err == nil {
		t.Error("a pack without a policy")
	}
}
