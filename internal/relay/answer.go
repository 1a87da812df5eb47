package relay

import (
	"context"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// asked is a request of the server that the client has to answer.
type asked struct {
	id     mcp.ID
	method string
}

// contentful are the requests of a server whose answers hold what the user or a model
// wrote, and so can carry something out.
var contentful = map[string]bool{"elicitation/create": true, "sampling/createMessage": true}

func (r *Relay) takeAsked(id mcp.ID) (asked, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.asked[id.Key()]
	if !ok || id.IsZero() {
		return asked{}, false
	}
	delete(r.asked, id.Key())
	return a, true
}

// clientResponse passes on what answers a request of the server's, once it was judged
// for what it carries.
func (r *Relay) clientResponse(ctx context.Context, m mcp.Message) {
	a, ok := r.takeAsked(m.ID)
	if !ok {
		r.log.Warn("an answer of the client that answers nothing is dropped", "id", quote.Text(m.ID.Raw(), 64))
		return
	}
	if contentful[a.method] && m.Result != nil && !r.mayAnswer(ctx, a, m.Result) {
		return
	}
	r.send(m)
}

// mayAnswer decides and records an answer. One that may not go out becomes an error for
// the server, which waits for it.
func (r *Relay) mayAnswer(ctx context.Context, a asked, result []byte) bool {
	c := &call{id: a.id, method: a.method, arrived: time.Now()}
	v, err := doc.Parse(result, doc.Limits{})
	if err != nil {
		c.decision.Check, c.decision.Reason = sallyport.CheckPattern, "the answer cannot be read: "+err.Error()
	} else {
		c.args, c.decision = v, r.opt.Session.Reply(ctx, a.method, v)
	}
	switch {
	case !c.decision.Runs():
		r.recordVerdict(c, refusalOutcome(c.decision))
	case r.recordVerdict(c, verdictOutcome(c.decision)) || r.opt.AuditContinue:
		return true
	default:
		c.decision.Reason = "the verdict could not be recorded, and audit.on_failure is deny"
	}
	text := "[sallyport blocked] " + c.decision.Reason
	if c.decision.Verdict == sallyport.Ask {
		text += cannotAsk(c.decision)
	}
	r.log.Warn("an answer of the client is refused", "method", a.method, "reason", c.decision.Reason)
	r.send(built(mcp.ErrorResponse(a.id, mcp.CodeRefused, text, nil)))
	return false
}
