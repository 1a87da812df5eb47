package contract

import (
	"testing"

	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

func TestOutputLabels(t *testing.T) {
	for text, want := range map[string][]string{
		"t: {output: inside}":                                 {" inside"},
		"t: {output: {from: party}}":                          {"from party"},
		"t: {output: {\"a[*].b\": vouched, '[0]': secret}}":   {"a[*].b vouched", "[0] secret"},
		"t: {output: {a: outside, a.b: id, '[\"x y\"]': id}}": {"a outside", "a.b id", `["x y"] id`},
		"t: {exfiltrating: false}":                            nil,
	} {
		var p strictyaml.Problems
		all := Parse(strictyaml.Parse("c.yaml", []byte(text), nil, &p), &p, Options{})
		if err := p.Err(); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, l := range all[0].Output {
			got = append(got, l.Path.String()+" "+l.Label.String())
		}
		if len(got) != len(want) {
			t.Errorf("%s: %q", text, got)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s: %q, want %q", text, got, want)
			}
		}
	}
}

func TestTypedParams(t *testing.T) {
	var p strictyaml.Problems
	all := Parse(strictyaml.Parse("c.yaml", []byte("t: {exfiltrating: false, typed_params: [password, 'items[*].name']}"), nil, &p), &p, Options{})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	if c := all[0]; len(c.TypedParams) != 2 || c.TypedParams[1].String() != "items[*].name" || !c.FlowOff() {
		t.Errorf("%+v", c)
	}
}

// Without its definition, or beside another, a contract keeps what is strict alone.
func TestGrantsGo(t *testing.T) {
	c := &Contract{Output: []flow.FieldLabel{{Label: flow.LabelVouched}, {Label: flow.LabelSecret}, {Label: flow.LabelID}, {Label: flow.LabelOutside}, {Label: flow.LabelInside}, {Label: flow.LabelParty}}}
	for _, w := range []*Contract{c.withoutGrants(), c.widened(&Contract{}), c.widened(&Contract{Exfiltrating: true})} {
		if len(w.Output) != 2 || w.Output[0].Label != flow.LabelSecret || w.Output[1].Label != flow.LabelOutside {
			t.Errorf("%+v", w.Output)
		}
	}
	if len(c.Output) != 6 {
		t.Error("the contract itself was changed")
	}
}
