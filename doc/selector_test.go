package doc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const sample = `{
 "a":{"b":1,"odd key":{"x":2},"":3},
 "items":[{"id":"p","tags":["t","u"]},{"id":"q"},{"no":0}],
 "m":{"k1":{"id":7},"k2":{"id":8}},
 "0":"zero","n":null}`

func TestSelect(t *testing.T) {
	root := mustParse(t, sample)
	for path, want := range map[string]string{
		`a.b`:              `a.b=1`,
		`a["b"]`:           `a.b=1`,
		`a["odd key"].x`:   `a["odd key"].x=2`,
		`["a"][""]`:        `a[""]=3`,
		`0`:                `0="zero"`,
		`n`:                `n=null`,
		`items[0].id`:      `items[0].id="p"`,
		`items[-1].no`:     `items[2].no=0`,
		`items[*].id`:      `items[0].id="p" items[1].id="q"`,
		`items[*].tags[*]`: `items[0].tags[0]="t" items[0].tags[1]="u"`,
		`m[*].id`:          `m.k1.id=7 m.k2.id=8`,
		`m[#1].id`:         `m.k2.id=8`,
		`items[#0].id`:     `items[0].id="p"`,
		`items[3]`:         ``,
		`items[-4]`:        ``,
		`items.id`:         ``,
		`a[0]`:             ``,
		`a.B`:              ``,
		`m[#2]`:            ``,
		`n[*]`:             ``,
		`a.b.c`:            ``,
		`a.b[*]`:           ``,
		`["a.b"]`:          ``,
	} {
		sel, err := ParseSelector(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		found, more := sel.Select(root, 0)
		var got []string
		for _, m := range found {
			got = append(got, m.Place+"="+string(m.Value.AppendJSON(nil)))
		}
		if s := strings.Join(got, " "); s != want || more {
			t.Errorf("%s: got %s (more %v), want %s", path, s, more, want)
		}
	}
}

func TestSelectWhole(t *testing.T) {
	for _, sel := range []Selector{{}, func() Selector { s, _ := ParseSelector(""); return s }()} {
		found, more := sel.Select(mustParse(t, `[1]`), 0)
		if len(found) != 1 || more || found[0].Place != "" || found[0].Value.Len() != 1 {
			t.Errorf("the empty path found %v", found)
		}
		if found, _ := sel.Select(Value{}, 0); len(found) != 0 {
			t.Error("the empty path found an absent value")
		}
	}
}

func TestSelectIsBounded(t *testing.T) {
	root := mustParse(t, `[[1,2,3],[4,5,6]]`)
	sel, _ := ParseSelector(`[*][*]`)
	for limit, want := range map[int]struct {
		n    int
		more bool
	}{1: {1, true}, 5: {5, true}, 6: {6, false}, 7: {6, false}, 0: {6, false}, -1: {6, false}} {
		found, more := sel.Select(root, limit)
		if len(found) != want.n || more != want.more {
			t.Errorf("limit %d: %d found, more %v", limit, len(found), more)
		}
	}
	big := mustParse(t, "["+strings.Repeat("0,", DefaultMatches)+"0]")
	all, _ := ParseSelector(`[*]`)
	if found, more := all.Select(big, 0); len(found) != DefaultMatches || !more {
		t.Errorf("default limit: %d found, more %v", len(found), more)
	}
}

// A member name as long as the document must not be repeated in every place below it.
func TestPlacesStayShort(t *testing.T) {
	long := strings.Repeat("k", 1<<20)
	root := mustParse(t, `{"first":0,"`+long+`":[`+strings.Repeat("1,", 5000)+`1]}`)
	sel, _ := ParseSelector(`[*][*]`)
	found, _ := sel.Select(root, 0)
	if len(found) != 5001 {
		t.Fatalf("%d found", len(found))
	}
	if got := found[17].Place; got != "[#1][17]" {
		t.Errorf("place %.80q", got)
	}
	direct, err := ParseSelector(long + "[17]")
	if err != nil {
		t.Fatal(err)
	}
	if found, _ := direct.Select(root, 0); len(found) != 1 || found[0].Place != "[#1][17]" {
		t.Errorf("a long name in a selector finds %d", len(found))
	}
}

func TestSelectorErrors(t *testing.T) {
	for path, offset := range map[string]int{
		`.a`: 0, `a..b`: 2, `a.`: 2, `.`: 0, `a b`: 1, ` a`: 0, `a.*`: 2, `*`: 0, `a[`: 2, `a[]`: 2, `a[x]`: 2,
		`a[00]`: 2, `a[-0]`: 2, `a[01]`: 2, `a[-]`: 2, `a[+1]`: 2, `a[1`: 3, `a[1.0]`: 3, `a[9999999999]`: 2, `a[#-1]`: 3, `a[#]`: 3,
		`a]`: 1, `a["x`: 2, `a["x"`: 5, `a["\x"]`: 2, `a["x\"]`: 2, `a["x".b]`: 5, `a['x']`: 2, `a[0]b`: 4, `a[0].[1]`: 5, `a.["x"]`: 2,
		"a\x00": 1, "a\u200b": 1, "a\u202e": 1, "a\xff": 0, `a[* ]`: 3, `"a"`: 0, `a\b`: 1, `a["\ud800"]`: 2,
	} {
		_, err := ParseSelector(path)
		var se *SelectorError
		if !errors.As(err, &se) {
			t.Errorf("%q was accepted", path)
			continue
		}
		if se.Offset != offset || se.Want == "" {
			t.Errorf("%q: error at byte %d (%s), want byte %d", path, se.Offset, se.Want, offset)
		}
	}
}

func TestSelectorString(t *testing.T) {
	for in, want := range map[string]string{
		``: ``, `a.b[0][-1][*][#2]`: `a.b[0][-1][*][#2]`, `["a"]["b"]`: `a.b`, `["a b"]`: `["a b"]`, `[""]`: `[""]`,
		`["\u00e9"]`: `é`, `x-y_z$.@q/r`: `x-y_z$.@q/r`, `["\u200b"]`: "[\"\u200b\"]", `[0].a`: `[0].a`,
	} {
		sel, err := ParseSelector(in)
		if err != nil || sel.String() != want {
			t.Errorf("%s: got %s, %v; want %s", in, sel, err, want)
		}
	}
}

func TestWalk(t *testing.T) {
	root := mustParse(t, `{"a":[1,"s",null,{"b":true}],"":{},"c d":[[]],"e":"f"}`)
	var got []string
	Walk(root, func(v Value, isName bool, place func() string) bool {
		s := fmt.Sprintf("%s=%s", place(), v.AppendJSON(nil))
		if isName {
			s = "name " + s
		}
		got = append(got, s)
		return true
	})
	want := []string{
		`name a="a"`, `a[0]=1`, `a[1]="s"`, `name a[3].b="b"`, `a[3].b=true`,
		`name [""]=""`, `name ["c d"]="c d"`, `name e="e"`, `e="f"`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for stop := 1; stop <= len(want); stop++ {
		calls := 0
		Walk(root, func(Value, bool, func() string) bool { calls++; return calls < stop })
		if calls != stop {
			t.Errorf("asked to stop after %d, visited %d", stop, calls)
		}
	}
	Walk(Value{}, func(Value, bool, func() string) bool { t.Error("visited an absent value"); return true })
}

func BenchmarkSelect(b *testing.B) {
	root := mustParse(b, `{"to":["a@x.example","b@x.example"],"subject":"s","body":"text"}`)
	for _, path := range []string{"to", "to[*]"} {
		sel, err := ParseSelector(path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if found, _ := sel.Select(root, 0); len(found) == 0 {
					b.Fatal("nothing found")
				}
			}
		})
	}
}

