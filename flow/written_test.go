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
