package flow

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

// labels reads "selector: label, selector: label"; a label alone is for all of it.
func labels(t testing.TB, s string) []FieldLabel {
	t.Helper()
	var all []FieldLabel
	for entry := range strings.SplitSeq(s, ", ") {
		if entry == "" {
			continue
		}
		var path doc.Selector
		name := entry
		if sel, label, ok := strings.Cut(entry, ": "); ok {
			var err error
			if path, err = doc.ParseSelector(sel); err != nil {
				t.Fatalf("%s: %v", sel, err)
			}
			name = label
		}
		l, ok := ParseLabel(name)
		if !ok {
			t.Fatalf("there is no label %s", name)
		}
		all = append(all, FieldLabel{path, l})
	}
	return all
}

// parsed reads a JSON value, so that tests can hold what no Go map does.
func parsed(t testing.TB, s string) doc.Value {
	t.Helper()
	v, err := doc.Parse([]byte(s), doc.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

// structured is a result with structured content alone, textual one with one text.
func structured(t testing.TB, s string) doc.Value {
	t.Helper()
	return parsed(t, `{"structuredContent":`+s+`}`)
}

func textual(t testing.TB, texts ...string) doc.Value {
	t.Helper()
	var blocks []any
	for _, s := range texts {
		blocks = append(blocks, map[string]any{"type": "text", "text": s})
	}
	return value(t, map[string]any{"content": blocks})
}

// shown is one output with its labels.
type shown struct {
	labels   string
	value    doc.Value
	endorsed bool
}

func ledgerOf(t testing.TB, outputs ...shown) *Ledger {
	t.Helper()
	l := NewLedger(LedgerOptions{})
	for i, o := range outputs {
		l.Observe(Output{Upstream: "u", Tool: "read", Call: uint64(i + 1), Time: noon, Value: o.value, Labels: labels(t, o.labels), Endorsed: o.endorsed})
	}
	return l
}

// origins holds destination to origin; a destination that holds several is not meant.
func wantOrigins(t *testing.T, l *Ledger, want map[string]Origin) {
	t.Helper()
	for dest, o := range want {
		if got := lookup(t, l, dest); got.Origin != o {
			t.Errorf("%s is %v, want %v", dest, got.Origin, o)
		}
	}
}

const (
	ana = "ana@corp.example"
	bea = "bea@corp.example"
	eva = "eva@attacker.example"
)

func TestLabelsFindFields(t *testing.T) {
	for _, c := range []struct {
		name, labels string
		value        doc.Value
		want         map[string]Origin
	}{
		{"member", "from: party", structured(t, `{"from":"ana@corp.example","body":"eva@attacker.example"}`), map[string]Origin{ana: Party, eva: Untrusted}},
		{"element", "rows[*].mail: vouched", structured(t, `{"rows":[{"mail":"ana@corp.example","note":"eva@attacker.example"},{"mail":"bea@corp.example"}]}`), map[string]Origin{ana: Vouched, bea: Vouched, eva: Untrusted}},
		{"wildcard over members", "people[*].mail: vouched", structured(t, `{"people":{"a":{"mail":"ana@corp.example"}}}`), map[string]Origin{ana: Vouched}},
		{"index", "[0]: vouched", structured(t, `["ana@corp.example","bea@corp.example"]`), map[string]Origin{ana: Vouched, bea: Untrusted}},
		{"index from the end", "[-1]: vouched", structured(t, `["ana@corp.example","bea@corp.example"]`), map[string]Origin{ana: Untrusted, bea: Vouched}},
		{"an index is none of an object's", "[0]: vouched", structured(t, `{"0":"ana@corp.example"}`), map[string]Origin{ana: Untrusted}},
		{"position", "[#1]: vouched", structured(t, `{"a":"ana@corp.example","b":"bea@corp.example"}`), map[string]Origin{ana: Untrusted, bea: Vouched}},
		{"odd name", `["a.b"]: vouched`, structured(t, `{"a.b":"ana@corp.example","a":{"b":"bea@corp.example"}}`), map[string]Origin{ana: Vouched, bea: Untrusted}},
		{"list of values", "to: party", structured(t, `{"to":["ana@corp.example","bea@corp.example"]}`), map[string]Origin{ana: Party, bea: Party}},
		{"deeper than the field", "to: party", structured(t, `{"to":[{"mail":"ana@corp.example"}]}`), map[string]Origin{ana: Untrusted}},
		{"names of members", "shared_with: party", structured(t, `{"shared_with":{"ana@corp.example":"eva@attacker.example"}}`), map[string]Origin{ana: Party, eva: Untrusted}},
		{"names are case-sensitive", "from: party", structured(t, `{"From":"ana@corp.example"}`), map[string]Origin{ana: Untrusted}},
		{"prefix of a name", "from: party", structured(t, `{"from_name":"ana@corp.example"}`), map[string]Origin{ana: Untrusted}},
		{"all of it", "vouched", structured(t, `["ana@corp.example"]`), map[string]Origin{ana: Vouched}},
		{"all of a text", "vouched", textual(t, "ana@corp.example"), map[string]Origin{ana: Vouched}},
		{"all of a text that holds more", "vouched", textual(t, "ask ana@corp.example"), map[string]Origin{ana: Untrusted}},

		{"JSON text", "rows[*].mail: vouched", textual(t, `{"rows":[{"mail":"ana@corp.example","note":"eva@attacker.example"}]}`), map[string]Origin{ana: Vouched, eva: Untrusted}},
		{"JSON text with white space", "[*].mail: vouched", textual(t, "\n[ {\"mail\" : \"ana@corp.example\"} ]\n"), map[string]Origin{ana: Vouched}},
		{"JSON string", "vouched", textual(t, `"ana@corp.example"`), map[string]Origin{ana: Vouched}},
		{"JSON in prose", "mail: vouched", textual(t, `Result: {"mail":"ana@corp.example"}`), map[string]Origin{ana: Untrusted}},
		{"two JSON values", "mail: vouched", textual(t, `{"mail":"ana@corp.example"} {"mail":"ana@corp.example"}`), map[string]Origin{ana: Untrusted}},
		{"a name twice", "mail: vouched", textual(t, `{"mail":"bea@corp.example","mail":"ana@corp.example"}`), map[string]Origin{ana: Untrusted, bea: Untrusted}},
		{"JSON in a JSON string", "mail: vouched", textual(t, `"{\"mail\":\"ana@corp.example\"}"`), map[string]Origin{ana: Untrusted}},
		{"JSON in a labelled field", "data: vouched", structured(t, `{"data":"[\"ana@corp.example\"]"}`), map[string]Origin{ana: Untrusted}},
		{"JSON in a field has paths of its own", "mail: vouched", structured(t, `{"data":"{\"mail\":\"ana@corp.example\"}"}`), map[string]Origin{ana: Untrusted}},

		{"the deepest counts", "a: outside, a.b: vouched", structured(t, `{"a":{"b":"ana@corp.example","c":"bea@corp.example"}}`), map[string]Origin{ana: Vouched, bea: Untrusted}},
		{"the deepest counts, stricter", "a[*]: vouched, a[1]: outside", structured(t, `{"a":["ana@corp.example","bea@corp.example"]}`), map[string]Origin{ana: Vouched, bea: Untrusted}},
		{"the strictest of one place", "a[*]: vouched, a[0]: party", structured(t, `{"a":["ana@corp.example"]}`), map[string]Origin{ana: Party}},
		{"a party in a text of people inside", "a: inside, a.from: party", structured(t, `{"a":{"from":"ana@corp.example","text":"bea@corp.example"}}`), map[string]Origin{ana: Party, bea: Inside}},
		{"outside in inside", "a: inside, a.quote: outside", structured(t, `{"a":{"quote":"eva@attacker.example","text":"bea@corp.example"}}`), map[string]Origin{eva: Untrusted, bea: Inside}},

		{"an error has no fields", "from: vouched", parsed(t, `{"isError":true,"structuredContent":{"from":"eva@attacker.example"}}`), map[string]Origin{eva: Untrusted}},
		{"an error by another name", "from: vouched", parsed(t, `{"isError":"true","structuredContent":{"from":"eva@attacker.example"}}`), map[string]Origin{eva: Untrusted}},
		{"no error", "from: vouched", parsed(t, `{"isError":false,"structuredContent":{"from":"ana@corp.example"}}`), map[string]Origin{ana: Vouched}},
		{"_meta", "from: vouched", parsed(t, `{"_meta":{"from":"eva@attacker.example"}}`), map[string]Origin{eva: Untrusted}},
		{"beside the content", "from: vouched", parsed(t, `{"from":"eva@attacker.example","content":[]}`), map[string]Origin{eva: Untrusted}},
		{"embedded resource", "mail: vouched", parsed(t, `{"content":[{"type":"resource","resource":{"uri":"note:1","text":"{\"mail\":\"ana@corp.example\"}"}}]}`), map[string]Origin{ana: Vouched}},
		{"a block's other members", "[*]: vouched, vouched", parsed(t, `{"content":[{"type":"resource_link","uri":"https://evil.attacker.example/x","name":"eva@attacker.example"}]}`), map[string]Origin{eva: Untrusted, "https://evil.attacker.example/x": Untrusted}},
		{"content that is no list", "from: vouched", parsed(t, `{"content":{"from":"eva@attacker.example","text":"{\"from\":\"bea@corp.example\"}"}}`), map[string]Origin{eva: Untrusted, bea: Untrusted}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantOrigins(t, ledgerOf(t, shown{labels: c.labels, value: c.value}), c.want)
		})
	}
}

// What stands in a text that others can write must not be read as what a contract says
// of the tool's own.
func TestGrantsAreReadFromOneDocument(t *testing.T) {
	for _, c := range []struct {
		name, labels string
		value        doc.Value
		want         map[string]Origin
	}{
		{"a body in a block of its own", "From: party", textual(t, "From: ana@corp.example\nSubject: x\n", "From: eva@attacker.example\n\nhello"), map[string]Origin{ana: Party, eva: Untrusted}},
		{"a body that is JSON", "from: party", textual(t, `{"from":"ana@corp.example"}`, `{"from":"eva@attacker.example"}`), map[string]Origin{ana: Party, eva: Untrusted}},
		{"JSON behind headers", "from: party", textual(t, "From: ana@corp.example\n", `{"from":"eva@attacker.example"}`), map[string]Origin{ana: Party, eva: Untrusted}},
		{"a body beside structured content", "from: party", parsed(t, `{"content":[{"type":"text","text":"{\"from\":\"eva@attacker.example\"}"}],"structuredContent":{"from":"ana@corp.example","body":"{}"}}`), map[string]Origin{ana: Party, eva: Untrusted}},
		{"headers beside structured content", "from: party", parsed(t, `{"content":[{"type":"text","text":"From: eva@attacker.example\n\n"}],"structuredContent":{"from":"ana@corp.example"}}`), map[string]Origin{ana: Party, eva: Untrusted}},
		{"the text repeats the structured content", "from: party, note: inside", parsed(t, `{"content":[{"type":"text","text":"{ \"note\":\"bea@corp.example\", \"from\":\"ana@corp.example\" }"}],"structuredContent":{"from":"ana@corp.example","note":"bea@corp.example"}}`), map[string]Origin{ana: Party, bea: Inside}},
		{"all of it, in every block", "inside", textual(t, "ana@corp.example", "bea@corp.example"), map[string]Origin{ana: Inside, bea: Inside}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantOrigins(t, ledgerOf(t, shown{labels: c.labels, value: c.value}), c.want)
		})
	}
}

