package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
)

// columns are one value of every JSON type, and the values at which types are cut finer.
var columns = []struct{ name, json string }{
	{"absent", ""},
	{"null", `null`},
	{"boolean", `true`},
	{"integer", `5`},
	{"same number", `5.0`},
	{"fraction", `5.5`},
	{"beyond 2^53", `9007199254740993`},
	{"text", `"light"`},
	{"digits as text", `"5"`},
	{"empty text", `""`},
	{"text of 4096 bytes", `"` + strings.Repeat("a", 4096) + `"`},
	{"text of 4097 bytes", `"` + strings.Repeat("a", 4097) + `"`},
	{"list", `["light"]`},
	{"mixed list", `[1,"x"]`},
	{"empty list", `[]`},
	{"object", `{"light":1}`},
	{"empty object", `{}`},
}

// table holds every operator: one letter for each column, P pass, F fail, C cannot.
var table = []struct{ operator, outcomes string }{
	//  absent|null|bool|5|5.0|5.5|big|light|"5"|""|4096|4097|list|mixed|[]|object|{}
	{`eq: light`, "FCCCCCCPFFFFCCCCC"},
	{`eq: 5`, "FCCPPFFCCCCCCCCCC"},
	{`eq: 5.50`, "FCCFFPFCCCCCCCCCC"},
	{`eq: 9007199254740993`, "FCCFFFPCCCCCCCCCC"},
	{`eq: 9007199254740992`, "FCCFFFFCCCCCCCCCC"},
	{`eq: true`, "FCPCCCCCCCCCCCCCC"},
	{`eq: false`, "FCFCCCCCCCCCCCCCC"},
	{`eq: null`, "FPCCCCCCCCCCCCCCC"},
	{`eq: [light]`, "FCCCCCCCCCCCPFFCC"},
	{`eq: {light: 1.0}`, "FCCCCCCCCCCCCCCPF"},
	{`ne: light`, "FCCCCCCFPPPPCCCCC"},
	{`ne: 5`, "FCCFFPPCCCCCCCCCC"},
	{`ne: null`, "FFCCCCCCCCCCCCCCC"},
	{`in: [light, 5]`, "FCCPPFFPFFFFCCCCC"},
	{`in: [null, light]`, "FPCCCCCPFFFFCCCCC"},
	{`in: [a, b, c, d, e, f, g, h, light, 5]`, "FCCPPFFPFFFFCCCCC"},
	{`not_in: [light, 5]`, "FCCFFPPFPPPPCCCCC"},
	{`matches: "l.*"`, "FCCCCCCPFFFCCCCCC"},
	{`matches: "ligh"`, "FCCCCCCFFFFCCCCCC"},
	{`matches: ".*"`, "FCCCCCCPPPPCCCCCC"},
	{`not_matches: "l.*"`, "FCCCCCCFPPPCCCCCC"},
	{`contains: igh`, "FCCCCCCPFFFFCCFCC"},
	{`contains: light`, "FCCCCCCPFFFFPCFCC"},
	{`contains: 1`, "FCCCCCCCCCCCCPFCC"},
	{`gt: 5`, "FCCFFPPCCCCCCCCCC"},
	{`gte: 5`, "FCCPPPPCCCCCCCCCC"},
	{`lt: 5.5`, "FCCPPFFCCCCCCCCCC"},
	{`lte: 9007199254740992`, "FCCPPPFCCCCCCCCCC"},
	{`max_length: 1`, "FCCCCCCFPPFFPFPCC"},
	{`max_length: 4096`, "FCCCCCCPPPPFPPPCC"},
	{`present: true`, "FCPPPPPPPPPPPPPPP"},
	{`present: false`, "PCFFFFFFFFFFFFFFF"},
	{`absent: true`, "PCFFFFFFFFFFFFFFF"},
	{`absent: false`, "FCPPPPPPPPPPPPPPP"},
	{`within: /srv`, "FCCCCCCCCCCCCCCCC"},
	{`host: light.example`, "FCCCCCCCCCCCCCCCC"},
	{`domain: light.example`, "FCCCCCCCCCCCCCCCC"},
	{`origin: [typed]`, "FCCCCCCPFFFFPFFCC"},
	{`{gt: 5, lt: 9}`, "FCCFFPFCCCCCCCCCC"},
	{`{matches: "l.*", max_length: 2}`, "FCCCCCCFFFFFCCCCC"},
	{`{contains: igh, ne: x}`, "FCCCCCCPFFFFCCFCC"},
}

