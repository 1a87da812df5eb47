package relay

import (
	"strings"
	"testing"
)

// The user said no to a call that has become one that needs no yes: while the form was open
// its recipient was vouched for. A no is a no.
func TestWhatWasDeclinedDoesNotRunBecauseItNeedsNoYesAnyMore(t *testing.T) {
	for response, runs := range map[string]bool{
		`{"action":"decline"}`:                            false,
		`{"action":"accept","content":{"allow":false}}`:   false,
		`{"action":"cancel"}`:                             false,
		`{"action":"accept","content":{"allow":"maybe"}}`: false,
		saysYes: true,
	} {
		t.Run(response, func(t *testing.T) {
			g := prompting(t, rigOptions{})
			g.client(modernSend("1", sendToBob, ""))
			state := g.wishes()
			g.relay.opt.Session.Prompt("write to bob@partner.example")
			g.client(modernSend("2", sendToBob, with(state, response)))
			if runs {
				g.gets("2", modernSend("2", sendToBob, ""))
				return
			}
			if text := g.clientHears(); !strings.Contains(text, "[sallyport blocked] nobody agreed: ") && !strings.Contains(text, "[sallyport blocked] the user said no") {
				t.Errorf("the client hears %s", brief(text))
			}
			g.quiet()
		})
	}
}
