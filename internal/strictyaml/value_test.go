package strictyaml

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValue(t *testing.T) {
	in := `a: [1, -0.5, 9007199254740993, 1e6, true, ~, "1", x, {b: [c]}, []]`
	var p Problems
	got, ok := value(t, in).Value(&p)
	want := []any{
		json.Number("1"), json.Number("-0.5"), json.Number("9007199254740993"), json.Number("1e6"), true, nil, "1", "x",
		map[string]any{"b": []any{"c"}},
		[]any{},
	}
	if diff := cmp.Diff(any(want), got); diff != "" || !ok || !p.Empty() {
		t.Errorf("%v, %v\n%s", ok, p.Err(), diff)
	}
}

func TestValueRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"a: 0x1F":           "f.yaml:1:4: write the number '0x1F' in plain decimal digits, such as 10, -0.5 or 1e6; if text is meant, put it in quotes",
		"a: [[010]]":        "f.yaml:1:6: write the number '010' in plain decimal digits, such as 10, -0.5 or 1e6; if text is meant, put it in quotes",
		"a: .inf":           "f.yaml:1:4: write the number '.inf' in plain decimal digits, such as 10, -0.5 or 1e6; if text is meant, put it in quotes",
		"a: {b: on}":        "f.yaml:1:8: on can be read as true or false; if the text is meant, put it in quotes",
		"a: [on, .nan, no]": "f.yaml:1:5: on can be read as true or false; if the text is meant, put it in quotes\nf.yaml:1:9: write the number '.nan' in plain decimal digits, such as 10, -0.5 or 1e6; if text is meant, put it in quotes\nf.yaml:1:15: no can be read as true or false; if the text is meant, put it in quotes",
	} {
		var p Problems
		if _, ok := value(t, in).Value(&p); ok {
			t.Errorf("%q was read", in)
		}
		if err := p.Err(); err == nil || err.Error() != want {
			t.Errorf("%q: got  %v\nwant %s", in, err, want)
		}
	}
}