// tableFacts knows the origin of text and lists.
var tableFacts = &Facts{Origins: func(_ string, v doc.Value) ([]flow.Origin, bool) {
	switch v.Kind() {
	case doc.Object:
		return []flow.Origin{flow.Malformed}, true
	case doc.Number:
		return []flow.Origin{flow.Trusted}, false
	case doc.List:
		_, v = v.Child(0)
	}
	if v.String() == "light" {
		return []flow.Origin{flow.Typed}, true
	}
	return []flow.Origin{flow.Untrusted}, true
}}

// ruled compiles one rule for each effect. Behind an ask or deny rule everything is
// allowed, behind an allow rule everything is denied.
func ruled(t testing.TB, when string) map[Effect]*Policy {
	t.Helper()
	all := map[Effect]*Policy{}
	for _, e := range []Effect{Allow, Ask, Deny} {
		fallback := Allow
		if e == Allow {
			fallback = Deny
		}
		policies, err := load(t, fmt.Sprintf("p:\n  default: %s\n  rules:\n  - effect: %s\n    when: {%s}\n", fallback, e, when))
		if err != nil {
			t.Fatalf("when %s: %v", when, err)
		}
		all[e] = policies["p"]
	}
	return all
}

func outcomeOf(letter byte) Outcome {
	return map[byte]Outcome{'P': Pass, 'F': Fail, 'C': Cannot}[letter]
}

func parseArgs(t testing.TB, json string) doc.Value {
	t.Helper()
	v, err := doc.Parse([]byte(json), doc.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", json, err)
	}
	return v
}

// expect holds every effect's rule, and the trace, against an outcome.
func expect(t *testing.T, rules map[Effect]*Policy, json string, want Outcome, what string) {
	t.Helper()
	target := Target{Name: "x", Args: parseArgs(t, json)}
	matches := map[Effect]bool{Allow: want == Pass, Ask: want != Fail, Deny: want != Fail}
	for effect, p := range rules {
		got := p.Evaluate(target, tableFacts)
		if (got.Rule != nil) != matches[effect] {
			t.Errorf("%s: the %s rule matched: %v, want %v", what, effect, got.Rule != nil, matches[effect])
		}
		if want == Cannot && effect != Allow && !strings.Contains(got.Reason, "cannot be checked") {
			t.Errorf("%s: the reason of the %s rule is %q", what, effect, got.Reason)
		}
		trace := p.Trace(target, tableFacts)
		if c := trace[0].Constraints[0]; c.Outcome != want || c.Detail == "" {
			t.Errorf("%s: the %s rule's trace says %v (%s), want %v", what, effect, c.Outcome, c.Detail, want)
		}
	}
}

func TestEveryOperatorOnEveryType(t *testing.T) {
	covered := map[Operator]bool{}
	for _, row := range table {
		t.Run(row.operator, func(t *testing.T) {
			if len(row.outcomes) != len(columns) {
				t.Fatalf("%d outcomes for %d columns", len(row.outcomes), len(columns))
			}
			op := row.operator
			if op[0] != '{' {
				op = "{" + op + "}"
			}
			single := ruled(t, "args.x: "+op)
			for _, o := range single[Deny].rules[0].when[0].ops {
				covered[o.Operator] = true
			}
			for i, c := range columns {
				json := `{}`
				if c.json != "" {
					json = `{"x":` + c.json + `}`
				}
				expect(t, single, json, outcomeOf(row.outcomes[i]), c.name)
			}
			testOptional(t, op, row.outcomes)
			testQuantifiers(t, op, row.outcomes)
		})
	}
	for o := range operators {
		if !covered[o] {
			t.Errorf("the table has no row for %v", o)
		}
	}
}

func testOptional(t *testing.T, op, outcomes string) {
	if strings.Contains(op, "present") || strings.Contains(op, "absent") {
		return // refused when the file loads
	}
	rules := ruled(t, "args.x: "+strings.TrimSuffix(op, "}")+", optional: true}")
	expect(t, rules, `{}`, Pass, "optional and absent")
	for i, c := range columns[1:] {
		expect(t, rules, `{"x":`+c.json+`}`, outcomeOf(outcomes[i+1]), "optional, "+c.name)
	}
}

