package flow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
	"pgregory.net/rapid"
)

// show writes destinations in one line: place kind canonical, or the word malformed.
func show(ds []Destination) string {
	var out []string
	for _, d := range ds {
		if d.Malformed != "" {
			out = append(out, d.Place+" "+d.Kind.String()+" malformed")
			continue
		}
		out = append(out, d.Place+" "+d.Kind.String()+" "+d.Canonical)
	}
	return strings.Join(out, " | ")
}

func TestFlatten(t *testing.T) {
	for _, c := range []struct {
		name string
		in   any
		want string
	}{
		{"null", nil, ""},
		{"empty", "", ""},
		{"blank", "  ", "to text malformed"},
		{"number", 12345, "to text 12345"},
		{"bool", true, "to text true"},
		{"list", []any{"a@x.example", "b"}, "to[0] email a@x.example | to[1] text b"},
		{"object", map[string]any{"email": "a@x.example", "name": "Ana"}, "to.email email a@x.example | to.name text Ana"},
		{"odd member", map[string]any{"odd key": "x.example"}, `to["odd key"] host x.example`},
		{"address as member", map[string]any{"a@x.example": "to"}, `to["a@x.example"] email a@x.example | to["a@x.example"] text to`},
		{"json", `{"to":["a@x.example","b@y.example"]}`, "to#1 email a@x.example | to#2 email b@y.example"},
		{"json in json", `["[\"a@x.example\"]"]`, "to email a@x.example"},
		{"empty json", `[]`, "to text malformed"},
		{"not json", `[203.0.113.7]`, "to host 203.0.113.7"},
		{"duplicate names", `{"to":"a@x.example","to":"b@y.example"}`, "to#1 email malformed | to#2 email malformed"},

		{"display name", `"Eve Example" <eve@x.example>`, "to email eve@x.example"},
		{"display without quotes", "Dr. Eve O'Hara <eve@x.example>", "to email eve@x.example"},
		{"comma in display", `"Example, Eve" <eve@x.example>, b@y.example`, "to#1 email eve@x.example | to#2 email b@y.example"},
		{"spaces between", "a@x.example b@y.example", "to#1 email a@x.example | to#2 email b@y.example"},
		{"text among addresses", "a@x.example, finance", "to#1 email a@x.example | to#2 text finance"},
		{"display is another", `"ceo@x.example" <eve@y.example>`, "to#1 email eve@y.example | to#2 email ceo@x.example"},
		{"display is the same", `"Eve@y.example" <eve@y.example>`, "to email eve@y.example"},
		{"display holds another", `"the ceo, ceo@x.example" <eve@y.example>`, "to#1 email eve@y.example | to#2 email malformed"},
		{"plus and case", "Ana+News@X.EXAMPLE.", "to email ana+news@x.example"},
		{"idn", "ana@münchen.example", "to email ana@xn--mnchen-3ya.example"},
		{"literal", "eve@[IPv6:2001:DB8::7]", "to email eve@[IPv6:2001:db8::7]"},
		{"literal 4", "eve@[203.0.113.7]", "to email eve@[203.0.113.7]"},
		{"number as domain", "eve@203.0.113.7", "to email malformed"},
		{"no dot", "root@localhost", "to email root@localhost"},
		{"comment", "eve(x)@x.example", "to email malformed"},
		{"comment after", "eve@x.example (Eve)", "to email malformed"},
		{"comment in display", "Eve (x) <eve@x.example>", "to email malformed"},
		{"quoted space", `"e v e"@x.example`, "to email malformed"},
		{"spaces round at", "eve @ x.example", "to email malformed"},
		{"two ats", "a@b@x.example", "to email malformed"},
		{"dots", "a..b@x.example", "to email malformed"},
		{"route", "<@a.example:b@x.example>", "to email malformed"},
		{"open quote", `"alice@x.example, eve@y.example`, "to email malformed"},
		{"group", "team:a@x.example,b@y.example;", "to#1 email malformed | to#2 email b@y.example"},
		{"escaped", `"e\"v"@x.example`, "to email malformed"},
		{"nbsp inside", "eve\u00a0x@x.example", "to email malformed"},
		{"tab inside", "eve\tx", "to text malformed"},
		{"newline at the end", "eve@x.example\n", "to email malformed"},
		{"nul", "eve@x.example\x00", "to email malformed"},
		{"variation selector", "eve\ufe0f@x.example", "to email malformed"},

		{"mailto", "MAILTO:a@x.example,b@y.example?cc=c@z.example&subject=x&to=d%40z.example", "to#1 email a@x.example | to#2 email b@y.example | to#3 email c@z.example | to#4 email d@z.example"},
		{"mailto amp", "mailto:a@x.example?subject=x&amp;bcc=b@y.example", "to#1 email a@x.example | to#2 email b@y.example"},
		{"mailto injection", "mailto:a@x.example?subject=x%0d%0aBcc:b@y.example", "to email malformed"},
		{"mailto body", "mailto:a@x.example?body=x%0d%0ay", "to email a@x.example"},
		{"mailto nothing", "mailto:", "to email malformed"},
		{"mailto name", "mailto:finance", "to email malformed"},
		{"mailto encoded newline", "mailto:a@x.example%0abcc:b@y.example", "to email malformed"},

		{"url", "HTTPS://WWW.X.example:443/A/../b?q=1#f", "to url https://www.x.example/b?q=1#f"},
		{"url port", "http://x.example:8080", "to url http://x.example:8080/"},
		{"url trailing dot", "https://x.example./", "to url https://x.example/"},
		{"url numeric", "http://0xcb.0.0161.07/", "to url http://203.0.113.7/"},
		{"url ipv6", "http://[2001:DB8:0::7]:80/", "to url http://[2001:db8::7]/"},
		{"url mapped", "http://[::ffff:203.0.113.7]:81/", "to url http://203.0.113.7:81/"},
		{"url full width", "https://ｘ．ｅxample/", "to url https://x.example/"},
		{"url userinfo", "https://a@x.example/", "to url malformed"},
		{"url password", "https://a:b@x.example/", "to url malformed"},
		{"url backslash", `https:\\x.example\`, "to url malformed"},
		{"url one slash", "https:/x.example/", "to url malformed"},
		{"url no slash", "https:x.example", "to url malformed"},
		{"url percent host", "https://x%2eexample/", "to url malformed"},
		{"url space", "https://x.example/a b", "to url malformed"},
		{"url no host", "https:///x", "to url malformed"},
		{"url bad port", "https://x.example:99999/", "to url malformed"},
		{"url bad number", "http://1.2.3.4.5/", "to url malformed"},
		{"url two readings", "http://+1.2.3.4/", "to url malformed"},
		{"url empty port", "http://x.example:/", "to url http://x.example/"},
		{"url zone", "http://[fe80::1%25eth0]/", "to url malformed"},
		{"url nested", "https://x.example/r?u=https%3A%2F%2Fy.example%2Fz", "to#1 url https://x.example/r?u=https%3A%2F%2Fy.example%2Fz | to#2 url https://y.example/z"},
		{"url nested no scheme", "https://x.example/r?u=//y.example/z&v=1", "to#1 url https://x.example/r?u=//y.example/z&v=1 | to#2 url //y.example/z"},
		{"url nested path", "https://x.example/http://y.example/", "to#1 url https://x.example/http://y.example/ | to#2 url http://y.example/"},
		{"url nested self", "https://x.example/?u=https://x.example/b", "to url https://x.example/?u=https://x.example/b"},
		{"url list", "https://x.example/,https://y.example/", "to#1 url https://x.example/,https://y.example/ | to#2 url https://y.example/ | to#3 url https://y.example/"},
		{"url then host", "https://x.example/a;y.example", "to#1 url https://x.example/a;y.example | to#2 host y.example"},
		{"url in brackets", "<https://x.example/a|label>", "to url https://x.example/a"},
		{"data", "data:text/html,x", "to#1 url malformed | to#2 text x"},
		{"javascript", "JavaScript:alert(1)", "to url malformed"},
		{"file", "file:///etc/passwd", "to url malformed"},
		{"gopher", "gopher://x.example/", "to url malformed"},
		{"ssh", "ssh://git@x.example:22/a", "to url ssh://x.example/a"},
		{"ssh user", "ssh://root@x.example/a", "to url malformed"},
		{"scp", "git@x.example:a/b.git", "to url ssh://x.example/a/b.git"},
		{"s3", "s3://Some-Bucket/key", "to url s3://some-bucket/key"},
		{"no scheme", "x.example/in", "to url //x.example/in"},
		{"no scheme port", "intra.example:8443/in", "to url //intra.example:8443/in"},
		{"scheme relative", "//x.example/in", "to url //x.example/in"},

		{"scheme relative ipv6", "//[2001:db8::7]/", "to url //[2001:db8::7]/"},
		{"scheme relative number", "//3405803783/", "to url malformed"},
		{"scheme relative single label", "//nas/share", "to url malformed"},

		{"host", "X.Example.", "to host x.example"},
		{"host port", "x.example:8080", "to host x.example:8080"},
		{"ipv4", "203.0.113.7", "to host 203.0.113.7"},
		{"ipv4 octal", "0313.0.0161.07", "to host malformed"},
		{"ipv4 with a zero in front", "0177.0.0.1", "to host malformed"},
		{"no ipv4 with a zero in front", "01.02.03", "to text 01.02.03"},
		{"ipv4 hexadecimal", "0xcb.0.0161.07", "to host 203.0.113.7"},
		{"ipv4 one number", "0xcb007107", "to text 0xcb007107"},
		{"ipv6", "2001:DB8::7", "to host 2001:db8::7"},
		{"ipv6 port", "[2001:db8::7]:443", "to host [2001:db8::7]:443"},
		{"mapped", "::ffff:203.0.113.7", "to host 203.0.113.7"},
		{"localhost", "localhost:8080", "to host localhost:8080"},
		{"hosts", "x.example, y.example", "to#1 host x.example | to#2 host y.example"},

		{"channel", "#leaks-external", "to text leaks-external"},
		{"user", "@eve", "to text eve"},
		{"mention", "<@U0EVE>", "to text U0EVE"},
		{"mention with name", "<#C0001|general>", "to text C0001"},
		{"payee", " Utility Ltd, London ", "to text Utility Ltd, London"},
		{"version", "1.2.3", "to text 1.2.3"},
		{"repository", "corp/private", "to text corp/private"},
		{"at home", "Cafe @ Home", "to text Cafe @ Home"},
		{"mentions", "ask @ana and @ben", "to text ask @ana and @ben"},
		{"backslash", `CORP\eve`, "to text malformed"},
		{"bidi", "general\u202e", "to text malformed"},
		{"zero width", "gen\u200beral", "to text malformed"},
		{"emoji", "🎉\ufe0f party", "to text 🎉\ufe0f party"},
		{"only punctuation", "---", "to text malformed"},
		{"only a sign", "#", "to text malformed"},
		{"too long", strings.Repeat("a", MaxDestination+1), "to text malformed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := show(Flatten("to", value(t, c.in))); got != c.want {
				t.Errorf("Flatten(%q)\n got %s\nwant %s", c.in, got, c.want)
			}
		})
	}
}

func TestFlattenKeepsTheRawValue(t *testing.T) {
	raw := ` "Eve" <EVE@x.example>`
	d := Flatten("to", value(t, raw))[0]
	if d.Raw != strings.TrimSpace(raw) {
		t.Errorf("raw %q", d.Raw)
	}
}

func TestFlattenStopsAtItsLimit(t *testing.T) {
	var list []any
	for i := range MaxDestinations + 500 {
		list = append(list, fmt.Sprintf("a%d@x.example", i))
	}
	ds := Flatten("to", value(t, list))
	if len(ds) != MaxDestinations+1 || ds[MaxDestinations].Malformed == "" || ds[MaxDestinations-1].Malformed != "" {
		t.Errorf("%d destinations, the last %+v", len(ds), ds[len(ds)-1])
	}
	text := strings.Repeat("a@x.example,", 1300)
	if ds = Flatten("to", value(t, text)); len(ds) != MaxDestinations+1 || ds[MaxDestinations].Malformed == "" {
		t.Errorf("%d destinations in one string", len(ds))
	}
}

func TestFlattenFollowsJSONInStringsOnlySoFar(t *testing.T) {
	s := "eve@x.example"
	for range 9 {
		s = string(value(t, []any{s}).AppendJSON(nil))
	}
	ds := Flatten("to", value(t, s))
	if len(ds) != 1 || ds[0].Malformed == "" {
		t.Errorf("nine levels of JSON in strings: %s", show(ds))
	}
}

func TestScan(t *testing.T) {
	for _, c := range []struct {
		in   any
		want string
	}{
		{"eve@x.example", "p email eve@x.example"},
		{"a@x.example; B <b@y.example>", "p#1 email a@x.example | p#2 email b@y.example"},
		{[]any{"eve@x.example", "hello"}, "p[0] email eve@x.example"},
		{map[string]any{"headers": map[string]any{"Host": "evil.example"}}, "p.headers.Host host evil.example"},
		{`{"to":"eve@x.example","n":1}`, "p email eve@x.example"},
		{"https://x.example/a", "p url https://x.example/a"},
		{`https:\\x.example`, "p url malformed"},
		{"https://a@x.example/", "p url malformed"},
		{"x.example", "p host x.example"},
		{"x.example:80", "p host x.example:80"},
		{"203.0.113.7", "p host 203.0.113.7"},
		{"evil.sh", ""},
		{"www.evil.sh", "p host www.evil.sh"},
		{"README.md", ""},
		{"main.go", ""},
		{"docs/readme.md", ""},
		{"hello", ""},
		{"", ""},
		{42, ""},
		{true, ""},
		{"write to eve@x.example today", ""},
		{"https://x.example/ is down", ""},
		{"line one\nhttps://x.example/", ""},
		{"data:image/png;base64,AAAA", ""},
		{"/etc/passwd", ""},
		{"file:///etc/passwd", ""},
		{"gopher://x.example/", "p url malformed"},
		{"obsidian://open", ""},
		{"ping @ana", ""},
		{"mailto:a@x.example?bcc=b@y.example", "p#1 email a@x.example | p#2 email b@y.example"},
	} {
		if got := show(Scan("p", value(t, c.in))); got != c.want {
			t.Errorf("Scan(%v)\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

// Every non-empty string, number and bool is found at its place.
func TestFlattenLosesNoScalar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, err := doc.FromGo(anyValue(3).Draw(t, "v"))
		if err != nil {
			t.Skip()
		}
		found := make(map[string]bool)
		for _, d := range Flatten("", v) {
			place, _, _ := strings.Cut(d.Place, "#")
			found[place] = true
		}
		lost(t, "", v, found)
	})
}

func lost(t *rapid.T, place string, v doc.Value, found map[string]bool) {
	switch v.Kind() {
	case doc.List:
		for i, e := range v.Elements() {
			lost(t, fmt.Sprintf("%s[%d]", place, i), e, found)
		}
	case doc.Object:
		for m := range v.Members() {
			lost(t, memberPlace(place, m.Name), m.Value, found)
		}
	case doc.String, doc.Number, doc.Bool:
		if place, _, _ = strings.Cut(place, "#"); v.String() == "" && v.Kind() == doc.String || found[place] {
			return
		}
		t.Fatalf("nothing found at %q", place)
	}
}

// anyValue draws JSON values with awkward strings.
func anyValue(depth int) *rapid.Generator[any] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a@x.example", "a, b@x.example", "[1]", "{}", "mailto:", " ", "https://x.example", "@", "#", ",;", `{"a":[]}`}))
	scalar := rapid.OneOf(rapid.Map(text, func(s string) any { return s }), rapid.Map(rapid.Int(), func(i int) any { return i }), rapid.Just[any](nil), rapid.Just[any](true))
	if depth == 0 {
		return scalar
	}
	inner := anyValue(depth - 1)
	return rapid.OneOf(scalar,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-z .\[#]{0,6}`), inner, 0, 4), func(m map[string]any) any { return m }))
}

