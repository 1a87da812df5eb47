package approval

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCodesHaveMoreThanThirtyBits(t *testing.T) {
	codes := 1.0
	for range codeSize {
		codes *= float64(len(alphabet))
	}
	if codes < 1<<32 {
		t.Errorf("there are %.0f codes", codes)
	}
	seen := map[rune]bool{}
	for _, c := range alphabet {
		if seen[c] {
			t.Errorf("%c stands twice", c)
		}
		seen[c] = true
	}
	for _, pair := range []string{"0O", "1I", "1L", "IL", "2Z", "5S", "8B", "UV", "0D", "0Q"} {
		if strings.Contains(alphabet, pair[:1]) && strings.Contains(alphabet, pair[1:]) {
			t.Errorf("%s look alike", pair)
		}
	}
	drawn, letters := map[string]bool{}, map[rune]bool{}
	for range 2000 {
		code := newCode()
		if drawn[code] || len(code) != codeSize+1 || code[3] != '-' {
			t.Fatalf("%q", code)
		}
		drawn[code] = true
		for _, c := range code {
			letters[c] = true
		}
	}
	if len(letters) != len(alphabet)+1 {
		t.Errorf("%d letters of %d were drawn", len(letters)-1, len(alphabet))
	}
}

func TestCodesAreReadAsTheyAreTyped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		code := newCode()
		typed := code
		if rapid.Bool().Draw(t, "lower") {
			typed = strings.ToLower(typed)
		}
		typed = strings.ReplaceAll(typed, "-", rapid.SampledFrom([]string{"-", "", " ", " - "}).Draw(t, "between"))
		if got, err := readCode(typed); err != nil || got != code {
			t.Fatalf("%q: %q, %v", typed, got, err)
		}
	})
}

func FuzzReadCode(f *testing.F) {
	for _, s := range []string{"K7Q-F2MX", "k7q f2mx", "", "K7Q-F2M", "\x1b[2J", "ＫＱＦ２ＭＸＷ", "K7Q-F2MX-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		code, err := readCode(s)
		if (err == nil) == (code == "") {
			t.Fatalf("%q: %q, %v", s, code, err)
		}
		if again, err := readCode(code); code != "" && (err != nil || again != code) {
			t.Fatalf("%q is read as %q, and that as %q", s, code, again)
		}
	})
}
