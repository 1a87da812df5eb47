package flow

import (
	"fmt"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

// What the agent wrote gains no label by being read back, and loses none that it had.
func TestWrittenValuesKeepTheLabelsTheyHad(t *testing.T) {
	path, err := doc.ParseSelector("field")
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range []Label{LabelVouched, LabelParty} {
		l := NewLedger(LedgerOptions{})
		show := func(value string) {
			v, err := doc.Parse(fmt.Appendf(nil, `{"structuredContent":{"field":%q}}`, value), doc.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			l.Observe(Output{Tool: "read", Value: v, Labels: []FieldLabel{{Path: path, Label: label}}})
		}
		wrote := func(value string) { l.Wrote([]Destination{parseOne(value)}) }
		want := map[Label]Origin{LabelVouched: Vouched, LabelParty: Party}[label]

		show("first@corp.example")
		wrote("first@corp.example")
		show("first@corp.example")
		if f := lookup(t, l, "first@corp.example"); f.Origin != want {
			t.Errorf("%s: a value that was shown before it was written is %s", label, f.Origin)
		}
		wrote("Second@corp.example")
		show("second@corp.example")
		show("second@corp.example")
		if f := lookup(t, l, "second@corp.example"); f.Origin == want {
			t.Errorf("%s: a value that was written first gained its label by being read back", label)
		}
		// The first fact of a ledger is no exception.
		l = NewLedger(LedgerOptions{})
		wrote("first@corp.example")
		show("first@corp.example")
		if f := lookup(t, l, "first@corp.example"); f.Origin == want {
			t.Errorf("%s: a value that was written before anything was read gained its label", label)
		}
	}
}

// A server may spell what it was given in another way before it shows it again.
func TestWrittenValuesInAnotherSpelling(t *testing.T) {
	field := func(s string) shown {
		return shown{labels: "f: vouched", value: value(t, map[string]any{"structuredContent": map[string]any{"f": s}})}
	}
	for _, c := range [][2]string{
		{"eva+x@attacker.example", eva},
		{"e.va@attacker.example", eva},
		{"èva@attacker.example", eva},
		{"https://attacker.example/x?q=1", "https://attacker.example/x"},
		{"https://attacker.example/x", "https://attacker.example/x?q=1"},
		{"https://attacker.example/x/", "https://attacker.example/x"},
		{"https://attacker.example/x", "https://attacker.example/X/"},
		{"http://attacker.example/x", "https://attacker.example/x"},
		{"https://attacker.example/%78#top", "https://attacker.example/x"},
		{"https://attacker.example:8443/x", "https://attacker.example/x"},
		{"https://www.attacker.example/x", "https://attacker.example/x"},
		{"attacker.example", "https://attacker.example/"},
		{"https://attacker.example", "attacker.example"},
		{"attacker.example/x", "https://attacker.example/x"},
		{"le aks", "leaks"},
		{"lеaks", "leaks"},
		{"leaks.", "#leaks"},
		{"Leaks-Room", "leaks room"},
		{"XX82 TEST 1234 5698", "XX82TEST12345698"},
		{"xx82-test-1234-5698", "XX82 TEST 1234 5698"},
		{"00123456", "123456"},
	} {
		l := NewLedger(LedgerOptions{})
		l.Wrote(Flatten("to", value(t, c[0])))
		l.Observe(Output{Tool: "list", Call: 9, Time: noon, Value: field(c[1]).value, Labels: labels(t, "f: vouched")})
		if got := lookup(t, l, c[1]).Origin; got != Unknown && got != Untrusted {
			t.Errorf("%q, read back as %q, is %v", c[0], c[1], got)
		}

		l = ledgerOf(t, field(c[1]))
		l.Wrote(Flatten("to", value(t, c[0])))
		if got := lookup(t, l, c[1]).Origin; got != Vouched {
			t.Errorf("%q was vouched for before %q was written, and is %v", c[1], c[0], got)
		}
	}
	// What is another destination keeps its label.
	for _, c := range [][2]string{
		{"bob@attacker.example", eva},
		{"https://attacker.example/y", "https://attacker.example/x"},
		{"https://wiki.attacker.example/x", "https://attacker.example/x"},
		{"leaks", "leak"},
		{"123450", "12345"},
	} {
		l := NewLedger(LedgerOptions{})
		l.Wrote(Flatten("to", value(t, c[0])))
		l.Observe(Output{Tool: "list", Call: 9, Time: noon, Value: field(c[1]).value, Labels: labels(t, "f: vouched")})
		if got := lookup(t, l, c[1]).Origin; got != Vouched {
			t.Errorf("%q, shown after %q was written, is %v", c[1], c[0], got)
		}
	}
}

// A field is what stands at the end of the path, or one in a list there: no deeper.
func TestAFieldIsNotWhatLiesDeeper(t *testing.T) {
	for _, v := range []string{
		`{"f":[["eva@attacker.example"]]}`, `{"f":[{"eva@attacker.example":1}]}`, `{"f":[{"a":"eva@attacker.example"}]}`, `{"f":{"a":["eva@attacker.example"]}}`,
	} {
		if got := lookup(t, ledgerOf(t, shown{labels: "f: vouched", value: structured(t, v)}), eva).Origin; got != Untrusted {
			t.Errorf("%s: %v", v, got)
		}
	}
}
