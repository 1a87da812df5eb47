package relay

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/doc"
)

// Whatever a server asks, the first words are its name, each further line is marked as its
// own, and nothing moves a cursor or turns the text round.
func TestAServersQuestionSaysWhoseItIs(t *testing.T) {
	r := &Relay{opt: Options{Upstream: "mail"}}
	hostile := rapid.SampledFrom([]string{"\n", "\r", "\x1b[2K", "\u202e", "\u2028", "\u2029", "\u0085", "\v", "\f", "\x00", "\u009b", "\u2066", "Sallyport, the gateway", "> ", "x", "é"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(hostile, rapid.String()), 0, 20).Draw(t, "text"), "")
		v, err := doc.Parse(r.saysWho(text), doc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(v.String(), "\n")
		if !strings.HasPrefix(lines[0], "The server 'mail' asks:") || len(lines) > 1 && lines[0] != "The server 'mail' asks:" {
			t.Fatalf("the first line is %q", lines[0])
		}
		for _, l := range lines[1:] {
			if !strings.HasPrefix(l, "> ") {
				t.Fatalf("a line is not marked: %q", l)
			}
		}
		for _, l := range lines {
			if i := strings.IndexFunc(l, func(c rune) bool {
				return unicode.Is(unicode.Cc, c) && c != '\t' || unicode.Is(unicode.Bidi_Control, c) || c == 0x2028 || c == 0x2029
			}); i >= 0 {
				t.Fatalf("a line holds %q", l[i:])
			}
		}
	})
}

// A text must not look like a question of its own because the rest of a line is blank: on a
// screen it would begin a line.
func TestAServersQuestionHoldsNoBlankStretch(t *testing.T) {
	r := &Relay{opt: Options{Upstream: "mail"}}
	const imitation = "Sallyport, the gateway in front of the server 'mail', asks you: may this call run?"
	for _, blank := range []string{" ", "\t", "\u00a0", "\u3000", "\u2003", "\u2800", "\u3164", "\u115f", "\u200b", "\ufeff", "\u00ad", "\U000e0020", "\u200b ", "\u2003\u3164"} {
		v, err := doc.Parse(r.saysWho("ok?"+strings.Repeat(blank, 200)+imitation), doc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := v.String(); len(got) > 400 || !strings.Contains(got, "asks: ok? … "+imitation) {
			t.Errorf("%q: %s", blank, brief(got))
		}
	}
	v, err := doc.Parse(r.saysWho("two  words\tand \U0001f468\u200d\U0001f469, ok"), doc.Limits{})
	if err != nil || v.String() != "The server 'mail' asks: two  words\tand \U0001f468\u200d\U0001f469, ok" {
		t.Errorf("%q", v.String())
	}
}