// testQuantifiers tries every pair of values behind a wildcard, and none.
func testQuantifiers(t *testing.T, op, outcomes string) {
	all := ruled(t, `"args.l[*].x": `+op)
	anyOf := ruled(t, `"args.l[*].x": `+strings.TrimSuffix(op, "}")+", quantifier: any}")
	element := func(i int) string {
		if columns[i].json == "" {
			return `{}`
		}
		return `{"x":` + columns[i].json + `}`
	}
	for i := range columns {
		for j := range columns {
			if i > 0 && j > 0 && i != 7 && j != 7 {
				continue // with text and with absent is enough
			}
			a, b := outcomeOf(outcomes[i]), outcomeOf(outcomes[j])
			json := `{"l":[` + element(i) + `,` + element(j) + `]}`
			what := columns[i].name + " and " + columns[j].name
			expect(t, all, json, min(a, b), "all of "+what)
			expect(t, anyOf, json, max(a, b), "any of "+what)
		}
	}
	missing := Fail
	if outcomes[0] == 'P' {
		missing = Pass
	}
	for _, rules := range []map[Effect]*Policy{all, anyOf} {
		expect(t, rules, `{"l":[]}`, Fail, "an empty list")
		expect(t, rules, `{"l":{}}`, Fail, "an empty object")
		expect(t, rules, `{}`, missing, "no list")
		expect(t, rules, `{"l":"light"}`, Cannot, "text for a list")
		expect(t, rules, `{"l":null}`, Cannot, "null for a list")
		expect(t, rules, `{"l":["light"]}`, Cannot, "text for an element")
	}
	expect(t, all, `{"l":{"k":{"x":"light"}}}`, outcomeOf(outcomes[7]), "over an object")
}

func TestWithin(t *testing.T) {
	rules := ruled(t, `args.x: {within: [/srv/data, /home/u/out]}`)
	for path, want := range map[string]Outcome{
		"/srv/data/a":          Pass,
		"/srv/data":            Pass,
		"/home/u/out/x/../y":   Pass,
		"/srv/database":        Fail,
		"/etc/passwd":          Fail,
		"/srv/data/../../etc":  Fail,
		"/srv":                 Cannot, // has an allowed directory inside
		"/":                    Cannot,
		"srv/data/a":           Cannot,
		"/srv/data/$x":         Cannot,
		"~/out":                Cannot,
		"":                     Cannot,
		"file:///srv/data/a":   Cannot,
		"/srv/data/a\\u0000":   Cannot,
		"/srv/data/%2e%2e/etc": Cannot,
	} {
		expect(t, rules, `{"x":"`+path+`"}`, want, path)
	}
}

// A deny rule is not escaped by a path that one reader takes inside and another outside.
func TestWithinFollowsLinks(t *testing.T) {
	rules := ruled(t, `args.x: {within: /secret}`)
	resolve := func(path string) (string, error) {
		switch {
		case path == "/link":
			return "/secret", nil
		case strings.HasPrefix(path, "/link/"):
			return "/secret/" + path[len("/link/"):], nil
		case path == "/deep":
			return "/secret/deep", nil
		case path == "/secret/out" || path == "/secret/out/key":
			return "/public/" + path[len("/secret/"):], nil
		case path == "/broken":
			return "", fmt.Errorf("loop")
		}
		return path, nil
	}
	facts := &Facts{Resolve: resolve}
	for path, want := range map[string]Outcome{
		"/link/key":    Pass,
		"/secret/key":  Pass,
		"/public/key":  Fail,
		"/deep/../key": Cannot, // /key if collapsed, /secret/key if followed
		"/broken":      Cannot,
		// A link inside that leads out: reading it is outside, removing it is inside.
		"/secret/out":     Cannot,
		"/secret/out/key": Cannot,
	} {
		target := Target{Name: "x", Args: parseArgs(t, `{"x":"`+path+`"}`)}
		if got := rules[Deny].Trace(target, facts)[0].Constraints[0]; got.Outcome != want {
			t.Errorf("%s: %v (%s), want %v", path, got.Outcome, got.Detail, want)
		}
	}
}

