package lint

import (
	"slices"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

func TestAsk(t *testing.T) {
	schema, err := doc.Parse([]byte(`{
		"type": "object",
		"$defs": {"who": {"type": "object", "properties": {"email": {"type": "string"}, "kind": {"enum": ["a", "b"]}}}, "loop": {"$ref": "#/$defs/loop"}},
		"properties": {
			"s": {"type": "string"}, "n": {"type": ["integer", "null"]}, "e": {"enum": ["x", "y", 1]}, "c": {"const": true}, "any": {}, "yes": true, "no": false,
			"list": {"type": "array", "items": {"$ref": "#/$defs/who"}},
			"texts": {"type": "array", "items": {"type": "string"}},
			"tuple": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
			"free": {"type": "object"}, "map": {"type": "object", "additionalProperties": {"type": "number"}},
			"either": {"anyOf": [{"type": "string", "enum": ["p"]}, {"type": "integer"}]},
			"who": {"$ref": "#/$defs/who"}, "far": {"$ref": "https://x.example/schema"}, "loop": {"$ref": "#/$defs/loop"},
			"odd key": {"type": "boolean"}
		}
	}`), doc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for selector, want := range map[string]struct {
		known, found bool
		types        []string
		values       int
	}{
		"s":               {true, true, []string{"string"}, 0},
		"n":               {true, true, []string{"integer", "null"}, 0},
		"e":               {true, true, []string{"number", "string", "string"}, 3},
		"c":               {true, true, []string{"boolean"}, 1},
		"any":             {true, true, nil, 0},
		"yes":             {true, true, nil, 0},
		"no":              {true, false, nil, 0},
		"missing":         {true, false, nil, 0},
		"s.x":             {true, false, nil, 0},
		"s[0]":            {true, false, nil, 0},
		"texts[*]":        {true, true, []string{"string"}, 0},
		"texts[-1]":       {true, true, []string{"string"}, 0},
		"texts.x":         {true, false, nil, 0},
		"list[*].email":   {true, true, []string{"string"}, 0},
		"list[0].kind":    {true, true, []string{"string", "string"}, 2},
		"list[*].mail":    {true, false, nil, 0},
		"list.email":      {true, false, nil, 0},
		"tuple[0]":        {true, true, []string{"integer", "string"}, 0},
		"free.x":          {false, false, nil, 0},
		"free[*]":         {false, false, nil, 0},
		"map.x":           {true, true, []string{"number"}, 0},
		"map[*]":          {true, true, []string{"number"}, 0},
		"either":          {true, true, []string{"integer", "string"}, 0},
		"who.email":       {true, true, []string{"string"}, 0},
		"who[*]":          {true, true, []string{"string", "string", "string"}, 0},
		"far.x":           {false, false, nil, 0},
		"loop.x":          {false, false, nil, 0},
		`["odd key"]`:     {true, true, []string{"boolean"}, 0},
		"any.thing":       {false, false, nil, 0},
		"list[*].email.x": {true, false, nil, 0},
	} {
		sel, err := doc.ParseSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		a := ask(schema, sel.Steps())
		if a.known != want.known || a.found != want.found || a.found && (!slices.Equal(slices.Sorted(slices.Values(a.types)), want.types) || len(a.values) != want.values) {
			t.Errorf("%s: %+v, want %+v", selector, a, want)
		}
	}
	if a := ask(doc.Value{}, []doc.Step{{Name: "x"}}); a.known {
		t.Errorf("no schema says %+v", a)
	}
	for _, s := range []string{`{}`, `{"type": "object"}`, `true`, `{"type": "object", "properties": {}}`, `[]`} {
		v, err := doc.Parse([]byte(s), doc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if a := ask(v, []doc.Step{{Name: "x"}}); a.known {
			t.Errorf("%s says %+v", s, a)
		}
	}
	if got := argumentNames(schema); !slices.Contains(got, "odd key") || len(got) != 17 {
		t.Errorf("%q", got)
	}
}

// Several tools together say what any of them says.
func TestMergedAnswers(t *testing.T) {
	text, number := answer{known: true, found: true, types: []string{"string"}, values: []doc.Value{{}}}, answer{known: true, found: true, types: []string{"integer"}}
	var a answer
	a.merge(answer{known: true})
	if a.found {
		t.Error("found in nothing")
	}
	a.merge(text)
	if !a.found || len(a.values) != 1 || !slices.Equal(a.types, []string{"string"}) {
		t.Errorf("%+v", a)
	}
	a.merge(number)
	if a.values != nil || !slices.Equal(a.types, []string{"string", "integer"}) {
		t.Errorf("%+v", a)
	}
	a.merge(answer{known: true, found: true})
	if a.types != nil {
		t.Errorf("%+v", a)
	}
	a.merge(text)
	if a.types != nil || a.values != nil {
		t.Errorf("what is open was closed: %+v", a)
	}
}
