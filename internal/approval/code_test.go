package approval

import (
	"errors"
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

// Whoever mistook a letter learns which.
func TestACharacterThatNoCodeHasIsNamed(t *testing.T) {
	for typed, want := range map[string]string{
		"K7O-F2MX": "'O'", "k7q-f2ml": "'L'", "K7Q-F2M1": "'1'", "K7Q_F2MX": "'_'", "hello": "'L'", "K7Q-F2MX\x1b": `'\u{001b}'`, "\xff7Q-F2MX": "",
		"K7Q-F2M": "", "": "", strings.Repeat("O", 65): "",
	} {
		_, err := readCode(typed)
		if err == nil {
			t.Errorf("%q is a code", typed)
			continue
		}
		if want != "" {
			want = "that is no code: no code has the character " + want + "; one looks like K7Q-F2MX"
		} else {
			want = "that is no code: "
		}
		if !strings.HasPrefix(err.Error(), want) || !errors.Is(err, errNoCode) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: %v, want %s", typed, err, want)
		}
	}
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
