package doc

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var names = rapid.OneOf(
	rapid.SampledFrom([]string{"", "a", "b", "to", "0", "[0]", "a.b", "*", `"`, `\`, " ", "é", "\u200b", "\u2028", "😀", "\x00", "#1", strings.Repeat("long", 30)}),
	rapid.String(),
)

// values draws trees; names within an object differ.
func values(depth int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		kinds := 3
		if depth > 0 {
			kinds = 5
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return Value{kind: Null}
		case 1:
			return Value{kind: Bool, flag: rapid.Bool().Draw(t, "bool")}
		case 2:
			return Value{kind: Number, str: literals.Draw(t, "number")}
		case 3:
			return Value{kind: String, str: strings.ToValidUTF8(names.Draw(t, "text"), "?")}
		case 4:
			return listOf(rapid.SliceOfN(values(depth-1), 0, 5).Draw(t, "list"))
		default:
			keys := rapid.SliceOfNDistinct(names, 0, 20, func(s string) string { return s }).Draw(t, "names")
			members := make([]Member, len(keys))
			for i, k := range keys {
				members[i] = Member{Name: k, Value: values(depth-1).Draw(t, "member")}
			}
			return objectOf(members)
		}
	})
}

// shuffled is the same value with its members in another order.
func shuffled(t *rapid.T, v Value) Value {
	switch v.kind {
	case List:
		var list []Value
		for _, e := range v.Elements() {
			list = append(list, shuffled(t, e))
		}
		return listOf(list)
	case Object:
		var members []Member
		for m := range v.Members() {
			members = append(members, Member{m.Name, shuffled(t, m.Value)})
		}
		if len(members) > 1 {
			members = rapid.Permutation(members).Draw(t, "order")
		}
		return objectOf(members)
	default:
		return v
	}
}

func TestWriteThenParseIsEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(3).Draw(t, "v")
		text := v.AppendJSON(nil)
		back, err := Parse(text, Limits{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !Equal(v, back) || !Equal(back, v) {
			t.Fatalf("%s came back as %s", text, back.AppendJSON(nil))
		}
		if shared, err := ParseText(string(text), Limits{}); err != nil || !Equal(back, shared) {
			t.Fatalf("%s as text came back as %s, %v", text, shared.AppendJSON(nil), err)
		}
		if again := back.AppendJSON(nil); string(again) != string(text) {
			t.Fatalf("%s is written again as %s", text, again)
		}
		if other := shuffled(t, v); !Equal(v, other) {
			t.Fatalf("%s differs from %s", text, other.AppendJSON(nil))
		}
	})
}

// A change anywhere makes a value unequal.
func TestEqualSeesEveryChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := objectOf([]Member{{"root", values(3).Draw(t, "v")}})
		var places []string
		Walk(v, func(_ Value, isName bool, place func() string) bool {
			if !isName {
				places = append(places, place())
			}
			return true
		})
		if len(places) == 0 {
			return
		}
		target := rapid.SampledFrom(places).Draw(t, "place")
		changed := replaceAt(v, target, "", Value{kind: String, str: "quite another value"})
		if Equal(v, changed) || Equal(changed, v) {
			t.Fatalf("a change at %s of %s was not seen", target, v.AppendJSON(nil))
		}
	})
}

func replaceAt(v Value, target, here string, with Value) Value {
	if here == target && here != "" {
		return with
	}
	switch v.kind {
	case List:
		var list []Value
		for i, e := range v.Elements() {
			list = append(list, replaceAt(e, target, here+path{{v, i}}.String(), with))
		}
		return listOf(list)
	case Object:
		var members []Member
		for m := range v.Members() {
			hop := path{{v, len(members)}}.String()
			if here != "" && !strings.HasPrefix(hop, "[") {
				hop = "." + hop
			}
			members = append(members, Member{m.Name, replaceAt(m.Value, target, here+hop, with)})
		}
		return objectOf(members)
	default:
		return v
	}
}

// Every place is a selector that finds exactly the value that stands there.
func TestPlacesAreSelectors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := values(3).Draw(t, "root")
		seen := map[string]bool{}
		check := func(place string, want Value) {
			sel, err := ParseSelector(place)
			if err != nil {
				t.Fatalf("place %q in %s: %v", place, root.AppendJSON(nil), err)
			}
			found, more := sel.Select(root, 0)
			if len(found) != 1 || more || !Equal(found[0].Value, want) || found[0].Place != place {
				t.Fatalf("place %q in %s finds %v", place, root.AppendJSON(nil), found)
			}
		}
		Walk(root, func(v Value, isName bool, place func() string) bool {
			if !isName {
				p := place()
				if seen[p] {
					t.Fatalf("two values at %q", p)
				}
				seen[p] = true
				check(p, v)
			}
			return true
		})
		for _, path := range []string{"[*]", "[*][*]", "[*].a", "[0]", "[-1][*]", "[#1]"} {
			sel, _ := ParseSelector(path)
			found, _ := sel.Select(root, 0)
			for _, m := range found {
				check(m.Place, m.Value)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0,1E400,"\u00e9\ud83d\ude00",null,true]}`, ` [ ] `, `{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, `[[[`, `1 2`, `{"":{"":""}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := string(data)
		v, err := Parse(data, Limits{Depth: 50, Nodes: 10_000})
		if string(data) != before {
			t.Fatal("the input was changed")
		}
		if err != nil {
			var pe *ParseError
			if !errors.As(err, &pe) || pe.Offset < 0 || pe.Offset > int64(len(data)) {
				t.Fatalf("error %v", err)
			}
			return
		}
		text := v.AppendJSON(nil)
		back, err := Parse(text, Limits{Depth: 50, Nodes: 10_000})
		if err != nil || !Equal(v, back) {
			t.Fatalf("%q came back as %q (%v)", text, back.AppendJSON(nil), err)
		}
		Walk(v, func(s Value, isName bool, place func() string) bool {
			sel, err := ParseSelector(place())
			if err != nil {
				t.Fatalf("place %q: %v", place(), err)
			}
			if found, _ := sel.Select(v, 0); len(found) != 1 || !isName && !Equal(found[0].Value, s) {
				t.Fatalf("place %q finds %d", place(), len(found))
			}
			return true
		})
	})
}

func FuzzParseSelector(f *testing.F) {
	for _, s := range []string{``, `a.b`, `items[0][-1][*][#3].id`, `["odd \" key"].x`, `a..b`, `.a`, `a[`, `["\u0061"]`} {
		f.Add(s)
	}
	root, err := Parse([]byte(sample), Limits{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sel, err := ParseSelector(s)
		if err != nil {
			var se *SelectorError
			if !errors.As(err, &se) || se.Offset < 0 || se.Offset > len(s) {
				t.Fatalf("error %v", err)
			}
			return
		}
		again, err := ParseSelector(sel.String())
		if err != nil || again.String() != sel.String() {
			t.Fatalf("%q has the form %q, which reads as %q (%v)", s, sel, again, err)
		}
		a, moreA := sel.Select(root, 100)
		b, moreB := again.Select(root, 100)
		if len(a) != len(b) || moreA != moreB {
			t.Fatalf("%q finds %d, its form %q finds %d", s, len(a), sel, len(b))
		}
		for i := range a {
			if a[i].Place != b[i].Place {
				t.Fatalf("%q and %q differ at %d", s, sel, i)
			}
		}
	})
}