func BenchmarkWalk(b *testing.B) {
	root := mustParse(b, `{"rows":[`+strings.Repeat(`{"id":1,"name":"n","email":"e@x.example"},`, 999)+`{}]}`)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		Walk(root, func(Value, bool, func() string) bool { n++; return true })
		if n != 1+999*6 {
			b.Fatal(n)
		}
	}
}

func TestBlockedFindsTextOnTheWay(t *testing.T) {
	root, err := Parse([]byte(`{"a":"x","b":[{"c":"y"},"z",{"c":{"d":1}}],"e":7}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"a": "", "a.b": "a", "b[*].c": "b[1]", "b[*].c.d": "b[0].c b[1]", "e.f": "", "q.r": "", "b[*]": "", "[*].x": "a",
	} {
		s, err := ParseSelector(path)
		if err != nil {
			t.Fatal(err)
		}
		found, more := s.Blocked(root, 0)
		var got []string
		for _, m := range found {
			got = append(got, m.Place)
		}
		if strings.Join(got, " ") != want || more {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]string{
		"a": "", "a.b": "a", "b[*].c": "b[1]", "b[*].c.d": "b[0].c b[1]", "e.f": "e", "q.r": "", "q": "", "b[*]": "", "b[9]": "b", "b[*][*]": "b[1]", "[*].x": "a b e",
	} {
		s, err := ParseSelector(path)
		if err != nil {
			t.Fatal(err)
		}
		found, _ := s.Gaps(root, 0)
		var got []string
		for _, m := range found {
			got = append(got, m.Place)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("gaps of %s: %q, want %q", path, got, want)
		}
	}
	s, _ := ParseSelector("[*].x")
	list, _ := Parse([]byte(`["a","b","c"]`), Limits{})
	if found, more := s.Blocked(list, 2); len(found) != 2 || !more {
		t.Errorf("%d found, more %v", len(found), more)
	}
}
