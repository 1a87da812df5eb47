package report

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func TestMarkdownText(t *testing.T) {
	for _, c := range []struct{ in, code, plain string }{
		{"read_file", "`read_file`", `read\_file`},
		{"", "—", ""},
		{"a`b", "`a\\u{60}b`", "a\\`b"},
		{"a|b", "`a\\|b`", `a\|b`},
		{`a@b\`, "`a@b\\`", "`a@b\\`"},
		{`a\|b`, "`a\\\\u{7c}b`", `a\\\|b`},
		{"<script>alert(1)</script>", "`\\u{3c}script>alert(1)\\u{3c}/script>`", `\<script\>alert(1)\</script\>`},
		{"[x](http://evil.example)", "`[x](http://evil.example)`", "`[x](http://evil.example)`"},
		{"![x][y]", "`![x][y]`", `\!\[x\]\[y\]`},
		{"mail a@b.example now", "`mail a@b.example now`", "mail `a@b.example` now"},
		{"www.evil.example", "`www.evil.example`", "`www.evil.example`"},
		{"# head", "`# head`", `\# head`},
		{"1. item", "`1. item`", "`1.` item"},
		{"a\nb\u202e\u200f", "`a\ufffdb\ufffd\ufffd`", "a\ufffdb\ufffd\ufffd"},
		{"&lt;", "`\\u{26}lt;`", `\&lt;`},
	} {
		if got := mdCode(c.in, true); got != c.code {
			t.Errorf("mdCode(%q) = %s, want %s", c.in, got, c.code)
		}
		if got := mdPlain(c.in); got != c.plain {
			t.Errorf("mdPlain(%q) = %s, want %s", c.in, got, c.plain)
		}
	}
}

// safeCode is what a code span may hold: nothing that ends it or begins an element or a
// reference.
var safeCode = regexp.MustCompile("^`[^`<&]*`$")

// endsCell reports a pipe without exactly one backslash before it.
func endsCell(code string) bool {
	for i := range len(code) {
		if code[i] == '|' && (code[i-1] != '\\' || code[i-2] == '\\') {
			return true
		}
	}
	return false
}

// bare takes code spans and escaped characters out of a line of Markdown, as a reader
// does: from the left, and within a code span nothing is escaped.
func bare(md string) string {
	var b strings.Builder
	for i := 0; i < len(md); i++ {
		switch md[i] {
		case '\\':
			b.WriteString("·")
			i++
		case '`':
			end := strings.IndexByte(md[i+1:], '`')
			if end < 0 {
				return b.String() + md[i:]
			}
			i += end + 1
		default:
			b.WriteByte(md[i])
		}
	}
	return b.String()
}

// inert reports what of Markdown is left in a plain text: nothing may be.
func inert(md string) string {
	rest := bare(md)
	if i := strings.IndexAny(rest, "`*_[]<>|~&$"); i >= 0 {
		return rest[i : i+1]
	}
	for _, link := range []string{"@", ":/", "www."} {
		if strings.Contains(strings.ToLower(rest), link) {
			return link
		}
	}
	return ""
}

func shows(s string) (bad rune, ok bool) {
	for _, r := range s {
		if r != ' ' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)) {
			return r, false
		}
	}
	return 0, true
}

// FuzzForms: no text becomes markup in either form, ends a line or moves what stands
// beside it.
func FuzzForms(f *testing.F) {
	for _, seed := range hostileTexts {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		code, text := mdCode(s, true), mdPlain(s)
		if s != "" && (!safeCode.MatchString(code) || endsCell(code)) {
			t.Errorf("code span in a cell: %q", code)
		}
		if out := mdCode(s, false); s != "" && !safeCode.MatchString(out) {
			t.Errorf("code span %q", out)
		}
		if left := inert(text); left != "" {
			t.Errorf("%q is left in %q", left, text)
		}
		for _, out := range []string{code, text} {
			if r, ok := shows(out); !ok {
				t.Errorf("%U is left in %q", r, out)
			}
		}
		// As text and as the value of an attribute of a page.
		h := &page{}
		h.wrap("code", s, at("class", s))
		if r, ok := shows(strings.TrimRight(h.b.String(), "\n")); !ok {
			t.Errorf("%U is left in %q", r, h.b.String())
		}
		nodes, err := html.ParseFragment(strings.NewReader(h.b.String()), nil)
		if err != nil {
			t.Fatal(err)
		}
		code1 := find(nodes[0], "code")
		if code1 == nil || len(code1.Attr) != 1 || code1.NextSibling != nil {
			t.Fatalf("%q became %q", s, h.b.String())
		}
		if c := code1.FirstChild; c != nil && (c.Type != html.TextNode || c.NextSibling != nil) {
			t.Errorf("%q became an element: %q", s, h.b.String())
		}
		if got := code1.Attr[0].Val; got != strings.ToValidUTF8(clean(s), "\ufffd") {
			t.Errorf("the attribute is %q, want %q", got, clean(s))
		}
	})
}

// find is the first element of a name in a tree.
func find(n *html.Node, name string) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == name {
			return d
		}
	}
	return nil
}

func TestScale(t *testing.T) {
	for _, c := range []struct{ v, most, width, want int64 }{
		{0, 10, 100, 0}, {1, 1_000_000, 100, 1}, {5, 10, 100, 50}, {10, 10, 100, 100}, {3, 0, 100, 0}, {-1, 10, 100, 0},
	} {
		if got := scale(c.v, c.most, c.width); got != c.want {
			t.Errorf("scale(%d, %d, %d) = %d, want %d", c.v, c.most, c.width, got, c.want)
		}
	}
}