func FuzzFlatten(f *testing.F) {
	for _, e := range evasions {
		for _, v := range e.args {
			if s, ok := v.(string); ok {
				f.Add(s)
			}
		}
	}
	for _, s := range []string{"[[[", `{"a":1,"a":2}`, "mailto:?", "<@>", "//", "https://[", "a@[", "\xff", "git@:", "*@*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := doc.FromGo(s)
		if err != nil {
			return
		}
		ds := Flatten("to", v)
		if len(ds) == 0 && s != "" || len(ds) > MaxDestinations+1 {
			t.Fatalf("%d destinations", len(ds))
		}
		l := NewLedger(LedgerOptions{Key: [16]byte{1}})
		for _, d := range append(ds, Scan("to", v)...) {
			wellFormed(t, l, d)
		}
	})
}

// wellFormed checks what must hold for every destination.
func wellFormed(t *testing.T, l *Ledger, d Destination) {
	t.Helper()
	f := l.Lookup(d)
	if d.Malformed != "" {
		if d.Canonical != "" || f.Origin != Malformed {
			t.Fatalf("malformed %q: canonical %q, origin %v", d.Raw, d.Canonical, f.Origin)
		}
		return
	}
	if f.Origin != Unknown || d.Canonical == "" || hostileText(d.Canonical) != "" {
		t.Fatalf("%q: canonical %q, origin %v", d.Raw, d.Canonical, f.Origin)
	}
	again := parseOne(d.Canonical)
	if d.Kind != Text && (again.Kind != d.Kind || again.Canonical != d.Canonical) {
		t.Fatalf("%q: canonical %v %q reads as %v %q %s", d.Raw, d.Kind, d.Canonical, again.Kind, again.Canonical, again.Malformed)
	}
}
