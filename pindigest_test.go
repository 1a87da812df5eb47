package sallyport_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
)

// drawSchema draws a schema as Go values; inAnyOrder writes it in one of the orders that
// mean the same.
func drawSchema(t *rapid.T, depth int) map[string]any {
	s := map[string]any{}
	words := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "to", "required", "enum", "", "é"}), 0, 4, rapid.ID[string])
	list := func() []any {
		var all []any
		for _, w := range words.Draw(t, "words") {
			all = append(all, w)
		}
		return append(all, rapid.SliceOfN(rapid.Just(any(nil)), 0, 1).Draw(t, "null")...)
	}
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		"required", "enum", "type", "anyOf", "oneOf", "allOf", "properties", "$defs", "items", "default",
		"additionalProperties", "dependentRequired", "dependencies", "description", "not",
	}), 0, 6, rapid.ID[string]).Draw(t, "keywords") {
		switch k {
		case "required", "enum", "type", "default":
			s[k] = list()
		case "description":
			s[k] = rapid.String().Draw(t, "text")
		case "dependentRequired":
			s[k] = map[string]any{"a": list(), "b": list()}
		default:
			if depth == 0 {
				continue
			}
			switch k {
			case "anyOf", "oneOf", "allOf":
				var all []any
				for range rapid.IntRange(0, 3).Draw(t, "forms") {
					all = append(all, drawSchema(t, depth-1))
				}
				s[k] = all
			case "properties", "$defs":
				all := map[string]any{}
				for _, w := range words.Draw(t, "properties") {
					all[w] = drawSchema(t, depth-1)
				}
				s[k] = all
			case "dependencies":
				s[k] = map[string]any{"a": list(), "b": drawSchema(t, depth-1)}
			default:
				s[k] = drawSchema(t, depth-1)
			}
		}
	}
	return s
}

func inAnyOrder(t *rapid.T, key string, v any) string {
	switch v := v.(type) {
	case map[string]any:
		var members []string
		for k, e := range v {
			members = append(members, fmt.Sprintf("%q:%s", k, inAnyOrder(t, k, e)))
		}
		if len(members) > 1 {
			members = rapid.Permutation(slices.Sorted(slices.Values(members))).Draw(t, "members")
		}
		return "{" + strings.Join(members, ",") + "}"
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, inAnyOrder(t, "", e))
		}
		if len(all) > 1 && key != "default" {
			all = rapid.Permutation(all).Draw(t, "elements")
		}
		return "[" + strings.Join(all, ",") + "]"
	default:
		g, err := doc.FromGo(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(g.AppendJSON(nil))
	}
}

// An order that means nothing never changes a digest, at any depth.
func TestReorderingNeverChangesADigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := map[string]any{
			"name": "x", "description": "d", "inputSchema": drawSchema(t, 3), "outputSchema": drawSchema(t, 1),
			"annotations": map[string]any{"readOnlyHint": true, "title": "x"},
		}
		parse := func(s string) sallyport.PinDigest {
			v, err := doc.Parse([]byte(s), doc.Limits{})
			if err != nil {
				t.Fatalf("%v: %s", err, s)
			}
			return sallyport.DigestDefinition(v)
		}
		a, b := inAnyOrder(t, "", def), inAnyOrder(t, "", def)
		if parse(a) != parse(b) {
			t.Fatalf("another digest\n%s\n%s", a, b)
		}
	})
}

// Everything else does.
func TestWhatChangesADigest(t *testing.T) {
	for _, tt := range [][2]string{
		{`{"inputSchema":{"default":[1,2]}}`, `{"inputSchema":{"default":[2,1]}}`},
		{`{"inputSchema":{"const":[1,2]}}`, `{"inputSchema":{"const":[2,1]}}`},
		{`{"inputSchema":{"examples":[1,2]}}`, `{"inputSchema":{"examples":[2,1]}}`},
		{`{"inputSchema":{"enum":[[1,2]]}}`, `{"inputSchema":{"enum":[[2,1]]}}`},
		{`{"inputSchema":{"prefixItems":[{},true]}}`, `{"inputSchema":{"prefixItems":[true,{}]}}`},
		{`{"inputSchema":{"items":[{},true]}}`, `{"inputSchema":{"items":[true,{}]}}`},
		{`{"inputSchema":{"default":{"required":[1,2]}}}`, `{"inputSchema":{"default":{"required":[2,1]}}}`},
		{`{"inputSchema":{"enum":[1]}}`, `{"inputSchema":{"enum":[1,1]}}`},
		{`{"inputSchema":{"enum":["1"]}}`, `{"inputSchema":{"enum":[1]}}`},
		{`{"inputSchema":{"enum":[]}}`, `{"inputSchema":{"enum":{}}}`},
		{`{"inputSchema":{"type":"string"}}`, `{"inputSchema":{"type":["string"]}}`},
		{`{"inputSchema":{"required":["a"]}}`, `{"inputSchema":{"required":["a","b"]}}`},
		{`{"inputSchema":{"anyOf":[{"a":1},{"b":2}]}}`, `{"inputSchema":{"anyOf":[{"a":2},{"b":1}]}}`},
		{`{"inputSchema":{"anyOf":[]}}`, `{"inputSchema":{"oneOf":[]}}`},
		{`{"required":["a","b"]}`, `{"required":["b","a"]}`},
		{`{"_meta":{"enum":[1,2]}}`, `{"_meta":{"enum":[2,1]}}`},
		{`{"icons":[1,2]}`, `{"icons":[2,1]}`},
		{`{"description":"a"}`, `{"description":"a "}`},
		{`{"description":"a"}`, `{"title":"a"}`},
		{`{"a":"b"}`, `{"a":["b"]}`},
		{`{"a":null}`, `{}`},
		{`{"a":{},"b":1}`, `{"a":{"b":1}}`},
		{`[]`, `{}`},
		{`"a"`, `["a"]`},
	} {
		if sallyport.DigestDefinition(value(t, tt[0])) == sallyport.DigestDefinition(value(t, tt[1])) {
			t.Errorf("%s and %s have one digest", tt[0], tt[1])
		}
	}
}

// A definition that is nested as deeply as a message may be is not copied at every level.
func TestDigestOfDeepDefinition(t *testing.T) {
	const depth, size = 240, 4 << 20
	v := value(t, `{"inputSchema":`+strings.Repeat(`{"anyOf":[`, depth)+`"`+strings.Repeat("x", size)+`"`+strings.Repeat(`]}`, depth)+`}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	sallyport.DigestDefinition(v)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 20*size {
		t.Errorf("%d bytes were allocated for %d", used, size)
	}
}
