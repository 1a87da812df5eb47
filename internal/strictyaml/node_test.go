package strictyaml

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// value reads the value of the key a.
func value(t *testing.T, in string) *Node {
	t.Helper()
	n, p := parse(t, in)
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	entries, ok := n.Entries(p)
	if !ok || entries[0].Name != "a" {
		t.Fatal("no key a")
	}
	return entries[0].Value
}

func TestStr(t *testing.T) {
	for in, want := range map[string]string{
		"a: b":                        "b",
		"a: 'no'":                     "no",
		"a: \"1\"":                    "1",
		"a: !!str 1":                  "1",
		"a: 2020-01-01":               "2020-01-01",
		"a: ''":                       "",
		"a: |\n  x\n  y\n":            "x\ny\n",
		"a: ${HOST}":                  "mail.example",
		"a: u@${HOST}:25":             "u@mail.example:25",
		"a: '${EMPTY}'":               "",
		"a: $${HOST}":                 "${HOST}",
		"a: $$${HOST}":                "$${HOST}",
		"a: $5 $HOST $":               "$5 $HOST $",
		"a: '${HOST}${HOST}'":         "mail.examplemail.example",
		"a: ${INJECT}":                "x\nb: [1, 2]",
		"a: ${DOLLAR}":                "${HOST}", // values are not read again
		"a: ${NO}":                    "no",
		"a: &x b\nc: *x":              "b",
		"\ufeffa: b":                  "b",
		"a: b\r\nc: d\r\n":            "b",
		"%YAML 1.1\n---\na: b\n...\n": "b",
	} {
		var p Problems
		if got, ok := value(t, in).Str(&p); !ok || got != want || !p.Empty() {
			t.Errorf("%q: %q, %v; want %q", in, got, p.Err(), want)
		}
	}
}

func TestReadersRefuseOtherTypes(t *testing.T) {
	str := func(n *Node, p *Problems) bool { _, ok := n.Str(p); return ok }
	boolean := func(n *Node, p *Problems) bool { _, ok := n.Bool(p); return ok }
	integer := func(n *Node, p *Problems) bool { _, ok := n.Int(p); return ok }
	strs := func(n *Node, p *Problems) bool { _, ok := n.Strs(p); return ok }
	entries := func(n *Node, p *Problems) bool { _, ok := n.Entries(p); return ok }
	for _, tt := range []struct {
		in   string
		read func(*Node, *Problems) bool
		want string
	}{
		{"a: 1", str, "f.yaml:1:4: write text here, not the number '1'; if the text is meant, put it in quotes"},
		{"a: true", str, "f.yaml:1:4: write text here, not true; if the text is meant, put it in quotes"},
		{"a: no", str, "f.yaml:1:4: no can be read as true or false; if the text is meant, put it in quotes"},
		{"a: On", str, "f.yaml:1:4: On can be read as true or false; if the text is meant, put it in quotes"},
		{"a: ~", str, "f.yaml:1:4: write text here, not null"},
		{"a: [b]", str, "f.yaml:1:4: write text here, not a list"},
		{"a: {b: c}", str, "f.yaml:1:4: write text here, not a mapping"},
		{"a: yes", boolean, "f.yaml:1:4: write true or false here, not the text 'yes'"},
		{"a: 'true'", boolean, "f.yaml:1:4: write true or false here, not the text 'true'"},
		{"a: 1", boolean, "f.yaml:1:4: write true or false here, not the number '1'"},
		{"a: ${HOST}", boolean, "f.yaml:1:4: write true or false here, not the text 'mail.example'"},
		{"a: 1.0", integer, "f.yaml:1:4: write a whole decimal number here, not the number '1.0'"},
		{"a: 0x1F", integer, "f.yaml:1:4: write a whole decimal number here, not the number '0x1F'"},
		{"a: 010", integer, "f.yaml:1:4: write a whole decimal number here, not the number '010'"},
		{"a: 1_000", integer, "f.yaml:1:4: write a whole decimal number here, not the number '1_000'"},
		{"a: +1", integer, "f.yaml:1:4: write a whole decimal number here, not the number '+1'"},
		{"a: '1'", integer, "f.yaml:1:4: write a whole decimal number here, not the text '1'"},
		{"a: 99999999999999999999", integer, "f.yaml:1:4: write a whole decimal number here, not the number '99999999999999999999'"},
		{"a: 9223372036854775808", integer, "f.yaml:1:4: the number '9223372036854775808' is too large"},
		{"a: b", strs, "f.yaml:1:4: write a list here: ['b']"},
		{"a: {b: c}", strs, "f.yaml:1:4: write a list here, not a mapping"},
		{"a: ~", strs, "f.yaml:1:4: write a list here, not null"},
		{"a: [b, 1, [c]]", strs, "f.yaml:1:8: write text here, not the number '1'; if the text is meant, put it in quotes\nf.yaml:1:11: write text here, not a list"},
		{"a: b", entries, "f.yaml:1:4: write a mapping of keys to values here, not the text 'b'"},
		{"a: [b]", entries, "f.yaml:1:4: write a mapping of keys to values here, not a list"},
	} {
		var p Problems
		if tt.read(value(t, tt.in), &p) {
			t.Errorf("%q was read", tt.in)
		}
		if err := p.Err(); err == nil || err.Error() != tt.want {
			t.Errorf("%q: got  %v\nwant %s", tt.in, err, tt.want)
		}
	}
}

