package relay

import (
	"context"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// Untaken is a request that one relay gave back and another relay of the same session may be
// given.
type Untaken struct {
	Message mcp.Message
	// Decision is the one that is continued, 0 if none was made. Whoever does not give the
	// request to another relay forgets it.
	Decision sallyport.DecisionID
	Approval string // the yes that the decision goes by; "": none
}

// NotTaken says that the server took nothing of a request, because it has lost the
// conversation. It returns what the relay does not answer any more: the request, if it is one
// of the client's that can be made again, or all that waited for the relay's own list.
func (r *Relay) NotTaken(m mcp.Message) []Untaken {
	if l := r.takeListing(m.ID); l != nil {
		return r.listNotTaken(l)
	}
	r.mu.Lock()
	c := r.calls[m.ID.Key()]
	// Whoever listens to a subscription begins another; a retry means something only to
	// whom gave its requestState.
	if c == nil || !c.forwarded || c.uncounted || c.state != ([32]byte{}) {
		r.mu.Unlock()
		return nil
	}
	delete(r.calls, m.ID.Key())
	r.mu.Unlock()
	r.recordOutcome(c, outcome{name: "error", detail: "the server had lost the session and did not take it: it is made again in another"})
	r.releaseWrite(c)
	r.finished(c)
	return []Untaken{{m, c.decision.ID, c.approval}}
}

// listNotTaken gives back the calls that wait for a list.
func (r *Relay) listNotTaken(l *listing) (back []Untaken) {
	l.failed.Stop()
	r.mu.Lock()
	r.catalogue.state, r.catalogue.current = notListed, nil
	held := r.catalogue.held
	r.catalogue.held = nil
	var given []*call
	for _, c := range held {
		if r.calls[c.id.Key()] == c {
			delete(r.calls, c.id.Key())
			back = append(back, Untaken{c.m, c.decision.ID, c.approval})
			given = append(given, c)
		}
		r.dropFrame(c)
	}
	r.mu.Unlock()
	for _, c := range given {
		r.finished(c)
	}
	return back
}

// OfferAgain is Offer for a request that another relay gave back. Every check runs again; it
// is charged once.
func (r *Relay) OfferAgain(ctx context.Context, u Untaken) (taken bool) {
	c := &call{id: u.Message.ID, method: u.Message.Method, ctx: ctx, m: u.Message, arrived: time.Now(), large: len(u.Message.Raw) > maxAskedFrame}
	c.decision.ID, c.approval = u.Decision, u.Approval
	c.readsMeta(u.Message)
	why, answer := r.register(c, false)
	if why == whyEnded {
		return false
	}
	r.clientRequest(c, u.Message, why, answer)
	return true
}