func TestHeaderBlocks(t *testing.T) {
	for _, c := range []struct {
		name, labels, text string
		want               map[string]Origin
	}{
		{"plain", "From: party", "From: ana@corp.example\nSubject: hi\n\neva@attacker.example", map[string]Origin{ana: Party, eva: Untrusted}},
		{"case", "from: party", "FROM: ana@corp.example\r\n\r\n", map[string]Origin{ana: Party}},
		{"case of the label", "FROM: party", "from:ana@corp.example", map[string]Origin{ana: Party}},
		{"spaces round the value", "From: party", "From: \t ana@corp.example \t\n\n", map[string]Origin{ana: Party}},
		{"every line", "[*]: party", "From: ana@corp.example\nTo: bea@corp.example\n\neva@attacker.example", map[string]Origin{ana: Party, bea: Party, eva: Untrusted}},
		{"display name", "From: party", "From: Ana Example <ana@corp.example>\n\n", map[string]Origin{ana: Party}},
		{"display name that is another address", "From: party", "From: \"ana@corp.example\" <eva@attacker.example>\n\n", map[string]Origin{ana: Untrusted, eva: Untrusted}},
		{"repeated", "From: party", "From: ana@corp.example\nFrom: eva@attacker.example\n\n", map[string]Origin{ana: Untrusted, eva: Untrusted}},
		{"repeated in other case", "From: party", "From: ana@corp.example\nfrom: eva@attacker.example\n\n", map[string]Origin{ana: Untrusted, eva: Untrusted}},
		{"repeated, inside", "Note: inside", "Note: ana@corp.example\nNote: eva@attacker.example\n\n", map[string]Origin{ana: Untrusted, eva: Untrusted}},
		{"folded", "From: party", "From: ana@corp.example\n eva@attacker.example\nSubject: x\n\n", map[string]Origin{ana: Untrusted, eva: Untrusted}},
		{"folded with a colon", "From: party", "From: ana@corp.example\n Cc: eva@attacker.example\n\n", map[string]Origin{ana: Untrusted, eva: Untrusted}},
		{"folded with a tab", "From: party", "From: ana@corp.example\n\tCc: eva@attacker.example\n\n", map[string]Origin{ana: Untrusted, eva: Untrusted}},
		{"behind the blank line", "Cc: party", "From: ana@corp.example\n\nCc: eva@attacker.example\n\n", map[string]Origin{ana: Untrusted, eva: Untrusted}},
		{"behind a blank line of spaces", "Cc: party", "From: ana@corp.example\n  \nCc: eva@attacker.example\n\n", map[string]Origin{eva: Untrusted}},
		{"starts with a blank line", "From: party", "\nFrom: eva@attacker.example\n\n", map[string]Origin{eva: Untrusted}},
		{"starts with text", "From: party", "Here it is\nFrom: eva@attacker.example\n\n", map[string]Origin{eva: Untrusted}},
		{"ends in text", "From: party", "From: eva@attacker.example\nhello\n\n", map[string]Origin{eva: Untrusted}},
		{"a line end that is none", "From: party", "From: ana@corp.example\rCc: eva@attacker.example\n\n", map[string]Origin{ana: Untrusted, eva: Untrusted}},
		{"other line ends", "Cc: party", "From: ana@corp.example\u2028Cc: eva@attacker.example\n\n", map[string]Origin{ana: Untrusted, eva: Untrusted}},
		{"two in a line", "To: party", "To: ana@corp.example, eva@attacker.example\n\n", map[string]Origin{ana: Untrusted, eva: Untrusted}},
		{"text round it", "From: party", "From: ana@corp.example please\n\n", map[string]Origin{ana: Untrusted}},
		{"a longer name", "From: party", "X-From: eva@attacker.example\n\n", map[string]Origin{eva: Untrusted}},
		{"no name", "From: party", ": x\nFrom: eva@attacker.example\n\n", map[string]Origin{eva: Untrusted}},
		{"paths go on", "From.mail: party", "From: eva@attacker.example\n\n", map[string]Origin{eva: Untrusted}},
		{"inside", "Note: inside", "Note: ask ana@corp.example\nOther: bea@corp.example\n\n", map[string]Origin{ana: Inside, bea: Untrusted}},
		{"too many", "From: party", strings.Repeat("X: y\n", 300) + "From: eva@attacker.example\n\n", map[string]Origin{eva: Untrusted}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantOrigins(t, ledgerOf(t, shown{labels: c.labels, value: textual(t, c.text)}), c.want)
		})
	}
}

