package lint

import (
	"regexp"
	"regexp/syntax"
	"testing"

	"pgregory.net/rapid"
)

func TestMatchesAll(t *testing.T) {
	for s, want := range map[string]bool{
		`.*`: true, `.+`: true, `(.*)`: true, `.*.*`: true, `^.*$`: true, `\A.*\z`: true, `(?:.|x)*`: true, `[\s\S]+`: true, `.{0,}`: true,
		`.{1,}`: true, `x?.*`: true, `.*x*`: true, `(a|.*)`: true, `(.*)?`: true, `(?i).*`: true, `(?-s:.)*`: true, `[\d\D]*`: true,
		`.`: false, `.?`: false, `.{2,}`: false, `.{0,5}`: false, `a.*`: false, `.*a`: false, `[^a]*`: false, `(a|b)*`: false, ``: false,
		`\w*`: false, `x*`: false, `(.*a|b)`: false, `\b.*`: false, `.*^`: false, `$.*`: false, `.+.+`: false, `(.*$)(^.*)`: false, `.*(^)`: false, `x?(^.*)`: true, `.*.+`: true, `.*\n`: false,
	} {
		re, err := syntax.Parse(s, syntax.Perl|syntax.DotNL)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		if matchesAll(re) != want {
			t.Errorf("%s: %v", s, !want)
		}
	}
}

// drawPattern draws a pattern of parts that match everything, nothing or little.
func drawPattern(t *rapid.T, depth int) string {
	if depth == 0 {
		return rapid.SampledFrom([]string{".*", ".+", ".", "a", "x?", "x*", "^", "$", "[^b]*", `[\s\S]*`, ".{1,}", ".{0,2}", `\b`, ""}).Draw(t, "leaf")
	}
	sub := func() string { return drawPattern(t, depth-1) }
	switch rapid.IntRange(0, 5).Draw(t, "form") {
	case 0:
		return "(" + sub() + ")"
	case 1:
		return sub() + "|" + sub()
	case 2:
		return "(?:" + sub() + ")" + rapid.SampledFrom([]string{"?", "*", "+", "{2}", "{0,3}"}).Draw(t, "repeat")
	case 3:
		return "(?:" + sub() + "|" + sub() + ")" + sub()
	}
	return sub() + sub()
}

// Whatever is said to match every text does.
func TestPropertyMatchesAllMatches(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("abx\n é.")), 1, 12, -1)
	said := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawPattern(t, rapid.IntRange(0, 3).Draw(t, "depth"))
		parsed, err := syntax.Parse(s, syntax.Perl|syntax.DotNL)
		if err != nil || !matchesAll(parsed) {
			return
		}
		said++
		re := regexp.MustCompile(`\A(?s:` + s + `)\z`)
		if in := text.Draw(t, "text"); !re.MatchString(in) {
			t.Errorf("%q does not match %q", s, in)
		}
	})
	if said == 0 {
		t.Error("no drawn pattern matches everything")
	}
}