func TestOneOfAndShape(t *testing.T) {
	var p Problems
	if s, ok := value(t, "a: deny").OneOf(&p, "allow", "deny"); !ok || s != "deny" || !p.Empty() {
		t.Errorf("%q, %v", s, p.Err())
	}
	if s, ok := value(t, "a: Deny").OneOf(&p, "allow", "deny"); ok || s != "" {
		t.Errorf("a choice in other case was read: %q", s)
	}
	if got, want := p.Err().Error(), "f.yaml:1:4: 'Deny' is not one of allow, deny; did you mean 'deny'?"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for in, want := range map[string]struct {
		list bool
		n    int
	}{"a: [x, y]": {true, 2}, "a: []": {true, 0}, "a: {x: 1}": {false, 1}, "a: x": {false, 0}, "a: ~": {false, 0}} {
		if n := value(t, in); n.IsList() != want.list || n.Len() != want.n {
			t.Errorf("%q: list %v, length %d", in, n.IsList(), n.Len())
		}
	}
}

func TestBoolAndInt(t *testing.T) {
	var p Problems
	for in, want := range map[string]bool{"a: true": true, "a: False": false, "a: TRUE": true} {
		if got, ok := value(t, in).Bool(&p); !ok || got != want {
			t.Errorf("%q: %v, %v", in, got, ok)
		}
	}
	for in, want := range map[string]int64{"a: 0": 0, "a: -7": -7, "a: 9223372036854775807": 1<<63 - 1} {
		if got, ok := value(t, in).Int(&p); !ok || got != want {
			t.Errorf("%q: %v, %v", in, got, ok)
		}
	}
	if err := p.Err(); err != nil {
		t.Error(err)
	}
	for _, in := range []string{"a: ~", "a: null", "a:"} {
		if !value(t, in).IsNull() {
			t.Errorf("%q is not null", in)
		}
	}
	for _, in := range []string{"a: ''", "a: 'null'", "a: 0", "a: []"} {
		if value(t, in).IsNull() {
			t.Errorf("%q is null", in)
		}
	}
}

func TestMerge(t *testing.T) {
	in := `
one: &one {x: "1", y: "1"}
two: &two {z: "2"}
all:
  y: own
  <<: [*one, *two]
`
	n, p := parse(t, in)
	top, _ := n.Fields(p, []string{"one", "two", "all"}, nil)
	entries, _ := top["all"].Entries(p)
	var got []string
	for _, e := range entries {
		s, _ := e.Value.Str(p)
		got = append(got, e.Name+"="+s)
	}
	if want := []string{"y=own", "x=1", "z=2"}; !slices.Equal(got, want) || !p.Empty() {
		t.Errorf("got %v, %v; want %v", got, p.Err(), want)
	}
	// A merge key in quotes is a key like any other, and so fails as an unknown one.
	n, p = parse(t, "'<<': {x: 1}\n")
	if _, ok := n.Fields(p, []string{"x"}, nil); !ok || p.Empty() {
		t.Error("a quoted << was merged")
	}
}

