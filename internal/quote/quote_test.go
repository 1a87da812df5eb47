package quote

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"plain text", 0, "plain text"},
		{"naïve 日本", 0, "naïve 日本"},
		{"a\nb\r\tc", 0, `a\nb\r\tc`},
		{"\x1b[2J", 0, `\u{001b}[2J`},
		{"a\u202eb", 0, `a\u{202e}b`},
		{"a\u200bb\u00adc", 0, `a\u{200b}b\u{00ad}c`},
		{"a\u00a0b\u2028", 0, `a\u{00a0}b\u{2028}`},
		{"\xff\xfe", 0, `\xff\xfe`},
		{"tag\U000e0041", 0, `tag\u{e0041}`},
		{"abcdef", 3, "abc…(+3 bytes)"},
		{"abc", 3, "abc"},
		{"", 3, ""},
	} {
		if got := Text(c.in, c.max); got != c.want {
			t.Errorf("Text(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
		}
	}
}

func TestValue(t *testing.T) {
	for in, want := range map[string]string{
		"bob@x.example": `'bob@x.example'`,
		`it's`:          `'it\'s'`,
		`a\b`:           `'a\\b'`,
		"a'\n":          `'a\'\n'`,
	} {
		if got := Value(in, 0); got != want {
			t.Errorf("Value(%q) = %s, want %s", in, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b\u202e'\\", 3)
	f.Fuzz(func(t *testing.T, s string, max int) {
		for _, got := range []string{Text(s, max), Value(s, max)} {
			if !utf8.ValidString(got) {
				t.Fatalf("%q: not UTF-8: %q", s, got)
			}
			if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
				t.Fatalf("%q: control character left: %q", s, got)
			}
		}
	})
}

func TestUnpadded(t *testing.T) {
	for in, want := range map[string]string{
		"":            "",
		"a        b":  "a        b",
		"a         b": "a … b",
		"a\t\u3000\u00a0\u200b\u2800 \u3164\u00ad\ufe0fb": "a … b",
		"a\n\n\n\n\n\n\n\n\n\n\nb":                        "a\n\n\n\n\n\n\n\n\n\n\nb",
		"👨‍👩‍👧‍👦 and 🏴󠁧󠁢󠁥󠁮󠁧󠁿":                             "👨‍👩‍👧‍👦 and 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
	} {
		if got := Unpadded(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