func TestWithinNeedsTheStyle(t *testing.T) {
	rules := ruled(t, `args.x: {within: 'C:\data'}`)
	target := Target{Name: "x", Args: parseArgs(t, `{"x":"C:\\DATA\\a"}`)}
	for _, tt := range []struct {
		facts *Facts
		want  Outcome
	}{{nil, Cannot}, {&Facts{}, Cannot}, {&Facts{Style: 2}, Pass}, {&Facts{Style: 200}, Cannot}} {
		if got := rules[Deny].Trace(target, tt.facts)[0].Constraints[0]; got.Outcome != tt.want {
			t.Errorf("%+v: %v (%s)", tt.facts, got.Outcome, got.Detail)
		}
	}
	other := Target{Name: "x", Args: parseArgs(t, `{"x":"D:\\x"}`)}
	if got := rules[Deny].Trace(other, &Facts{Style: 2})[0].Constraints[0]; got.Outcome != Fail {
		t.Errorf("another drive: %v (%s)", got.Outcome, got.Detail)
	}
}

// B092: every spelling of an address is that address, or cannot be judged.
func TestB092HostSpellings(t *testing.T) {
	loopback := ruled(t, `args.x: {host: [127.0.0.1, localhost, 169.254.169.254]}`)
	other := ruled(t, `args.x: {host: api.example.com}`)
	for value, want := range map[string]Outcome{
		"http://127.0.0.1/":            Pass,
		"http://[::ffff:7f00:1]/":      Pass,
		"http://[::ffff:127.0.0.1]/":   Pass,
		"http://2130706433/":           Pass,
		"http://0x7f.1/":               Pass,
		"http://0x7f000001/":           Pass,
		"http://017700000001/":         Pass,
		"http://127.1/":                Pass,
		"http://localhost./":           Pass,
		"http://LOCALHOST/":            Pass,
		"http://169.254.169.254:80/x":  Pass,
		"http://[::7f00:1]/":           Cannot,
		"http://[64:ff9b::a9fe:a9fe]/": Cannot,
		"http://[64:ff9b:1::7f00:1]/":  Cannot,
		"http://[2002:7f00:1::]/":      Cannot,
		"http://127.0.0.1%2f@x/":       Cannot,
		"http://127.0.0.1\\u0000/":     Cannot,
		"http://999.0.0.1/":            Cannot,
		"2130706433":                   Cannot, // a number, not an address, to most readers
		"http://203.0.113.7/":          Fail,
		"http://[::1]/":                Fail,
	} {
		expect(t, loopback, `{"x":"`+value+`"}`, want, value)
		if want == Pass {
			want = Fail
		}
		expect(t, other, `{"x":"`+value+`"}`, want, "not "+value)
	}
}

// A list is no way around a text where lists are compared too.
func TestListOfWhatIsCompared(t *testing.T) {
	for when, values := range map[string]map[string]Outcome{
		"in: [lock, [x]]":     {`"lock"`: Pass, `["x"]`: Pass, `["lock"]`: Cannot, `["y","lock"]`: Cannot, `["y"]`: Fail, `["x","x"]`: Fail, `"y"`: Fail},
		"not_in: [lock, [x]]": {`"lock"`: Fail, `["x"]`: Fail, `["lock"]`: Cannot, `["y"]`: Pass, `"y"`: Pass},
		"in: [[x]]":           {`["x"]`: Pass, `["y"]`: Fail},
	} {
		rules := ruled(t, "args.x: {"+when+"}")
		for value, want := range values {
			expect(t, rules, `{"x":`+value+`}`, want, when+" of "+value)
		}
	}
}

