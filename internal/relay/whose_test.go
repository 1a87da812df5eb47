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