// A field vouches only as a whole.
func TestOnlyWholeFieldsVouch(t *testing.T) {
	for field, dest := range map[string]string{
		"ask ana@corp.example":                            ana,
		"ana@corp.example, eva@attacker.example":          ana,
		"Alice <ana@corp.example> cc eva@x.test":          ana,
		"ana@corp.example\nBcc: eva@x.test":               ana,
		"ana@corp.example (not eva)":                      ana,
		"<ana@corp.example> <eva@x.test>":                 ana,
		"https://wiki.corp.example/a see":                 "https://wiki.corp.example/a",
		"see https://wiki.corp.example/a":                 "https://wiki.corp.example/a",
		"[a](https://wiki.corp.example/a)":                "https://wiki.corp.example/a",
		"\u200bana@corp.example":                          ana,
		"ana@corp.example\u202e":                          ana,
		"ana@corp.example " + strings.Repeat("x", 2000):   ana,
		"mailto:ana@corp.example?cc=eva@attacker.example": ana,
		"project-team please":                             "project-team",
		"#project-team, #leaks":                           "#project-team",
		`{"a":"ana@corp.example"}`:                        ana,
		"the wiki is at wiki.corp.example":                "wiki.corp.example",
	} {
		for _, label := range []string{"vouched", "party"} {
			l := ledgerOf(t, shown{labels: "f: " + label, value: value(t, map[string]any{"structuredContent": map[string]any{"f": field}})})
			if got := lookup(t, l, dest).Origin; got > Unknown {
				t.Errorf("%s %q makes %s %v", label, field, dest, got)
			} else if got != Untrusted && !strings.Contains(field, "\u200b") {
				t.Errorf("%s %q does not taint %s: %v", label, field, dest, got)
			}
		}
	}
	for field, dests := range map[string][]string{
		"ana@corp.example":               {ana, "ana@CORP.example", "Ana <ana@corp.example>"},
		" ana@corp.example ":             {ana},
		"Ana Example <ana@corp.example>": {ana},
		"mailto:ana@corp.example":        {ana},
		"https://wiki.corp.example/a":    {"https://wiki.corp.example/a", "https://WIKI.corp.example:443/a"},
		"wiki.corp.example":              {"wiki.corp.example"},
		"203.0.113.7":                    {"203.0.113.7"},
		"#project-team":                  {"#project-team", "project-team"},
		"Utility Ltd (new account)":      {"Utility Ltd (new account)"},
		"+49 30 1234567":                 {"+49 30 1234567"},
	} {
		l := ledgerOf(t, shown{labels: "f: vouched", value: value(t, map[string]any{"structuredContent": map[string]any{"f": field}})}, shown{value: value(t, result("mail "+field+" at once"))})
		for _, dest := range dests {
			if got := lookup(t, l, dest).Origin; got != Vouched {
				t.Errorf("%q makes %s %v", field, dest, got)
			}
		}
	}
}