func TestHostAndDomain(t *testing.T) {
	for _, tt := range []struct {
		when, value string
		want        Outcome
	}{
		{`host: api.example.com`, "https://api.example.com/x", Pass},
		{`host: api.example.com`, "https://API.EXAMPLE.COM:8443/x", Pass},
		{`host: API.example.com.`, "api.example.com", Pass},
		{`host: api.example.com`, "https://api.example.com.evil.example/", Fail},
		{`host: api.example.com`, "https://evil.example/api.example.com", Fail},
		{`host: api.example.com`, "https://api.example.com@evil.example/", Cannot},
		{`host: api.example.com`, `https://api.example.com\\@evil.example/`, Cannot},
		{`host: example.com`, "ana@example.com", Pass},
		{`host: example.com`, "Ana <ana@evil.example>", Fail},
		{`host: example.com`, "a@example.com, b@example.com", Pass},
		{`host: example.com`, "a@example.com, b@evil.example", Cannot},
		{`host: example.com`, "https://example.com/?next=https://evil.example/", Cannot},
		{`host: example.com`, "mailto:a@example.com?cc=b@evil.example", Cannot},
		{`host: example.com`, "general", Cannot},
		{`host: example.com`, "", Cannot},
		{`host: "*.example.com"`, "https://api.example.com/", Pass},
		{`host: "*.example.com"`, "https://a.b.example.com/", Pass},
		{`host: "*.example.com"`, "https://example.com/", Fail},
		{`host: "*.example.com"`, "https://notexample.com/", Fail},
		{`host: [a.example, b.example]`, "https://b.example/", Pass},
		{`domain: example.com`, "https://example.com/", Pass},
		{`domain: example.com`, "https://a.example.com/", Pass},
		{`domain: example.com`, "https://badexample.com/", Fail},
		{`domain: example.com`, "http://203.0.113.7/", Fail},
		{`domain: bücher.example`, "https://xn--bcher-kva.example/", Pass},
		{`domain: bücher.example`, "https://www.BÜCHER.example/", Pass},
	} {
		expect(t, ruled(t, "args.x: {"+tt.when+"}"), `{"x":"`+tt.value+`"}`, tt.want, tt.when+" of "+tt.value)
	}
}

func TestOrigin(t *testing.T) {
	rules := ruled(t, `args.to: {origin: [trusted, approved, typed, vouched]}`)
	unknown := ruled(t, `args.to: {origin: unknown}`)
	wild := ruled(t, `"args.l[*].to": {origin: typed}`)
	whole := ruled(t, `args: {origin: typed}`)
	var asked string
	of := func(known bool, o ...flow.Origin) *Facts {
		return &Facts{Origins: func(place string, v doc.Value) ([]flow.Origin, bool) {
			asked += place + "=" + string(v.AppendJSON(nil)) + " "
			return o, known
		}}
	}
	facts := func(o flow.Origin, known bool) *Facts { return of(known, o) }
	target := Target{Name: "x", Args: parseArgs(t, `{"to":["a@x.example"],"l":[{"to":"b"},{"to":"c"}]}`)}
	for o := flow.Malformed; o <= flow.Trusted; o++ {
		want := Pass
		if o < flow.Vouched {
			want = Fail
		}
		if o == flow.Malformed {
			want = Cannot
		}
		if got := rules[Deny].Trace(target, facts(o, true))[0].Constraints[0]; got.Outcome != want {
			t.Errorf("%v: %v (%s), want %v", o, got.Outcome, got.Detail, want)
		}
	}
	for _, f := range []*Facts{nil, {}, facts(flow.Trusted, false)} {
		if r := rules[Allow].Evaluate(target, f); r.Effect != Deny {
			t.Error("an origin that is not known is allowed")
		}
		if r := rules[Deny].Evaluate(target, f); r.Effect != Deny {
			t.Error("a deny rule is escaped by an origin that is not known")
		}
	}
	// A deny rule is not escaped by a destination beside the one that it refuses.
	for _, tt := range []struct {
		origins []flow.Origin
		want    Outcome
	}{
		{[]flow.Origin{flow.Unknown}, Pass},
		{[]flow.Origin{flow.Unknown, flow.Trusted}, Pass},
		{[]flow.Origin{flow.Unknown, flow.Untrusted}, Cannot},
		{[]flow.Origin{flow.Untrusted, flow.Unknown}, Cannot},
		{[]flow.Origin{flow.Unknown, flow.Malformed}, Cannot},
		{[]flow.Origin{flow.Untrusted, flow.Trusted}, Fail},
		{nil, Cannot},
	} {
		if got := unknown[Deny].Trace(target, of(true, tt.origins...))[0].Constraints[0]; got.Outcome != tt.want {
			t.Errorf("%v: %v (%s), want %v", tt.origins, got.Outcome, got.Detail, tt.want)
		}
	}
	asked = ""
	wild[Allow].Evaluate(target, facts(flow.Typed, true))
	whole[Allow].Evaluate(Target{Name: "x", Args: parseArgs(t, `{}`)}, facts(flow.Typed, true))
	if want := `l[0].to="b" l[1].to="c" ={} `; asked != want {
		t.Errorf("asked for %s, want %s", asked, want)
	}
}
