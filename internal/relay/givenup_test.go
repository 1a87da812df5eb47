package relay

import (
	"sync/atomic"
	"testing"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/approval"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// The client gives a call up in the moment in which the yes comes in: the call does not run, and
// no later one runs by that yes without a question.
func TestAYesForACallThatIsGivenUpCoversNoLaterOne(t *testing.T) {
	for _, modern := range []bool{false, true} {
		for _, says := range []string{saysYes, `{"action":"accept","content":{"allow":true,"remember":true}}`} {
			var g *rig
			var once atomic.Bool
			cancelled := make(chan struct{})
			g = prompting(t, rigOptions{asks: func(o *approval.DeskOptions) {
				record := o.Record
				o.Record = func(r audit.Record) error {
					if r.Phase == approval.PhaseAnswered && once.CompareAndSwap(false, true) {
						g.relay.FromClient(t.Context(), built([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)))
						defer close(cancelled)
					}
					return record(r)
				}
			}})
			if modern {
				g.client(modernSend("1", sendToBob, ""))
				g.client(modernSend("2", sendToBob, with(g.wishes(), says)))
			} else {
				g.greets(mcp.V20251125, canAsk)
				g.initialized()
				g.call(2, "send_email", sendToBob)
				g.replies(g.isAsked(), says)
			}
			<-cancelled
			for g.relay.asking.Load() > 0 { // until it was dealt with
				g.quiet()
			}
			if modern {
				g.client(modernSend("3", sendToBob, ""))
				g.wishes()
			} else {
				g.call(3, "send_email", sendToBob)
				g.isAsked()
			}
		}
	}
}
