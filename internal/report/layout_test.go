package report

import (
	"strings"
	"testing"
)

// TestQuotedWordsAreShownAsValues: a name looks the same wherever it stands.
func TestQuotedWordsAreShownAsValues(t *testing.T) {
	for text, want := range map[string]string{
		"the entry for 'send_email' is off":    "the entry for `send_email` is off",
		"'a_b', 'c' and to='x@y.example'.":     "`a_b`, `c` and to=`x@y.example`.",
		"the server's list, the agents' shell": "the server's list, the agents' shell",
		"no tool 'it\\'s' (did you mean 'x'?)": "no tool `it\\'s` (did you mean `x`?)",
		"one that 'does not end":               "one that 'does not end",
		"an empty '' one":                      "an empty '' one",
		"hostile 'a`<b>|' here":                "hostile `a\\u{60}\\u{3c}b>\\|` here",
		"'":                                    "'",
		"":                                     "",
	} {
		if got := mdCell(prose(text)); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	if got := mdCell(prose("'" + strings.Repeat("x", 2*maxSentence) + "'")); !strings.HasPrefix(got, "'xxx") {
		t.Errorf("cut in the middle: %.20s", got)
	}
}
