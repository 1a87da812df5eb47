package relay

import (
	"context"
	"strings"
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

// hostable are the requests of a server whose answers hold what the user or a model wrote,
// and so can carry something out. The client may run them as tasks.
var hostable = map[string]bool{"elicitation/create": true, "sampling/createMessage": true}

// contentful reports that answers to a request of the server's are judged for what they
// carry: a task's result does, and so can the text of its status.
func contentful(method string) bool {
	return hostable[method] || strings.HasPrefix(method, "tasks/")
}

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
	if r.promptAnswered(m) {
		return
	}
	a, ok := r.takeAsked(m.ID)
	if !ok {
		r.log.Warn("an answer of the client that answers nothing is dropped", "id", quote.Text(m.ID.Raw(), 64))
		return
	}
	if contentful(a.method) && m.Result != nil {
		v, ok := r.judgeContent(ctx, a.id, a.method, m.Result)
		if !ok { // the server waits for an answer; the reason quotes what it must not get
			r.send(built(mcp.ErrorResponse(a.id, mcp.CodeRefused, "[sallyport blocked] the client's answer carries what may not go out", nil)))
			return
		}
		r.hosts(a, v)
	}
	r.send(m)
}

// judgeContent decides and records what the client tells the server of its own accord or
// asked: an answer, or a notice. false: it may not go out.
func (r *Relay) judgeContent(ctx context.Context, id mcp.ID, method string, content []byte) (v doc.Value, ok bool) {
	c := &call{id: id, method: method, arrived: time.Now()}
	v, err := doc.Parse(content, doc.Limits{})
	if err != nil {
		c.decision.Check, c.decision.Reason = sallyport.CheckPattern, "the answer cannot be read: "+err.Error()
	} else {
		c.args, c.decision = v, unasked(r.opt.Session.Reply(ctx, method, v))
	}
	switch {
	case !c.decision.Runs():
		r.recordVerdict(c, refusalOutcome(c.decision))
	case r.recordVerdict(c, verdictOutcome(c.decision)) || r.opt.AuditContinue:
		return v, true
	default:
		c.decision.Reason = "the verdict could not be recorded, and audit.on_failure is deny"
	}
	r.log.Warn("what the client tells the server is refused", "method", method, "reason", r.told(c).Reason)
	return v, false
}
