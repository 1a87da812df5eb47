package gateway

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// leg is one request to one upstream: a call's, or one of the gateway's own.
type leg struct {
	id    mcp.ID
	at    atomic.Pointer[link] // where it is; another after it was not taken
	moved bool                 // it was; guarded by session.mu
	call  *call
	token []byte // the client's progress token, raw; nil: it wants no progress
	// take gets the answer, once.
	take func(mcp.Message)
	// beside gets what comes before it; nil: it goes to the call's stream.
	beside func(mcp.Message)
	// ended is called when the server ends a subscription without an answer; nil: the call
	// ends with it.
	ended  func()
	handed bool // the relay has it; guarded by call.mu
}

// newLeg numbers a request to an upstream. Ids count up from 1: some servers take no others.
func (s *session) newLeg(l *link, c *call, take func(mcp.Message)) *leg {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastLeg++
	g := &leg{id: mcp.IntID(s.lastLeg), call: c, take: take}
	g.at.Store(l)
	s.legs[g.id.Key()] = g
	return g
}

// takeLeg removes and returns the leg that an answer is for.
func (s *session) takeLeg(id mcp.ID) *leg {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.legs[id.Key()]
	delete(s.legs, id.Key())
	return g
}

func (s *session) leg(id mcp.ID) *leg {
	if id.IsZero() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.legs[id.Key()]
}

var tokenPath = []string{"params", "_meta", "progressToken"}

// progressToken reads a request's progress token, raw; nil if there is none that is a
// string or an integer.
func progressToken(m mcp.Message) []byte {
	f, err := mcp.Fields(m.Params, "_meta")
	if err != nil || len(f[0]) == 0 || f[0][0] != '{' {
		return nil
	}
	if f, err = mcp.Fields(f[0], "progressToken"); err != nil || f[0] == nil {
		return nil
	}
	if _, err := mcp.ParseID(f[0]); err != nil {
		return nil
	}
	return f[0]
}

// forward sends the call on to an upstream, with an id and a progress token of the
// gateway's and the edits. take gets the answer.
func (c *call) forward(l *link, take func(mcp.Message), edits ...mcp.Edit) {
	c.forwardWith(l, nil, take, nil, edits...)
}

// forwardWith is forward with a place for what comes before the answer, and for the end of
// a subscription that gets none.
func (c *call) forwardWith(l *link, beside, take func(mcp.Message), ended func(), edits ...mcp.Edit) {
	if c.offer(l, beside, take, ended, edits...) {
		return
	}
	if m, bad := mcp.Parse(mcp.ErrorResponse(c.m.ID, mcp.CodeInternal, said+errReplaced.Error(), nil)); bad == nil {
		take(m)
	}
}

var errReplaced = errors.New("the conversation with the server has just ended")

// offer is forwardWith that reports false if the link has ended: nothing was sent, and the
// call is still to be answered.
func (c *call) offer(l *link, beside, take func(mcp.Message), ended func(), edits ...mcp.Edit) (taken bool) {
	g := c.s.newLeg(l, c, take)
	g.beside, g.ended = beside, ended
	edits = append(edits, mcp.Edit{Path: []string{"id"}, Value: []byte(g.id.Raw())})
	if g.token = progressToken(c.m); g.token != nil {
		edits = append(edits, mcp.Edit{Path: tokenPath, Value: []byte(g.id.Raw())})
	}
	m, err := mcp.Rewrite(c.m, edits...)
	if err != nil {
		c.s.takeLeg(g.id)
		c.fail(mcp.CodeInvalidParams, "the request cannot be passed on: "+err.Error())
		return true
	}
	if !c.add(g) {
		c.s.takeLeg(g.id)
		return true
	}
	if !l.relay.Offer(c.ctx, m, !c.s.uses(l)) {
		c.s.takeLeg(g.id)
		return false
	}
	c.handedOver(g)
	return true
}

// ask sends a request of the gateway's own, made from m with the edits, and waits for its
// answer.
func (s *session) ask(ctx context.Context, l *link, m mcp.Message, edits ...mcp.Edit) (mcp.Message, error) {
	done := make(chan mcp.Message, 1)
	g := s.newLeg(l, nil, func(m mcp.Message) { done <- m })
	edits = append(edits, mcp.Edit{Path: []string{"id"}, Value: []byte(g.id.Raw())})
	if progressToken(m) != nil {
		edits = append(edits, mcp.Edit{Path: tokenPath})
	}
	m, err := mcp.Rewrite(m, edits...)
	if err != nil {
		s.takeLeg(g.id)
		return mcp.Message{}, err
	}
	l.relay.FromClient(ctx, m)
	select {
	case answer := <-done:
		return answer, nil
	case <-ctx.Done():
		s.takeLeg(g.id)
		g.cancel(cancelNotice(g.id, "nobody waits for it any more"))
		return mcp.Message{}, context.Cause(ctx)
	}
}

// cancel passes a cancellation on, with the leg's id in it.
func (g *leg) cancel(notice []byte) {
	m, bad := mcp.Parse(notice)
	if bad != nil {
		return
	}
	if m, err := mcp.Rewrite(m, mcp.Edit{Path: []string{"params", "requestId"}, Value: []byte(g.id.Raw())}); err == nil {
		g.at.Load().relay.FromClient(context.Background(), m)
	}
}

// cancelNotice is a notifications/cancelled of the gateway's own.
func cancelNotice(id mcp.ID, reason string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"requestId":`)
	b.WriteString(id.Raw())
	b.WriteString(`,"reason":`)
	b.Write(rawText(said + reason))
	b.WriteByte('}')
	return mcp.NewNotification(methodCancelled, b.Bytes())
}
