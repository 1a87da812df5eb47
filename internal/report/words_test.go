package report

import (
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/auditread"
	"github.com/sallyport-dev/sallyport/policy"
)

var noFilter auditread.Filter

// Every operator has words of its own: a reader must not take one for another.
func TestOperatorWords(t *testing.T) {
	words := map[string]policy.Operator{}
	for o := policy.Eq; o <= policy.Origin; o++ {
		w := operatorWords[o]
		if w == "" {
			t.Errorf("%s has no words", o)
		}
		if other, twice := words[w]; twice {
			t.Errorf("%s and %s have the same words", o, other)
		}
		words[w] = o
	}
	if len(words) != len(policy.Operators()) {
		t.Errorf("%d operators have words, there are %d", len(words), len(policy.Operators()))
	}
}

func TestRuleWords(t *testing.T) {
	for _, c := range []struct{ rule, want string }{
		{"{name: r, effect: allow}", "allow every tool."},
		{"{name: r, effect: deny, tools: [a, 'b*'], upstreams: [x]}", "deny calls of a, b* of the upstreams x."},
		{"{name: r, effect: ask, tools: [a], reason: why}", "ask calls of a. Reason: why"},
		{"{name: r, effect: allow, resources: ['file:///x/*'], prompts: [p]}", "allow resources file:///x/* and prompts p."},
		{"{name: r, effect: allow, tools: [a], when: {args.x: {gte: 1, lt: 9, optional: true}}}", "allow calls of a, if args.x is at least 1 and is less than 9 (or is missing)."},
		{"{name: r, effect: deny, tools: [a], when: {'args.x[*]': {eq: 1, quantifier: any}}}", "deny calls of a, if any args.x[*] is 1."},
		{"{name: r, effect: allow, tools: [a], when: {'args.x[*]': {in: [a, 2]}}}", "allow calls of a, if every args.x[*] is one of a, 2."},
		{"{name: r, effect: allow, tools: [a], when: {args.x: {present: false}}}", "allow calls of a, if args.x is not there."},
		{"{name: r, effect: deny, tools: [a], when: {args.x: 'Bearer abcdefghijklmnopqrstuvwxyz0123456789'}}", "deny calls of a, if args.x is Bearer [redacted bearer token]."},
		{"{name: r, effect: allow, tools: [a], rate_limits: [slow]}", "allow calls of a, within the rate limit slow (3 in 1m for each caller, at most 2 at once)."},
	} {
		in := input(t, "version: 1\nrate_limits:\n  slow: {rate: 3, per: 1m, burst: 2}\npolicies:\n  main:\n    rules:\n      - "+c.rule+"\n", nil, nil)
		b := &builder{in: in, log: &auditread.Summary{}, at: &Pointers{}}
		if got := lineText(b.ruleWords(in.Policies[0].Rules()[0])); got != c.want {
			t.Errorf("%s\n%s, want\n%s", c.rule, got, c.want)
		}
	}
}

// A tool is held against the rules by the name that clients see, and the first rule without
// conditions ends it.
func TestSteps(t *testing.T) {
	const conf = `version: 1
upstreams:
  x: {transport: stdio, command: /x}
  y: {transport: stdio, command: /y}
policies:
  main:
    rules:
      - {name: one, effect: deny, tools: [x__a], when: {args.n: 1}}
      - {name: two, effect: allow, tools: ["*__a"], upstreams: [x]}
      - {name: three, effect: ask}
`
	in := input(t, conf, map[string]string{"x": `[{"name":"a"}]`, "y": `[{"name":"a"}]`}, nil)
	md := markdownOf(t, build(t, in))
	for _, want := range []string{
		"| `a` of `x` | **deny** by `one` if its conditions hold; else **allow** by `two` | no log |",
		"| `a` of `y` | **ask** by `three` | no log |",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("there is no row %s", want)
		}
	}
}

func TestTimeChart(t *testing.T) {
	at := func(times ...time.Time) *chart {
		var l []audit.Record
		for _, when := range times {
			r := call("a", "deny", "flow", "denied")
			r.Time = when
			l = append(l, r)
		}
		b := &builder{log: readLog(t, writeLog(t, l...), noFilter).Summary}
		return b.timeChart()
	}
	if c := at(made, made.Add(time.Minute)); c != nil {
		t.Error("a chart of one hour")
	}
	for _, c := range []struct {
		last  time.Time
		title string
		bars  int
	}{
		{made.Add(5 * time.Hour), "Calls over time, by hour", 6},
		{made.AddDate(0, 0, 10), "Calls over time, by day", 11},
		{made.AddDate(0, 0, 119), "Calls over time, by 2 days", 60},
		{made.AddDate(10, 0, 0), "Calls over time, by 61 days", 60},
	} {
		got := at(made, made, c.last)
		if got.title != c.title || len(got.bars) != c.bars {
			t.Errorf("up to %s: %s with %d bars, want %s with %d", c.last, got.title, len(got.bars), c.title, c.bars)
		}
		if first, last := got.bars[0].values[2], got.bars[len(got.bars)-1].values[2]; first != 2 || last != 1 {
			t.Errorf("up to %s: %d and %d calls, want 2 and 1", c.last, first, last)
		}
	}
}
