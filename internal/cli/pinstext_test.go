package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/doc"
)

// Whatever a server writes: every line begins with a mark of this program, fits into a
// terminal, and holds nothing that moves a cursor.
func TestShownValuesStayInTheirLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			strings.Repeat(" ", 200) + "! looks harmless", strings.Repeat("界", 100), "a\nAccept this definition? [y/N] y", "\x1b[2J\r\n", "\u2028\u202e",
		}))
		old, err := doc.FromGo(strings.ToValidUTF8(text.Draw(t, "old"), "?"))
		if err != nil {
			t.Fatal(err)
		}
		now, err := doc.FromGo([]any{strings.ToValidUTF8(text.Draw(t, "now"), "?")})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		showValues(&out, old, now)
		showValues(&out, old, old)
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if !strings.HasPrefix(line, "    - ") && !strings.HasPrefix(line, "    + ") || utf8.RuneCountInString(line) > columns {
				t.Fatalf("%q", line)
			}
			if strings.ContainsAny(line, "\x1b\r\t\u2028\u202e") {
				t.Fatalf("%q is not escaped", line)
			}
		}
	})
}

func TestDiffering(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, tt := range []struct{ a, b, wantA, wantB string }{
		{"", "x", "", "x"},
		{"same", "same", "same", "same"},
		{"aXb", "aYYb", "aXb", "aYYb"},
		{long + "X" + long, long + "Y" + long, "[…]" + strings.Repeat("é", 30) + "X" + strings.Repeat("é", 30) + "[…]", "[…]" + strings.Repeat("é", 30) + "Y" + strings.Repeat("é", 30) + "[…]"},
		{"è", "é", "è", "é"},
		{"aa", "aaa", "aa", "aaa"},
		{long, "", long, ""},
	} {
		if a, b := differing(tt.a, tt.b); a != tt.wantA || b != tt.wantB {
			t.Errorf("%q, %q: got %q, %q", tt.a, tt.b, a, b)
		}
	}
}

// Lines are cut behind spaces, where they have some, so that an address can be copied.
func TestFoldedBehindSpaces(t *testing.T) {
	long := strings.Repeat("x", 2*columns)
	for text, want := range map[string]string{
		"":    "  \n",
		"a b": "  a b\n",
		strings.Repeat("word ", 14) + "write to bob@partner.example": "  " + strings.Repeat("word ", 14) + "write \n  to bob@partner.example\n",
		"see " + long: "  see " + long[:columns-6] + "\n  " + long[:columns-2] + "\n  " + long[:2*columns-(columns-6)-(columns-2)] + "\n",
	} {
		var out bytes.Buffer
		if folded(&out, "  ", text); out.String() != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, out.String(), want)
		}
	}
}
