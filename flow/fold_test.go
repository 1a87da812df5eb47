package flow

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestFold(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"  A\t\r\nb  ", "a b"},
		{"EVE@Attacker.EXAMPLE", "eve@attacker.example"},
		{"ＥＶＥ＠x．example", "eve@x.example"},
		{"e\u200bv\u2060e\ufeff", "eve"},
		{"\u202eeve\u202c\u061c", "eve"},
		{"atta\u00adcker", "attacker"},
		{tags("Eve@x.example"), "eve@x.example"},
		{"x\u3002example\uff61", "x.example."},
		{"Straße", "strasse"},
		{"ΣΊΣΥΦΟΣ", "σίσυφοσ"},
		{"ﬁne", "fine"},
		{"e\u0301", "é"},
		{"e\u200b\u0301", "é"},
		{"\u212aelvin", "kelvin"},
		{"a\u00a0\u3000b", "a b"},
		{"e\ufe0fv", "ev"},
		{"\u115fa\u3164b\uffa0", "ab"},
		{"①②", "12"},
		{"naïve — “Zoë”", "naïve — “zoë”"},
	} {
		if got := Fold(c.in); got != c.want {
			t.Errorf("Fold(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// The eight-bytes-at-a-time path and the table must agree on every byte.
func TestFoldLowersEveryASCIIByte(t *testing.T) {
	for c := range 128 {
		for pos := range 9 {
			b := []byte("........x")
			b[pos] = byte(c)
			want := []byte("........x")
			want[pos] = lower[c]
			if got := appendFold(nil, string(b)); string(got) != string(want) {
				t.Fatalf("byte %#x at %d: %q, want %q", c, pos, got, want)
			}
		}
	}
}

func TestFoldIsIdempotent(t *testing.T) {
	odd := rapid.SampledFrom([]rune("aE\u0301\u0327\u200b\u00ad\u3002\uff21\u1e9e\u0130\u00b4\ufdfa\u1fb3\u0345\u1100\u1161\u11a8\uac00\u2126\ufb01\U000e0041\u3099\u304b \n\u034f\u0f73\u2f00İ"))
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOf(odd)).Draw(t, "s")
		if one := Fold(s); Fold(one) != one {
			t.Fatalf("Fold(%q) = %q, folded again %q", s, one, Fold(one))
		}
	})
}

// What is folded character by character must be what is folded as a whole.
func TestFoldTable(t *testing.T) {
	odd := rapid.SampledFrom([]rune("aE\u0301\u0327\u200b\u00ad\u3002\uff21\u1e9e\u0130\u00b4\ufdfa\u1fb3\u0345\u1100\u1161\u11a8\uac00\u2126\ufb01\U000e0041\u3099\u304b \n\u034f\u0f73\u2f00İ—“Ж予½ﬃ…\U0001d400\U0001f600"))
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOf(odd), rapid.StringOf(rapid.RuneFrom(nil, unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Hangul, unicode.P))).Draw(t, "s")
		before := rapid.SampledFrom([]string{"", "e", " "}).Draw(t, "before")
		wide := strings.Map(func(r rune) rune {
			if r < utf8.RuneSelf {
				return -1
			}
			return r
		}, s)
		if fast, slow := foldStretch([]byte(before), wide), foldSlowly([]byte(before), wide); string(fast) != string(slow) {
			t.Fatalf("%q after %q: %q, as a whole %q", wide, before, fast, slow)
		}
	})
	for r := rune(utf8.RuneSelf); r <= unicode.MaxRune; r++ {
		if f := foldedRuneOf(r); f.width() != widthOf(r) {
			t.Fatalf("%U: width %d, want %d", r, f.width(), widthOf(r))
		} else if f.known() && r%7 == 0 {
			if got, want := f.appendTo(nil), foldSlowly(nil, string(r)); string(got) != string(want) {
				t.Fatalf("%U: %q, want %q", r, got, want)
			}
		}
	}
}

func TestFoldBoundsMarks(t *testing.T) {
	s := "e" + strings.Repeat("\u0301", 5000)
	if got := Fold(s); len(got) > 64 || Fold(got) != got {
		t.Errorf("5000 marks leave %d bytes", len(got))
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{"", "A b", "e\u200b\u0301", "\xff\xfe", "\u00b4 \u00a8", tags("x@y"), "\u1e9b\u0323", "\ufdfa", strings.Repeat("\u0f73", 40)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		one := Fold(s)
		if two := Fold(one); two != one {
			t.Fatalf("Fold(%q) = %q, folded again %q", s, one, two)
		}
		if strings.ContainsAny(one, "\u200b\u202e\u00adABCXYZ") || strings.Contains(one, "  ") {
			t.Fatalf("Fold(%q) = %q", s, one)
		}
	})
}
