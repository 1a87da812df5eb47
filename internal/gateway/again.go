package gateway

import (
	"context"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/relay"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// A server that answers 404 for a session has lost it and did nothing with the request. The
// client did nothing wrong and would not know what to do about it: the request is made
// again in another conversation, once. Whatever else happens to a request, it is not.

// notTaken makes what the server did not take again.
func (l *link) notTaken(m mcp.Message, why error) {
	text := failure(l.place.Name, why)
	if g := l.s.leg(m.ID); g != nil && !l.s.mayMove(g) {
		l.relay.ServerFailed(m.ID, text)
		return
	}
	back := l.relay.NotTaken(m)
	if len(back) == 0 {
		l.relay.ServerFailed(m.ID, text)
		return
	}
	l.s.log.Info("an upstream has lost the session: what it did not take is made again", "upstream", l.place.Name)
	for _, u := range back {
		go l.s.again(l.place, u, text)
	}
}

// mayMove reports whether a leg was not made again before.
func (s *session) mayMove(g *leg) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !g.moved
}

// again gives a request that was not taken to another conversation with the upstream, where
// it is judged anew by what that lists.
func (s *session) again(p *place, u relay.Untaken, why string) {
	g := s.leg(u.Message.ID)
	if g == nil { // nobody waits for it any more
		s.engine.Forget(u.Decision)
		return
	}
	s.mu.Lock()
	before := g.moved
	g.moved = true
	s.mu.Unlock()
	ctx := relay.AskNobody(s.ctx)
	if g.call != nil {
		ctx = g.call.ctx
	}
	if !before && s.offerAgain(ctx, p, g, u, &why) {
		if g.call != nil {
			g.call.handedOver(g) // it may have been cancelled meanwhile
		}
		return
	}
	s.engine.Forget(u.Decision)
	if g := s.takeLeg(g.id); g != nil {
		if m, bad := mcp.Parse(mcp.ErrorResponse(g.id, mcp.CodeInternal, said+why, nil)); bad == nil {
			g.take(m)
		}
	}
}

// offerAgain reports whether a relay has the request now; why is changed to why not.
func (s *session) offerAgain(ctx context.Context, p *place, g *leg, u relay.Untaken, why *string) bool {
	for range maxTries {
		to, err := s.link(ctx, p)
		if err != nil {
			*why = err.Error()
			return false
		}
		if g.call != nil && g.call.isCancelled() {
			*why = (&upstream.Cancelled{}).Error()
			return false
		}
		g.at.Store(to)
		if to.relay.OfferAgain(ctx, u) {
			return true
		}
	}
	return false
}

// settle waits until every request on a lost conversation has come back: what was not taken
// is not to be answered by the end of the link.
func (l *link) settle() {
	l.mu.Lock()
	if len(l.doing) == 0 {
		l.mu.Unlock()
		return
	}
	if l.settled == nil {
		l.settled = make(chan struct{})
	}
	settled := l.settled
	l.mu.Unlock()
	t := time.NewTimer(closePatience)
	defer t.Stop()
	select {
	case <-settled:
	case <-t.C:
	case <-l.ctx.Done():
	}
}