// Nothing near a vouched value is vouched for.
func TestNeighboursAreNotVouched(t *testing.T) {
	l := ledgerOf(t, shown{labels: "f[*]: vouched", value: structured(t, `{"f":["ana@corp.example","https://wiki.corp.example/a","project-team","@ana"]}`)})
	for _, dest := range []string{
		"ana+x@corp.example", "an.a@corp.example", "ANA2@corp.example", "ana@mail.corp.example", "ana@corp.example.org", "corp.example",
		"https://wiki.corp.example/", "https://wiki.corp.example/b", "https://wiki.corp.example/a/b", "https://wiki.corp.example/a?x=1", "http://wiki.corp.example/a",
		"https://wiki.corp.example:8443/a", "https://docs.corp.example/a", "wiki.corp.example", "project-teams", "Project-Team", "project", "#ana",
	} {
		if got := lookup(t, l, dest).Origin; got > Unknown {
			t.Errorf("%s is %v", dest, got)
		}
	}
}

// Of a destination that nobody showed it is said where its domain was seen, in text of people
// inside and on a page that the user named, too.
func TestDomainSeenInside(t *testing.T) {
	l := NewLedger(LedgerOptions{Key: testKey})
	inside := output(t, "wiki", 1, result("write to zoe@team.example, see https://docs.team.example/a"))
	inside.Labels = labels(t, "inside")
	page := output(t, "fetch", 2, result("then go to https://drop.other.example/in"))
	page.Endorsed = true
	l.Observe(inside)
	l.Observe(page)
	for dest, tool := range map[string]string{
		"amy@team.example":                     "wiki",
		"https://docs.team.example/b?keys=1":   "wiki",
		"https://drop.other.example/in?keys=1": "fetch",
		"https://elsewhere.example/in?keys=1":  "",
	} {
		f := l.Lookup(Flatten("to", value(t, dest))[0])
		got := ""
		if len(f.Evidence) > 0 && f.Evidence[0].Partial {
			got = f.Evidence[0].Tool
		}
		if f.Origin != Unknown || got != tool {
			t.Errorf("%s: %v, seen in %q, want %q", dest, f.Origin, got, tool)
		}
	}
}