func TestFields(t *testing.T) {
	n, p := parse(t, "tols: 1\nwhen: 2\ntools: 3\nfoo: 4\n")
	f, ok := n.Fields(p, []string{"tools", "resources"}, map[string]string{"when": "not built yet"})
	if !ok || len(f) != 1 || f["tools"] == nil {
		t.Errorf("got %v, %v", f, ok)
	}
	want := `f.yaml:1:1: unknown key 'tols'; did you mean 'tools'?
f.yaml:2:1: when: not built yet
f.yaml:4:1: unknown key 'foo'; known here: tools, resources`
	if got := p.Err().Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestProblemsAreEscapedSortedAndBounded(t *testing.T) {
	p := &Problems{}
	n := Parse("a\x1b[2J.yaml", []byte("\"k\\e]0;x\\a\\u202e\": 1\n"), nil, p)
	n.Fields(p, nil, nil)
	if got, want := p.Err().Error(), `a\u{001b}[2J.yaml:1:1: unknown key 'k\u{001b}]0;x\u{0007}\u{202e}'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := n.Place(), `a\u{001b}[2J.yaml:1:1`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	p = &Problems{}
	for i := range 20_000 {
		p.Add(&Node{file: "f", line: 20_000 - i, col: 1}, "x")
	}
	p.AddFile("f", "first")
	err := p.Err().Error()
	lines := strings.Split(err, "\n")
	if len(lines) != maxShown+1 || lines[maxShown] != "and 19901 more problems" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
	if lines[0] != "f:10001:1: x" {
		t.Errorf("first line %q", lines[0])
	}
}

func TestAliasedProblemIsListedOnce(t *testing.T) {
	_, p := parse(t, "a: &a ${UNSET}\nb: *a\nc: *a\n")
	if l := p.List(); len(l) != 1 || l[0].Line != 1 {
		t.Errorf("got %v", l)
	}
}

func TestVariablesAreBounded(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	var p Problems
	n := Parse("f", []byte("a: ["+strings.Repeat("'${X}',", 5)+"]"), func(string) (string, bool) { return big, true }, &p)
	if n != nil || p.Empty() {
		t.Error("variables brought in more than the limit")
	}
}

func TestHint(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{"effekt", "effect"},
		{"efect", "effect"},
		{"effetc", "effect"},
		{"EFFECT", "effect"},
		{"denied", "deny"},
		{"x", ""},
		{"banana", ""},
		{strings.Repeat("effect", 50), ""},
	} {
		got := didYouMean(tt.got, []string{"effect", "deny", "tools"})
		if tt.want == "" && got != "" || tt.want != "" && got != "; did you mean '"+tt.want+"'?" {
			t.Errorf("%s: %q, want %q", tt.got, got, tt.want)
		}
	}
}

func TestDistance(t *testing.T) {
	word := rapid.StringMatching(`[abc]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < len(a)-len(b) {
			t.Fatalf("distance(%q, %q) = %d", a, b, d)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a: 1\nb: [x, y]\nc: {d: null}\n", "a: &a {x: ${HOST}}\nb: {<<: [*a], x: 2}\n", "a: &a [*a]\n", "--- 1\n--- 2\n",
		"a: !!str 1\n? [b]\n: c\n", "a: |\n x\nb: >-\n y\n", "'<<': 1\n<<: {a: 1}\n", "\ufeffa: '$${x}${NO}'", "%TAG ! tag:yaml.org,2002:\n---\n!str a: 1",
		"&a a: *a", "a: &a b\nc: &a *a", "\"\\x00\": \"\\u202e\"", "- - - - -\n", "a: 1 # c\u2028b: 2",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p Problems
		n := Parse("f", data, lookup, &p)
		if n == nil && p.Empty() {
			t.Fatal("nothing was read and nothing is wrong")
		}
		if n != nil {
			nodes := 0
			walk(t, n, 0, &nodes)
			if nodes > MaxNodes+1 {
				t.Errorf("%d nodes", nodes)
			}
		}
		if err := p.Err(); err != nil {
			if s := err.Error(); !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\x1b\r\u202e") {
				t.Errorf("not safe to show: %q", s)
			}
			for _, q := range p.List() {
				if q.Line < 0 || (q.Line == 0) != (q.Col == 0) || q.Text == "" {
					t.Errorf("a problem without place or text: %+v", q)
				}
			}
		}
	})
}

// walk calls every reader on every node and checks what must hold of each.
func walk(t *testing.T, n *Node, depth int, nodes *int) {
	if *nodes++; depth > MaxDepth+1 {
		t.Fatal("too deep")
	}
	if n.line < 1 || n.col < 1 {
		t.Errorf("no place: %+v", n)
	}
	var p Problems
	read := 0
	if s, ok := n.Str(&p); ok {
		read++
		if !utf8.ValidString(s) {
			t.Errorf("not UTF-8: %q", s)
		}
	}
	if _, ok := n.Bool(&p); ok {
		read++
	}
	if _, ok := n.Int(&p); ok {
		read++
	}
	if n.IsNull() {
		read++
	}
	items, ok := n.List(&p)
	if ok {
		read++
	}
	entries, ok := n.Entries(&p)
	if ok {
		read++
	}
	if read > 1 {
		t.Errorf("read as %d types: %+v", read, n)
	}
	for _, item := range items {
		walk(t, item, depth+1, nodes)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[e.Name] {
			t.Errorf("two keys %q", e.Name)
		}
		seen[e.Name] = true
		*nodes++
		walk(t, e.Value, depth+1, nodes)
	}
}
