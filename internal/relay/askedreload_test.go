package relay

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/approval"
)

// A configuration that comes when a yes was just used up for a call, and before the call starts:
// the yes was given under another, and the call does not run by it. It is asked about again.
func TestAReloadBetweenTheYesAndTheCall(t *testing.T) {
	var g *rig
	var engine sallyport.Options
	reloads := 0
	g = prompting(t, rigOptions{
		engine: func(o *sallyport.Options) {
			o.Doubts = sallyport.NewDoubts(sallyport.DoubtOptions{})
			engine = *o
		},
		asks: func(o *approval.DeskOptions) {
			write := o.Record
			o.Record = func(r audit.Record) error {
				if r.Phase == approval.PhaseUsed && reloads == 0 {
					reloads++
					e, err := sallyport.New(engine)
					if err != nil {
						return err
					}
					if _, err := g.relay.opt.Session.Use(e); err != nil {
						return err
					}
				}
				return write(r)
			}
		},
	})
	g.greets("2025-11-25", canAsk)
	g.initialized()
	g.call(1, "send_email", sendToBob)
	g.replies(g.isAsked(), saysYes)
	if text := g.refused(1, "flow"); !strings.Contains(text, "the configuration changed before the call started, so it has to be called again") || reloads != 1 {
		t.Errorf("refused with %q after %d reloads", text, reloads)
	}
	g.quiet() // the server has heard nothing
	g.call(2, "send_email", sendToBob)
	g.replies(g.isAsked(), saysYes)
	g.runs(2, sendToBob)
	var last string
	for _, r := range records(t, g) {
		if r["event"] == "tools/call" && r["phase"] == "verdict" && strings.Contains(mustJSON(r), "the configuration changed") {
			last = mustJSON(r)
		}
	}
	if !strings.Contains(last, `"verdict":"deny"`) || !strings.Contains(last, `"approval":"`) {
		t.Errorf("on record is %s", last)
	}
}
