package gateway

import (
	"context"
	"fmt"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// question is a request of a server's that waits for the client's answer.
type question struct {
	id    mcp.ID // towards the client
	link  *link
	asker mcp.ID // the server's id
	call  *call  // that it is about; nil: not known
	token []byte // the server's progress token, raw
}

// asks takes a request of the server's to the client, under an id of the gateway's.
func (l *link) asks(m mcp.Message, g *leg) {
	s := l.s
	q := &question{link: l, asker: m.ID, token: progressToken(m)}
	if g != nil {
		q.call = g.call
	}
	if why := s.enter(q, m.Method); why != "" {
		l.refuse(m.ID, why)
		return
	}
	edits := []mcp.Edit{{Path: []string{"id"}, Value: []byte(q.id.Raw())}}
	if q.token != nil {
		edits = append(edits, mcp.Edit{Path: tokenPath, Value: []byte(q.id.Raw())})
	}
	out, err := mcp.Rewrite(m, edits...)
	if err != nil {
		s.takeQuestion(q.id)
		l.refuse(m.ID, "the request cannot be passed on")
		return
	}
	own := func() {
		if err := s.sendOwn(out.Raw); err != nil && s.takeQuestion(q.id) != nil {
			l.refuse(q.asker, "the client cannot be asked: "+err.Error())
		}
	}
	if q.call == nil || !q.call.box.put(letter{frame: out.Raw, lost: own}) {
		own()
	}
}

// enter registers a question. why is not "" if it may not be asked.
func (s *session) enter(q *question, method string) (why string) {
	if s.era == upstream.Stateless {
		return "this protocol version has no requests of servers"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return errEnded.Error()
	case !s.initialized && method != methodPing:
		return "the client is not initialized yet"
	case len(s.asked) >= maxAsked:
		return "too many requests are open"
	}
	s.lastAsked++
	q.id = mcp.IntID(s.lastAsked)
	s.asked[q.id.Key()] = q
	return ""
}

// refuse answers a request of the server's with an error. The relay, which has let it
// through, takes it for the client's answer.
func (l *link) refuse(id mcp.ID, why string) {
	m, bad := mcp.Parse(mcp.ErrorResponse(id, mcp.CodeInternal, said+why, nil))
	if bad == nil {
		l.relay.FromClient(context.Background(), m)
	}
}

func (s *session) takeQuestion(id mcp.ID) *question {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.asked[id.Key()]
	delete(s.asked, id.Key())
	return q
}

// answered takes the client's answer to whom it is for. Only what this session was asked
// can be answered in it.
func (s *session) answered(ctx context.Context, m mcp.Message) {
	q := s.takeQuestion(m.ID)
	if m.ID.IsZero() || q == nil {
		s.log.Warn("an answer of the client that answers nothing is dropped", "id", quote.Text(m.ID.Raw(), 64))
		return
	}
	out, err := mcp.Rewrite(m, mcp.Edit{Path: []string{"id"}, Value: []byte(q.asker.Raw())})
	if err != nil {
		q.link.refuse(q.asker, "the client's answer cannot be passed on")
		return
	}
	q.link.relay.FromClient(ctx, out)
}

// serverCancels passes on that a server does not want the answer to a request any more, or
// that it ends a subscription.
func (l *link) serverCancels(m mcp.Message) {
	s, id := l.s, requestID(m)
	if id.IsZero() {
		return
	}
	if g := s.leg(id); g != nil && g.at.Load() == l && g.call != nil && g.call.m.Method == methodListen {
		l.subscriptionEnded(g, m)
		return
	}
	s.mu.Lock()
	var q *question
	for _, asked := range s.asked {
		if asked.link == l && asked.asker.Key() == id.Key() {
			q = asked
			delete(s.asked, asked.id.Key())
			break
		}
	}
	s.mu.Unlock()
	if q != nil {
		q.withdraw(m)
	}
}

// withdraw tells the client that a question is over.
func (q *question) withdraw(m mcp.Message) {
	out, err := mcp.Rewrite(m, mcp.Edit{Path: []string{"params", "requestId"}, Value: []byte(q.id.Raw())})
	if err != nil {
		return
	}
	if q.call == nil || !q.call.box.put(letter{frame: out.Raw}) {
		q.link.s.tell(out)
	}
}

// dropAsked withdraws what a server has asked that is gone.
func (s *session) dropAsked(l *link) {
	s.mu.Lock()
	var gone []*question
	for key, q := range s.asked {
		if q.link == l {
			gone = append(gone, q)
			delete(s.asked, key)
		}
	}
	s.mu.Unlock()
	for _, q := range gone {
		m, bad := mcp.Parse(cancelNotice(q.id, fmt.Sprintf("the server %s has gone", quote.Value(l.place.Name, 64))))
		if bad == nil {
			q.withdraw(m)
		}
	}
}

// notified takes a notification of the client's.
func (s *session) notified(ctx context.Context, m mcp.Message) {
	switch {
	case !mcp.Known(mcp.ToServer, mcp.Notification, m.Method):
		s.log.Warn("a notification of the client is dropped: not known", "method", quote.Text(m.Method, 64))
	case m.Method == methodCancelled:
		s.mu.Lock()
		c := s.calls[requestID(m).Key()]
		s.mu.Unlock()
		if c != nil && c.m.Method != methodInitialize {
			c.cancel(m.Raw)
		}
	case s.era == upstream.Stateless: // there are no others
	case m.Method == methodInitialized:
		s.mu.Lock()
		s.initialized = true
		s.mu.Unlock()
		for _, l := range s.openLinks() {
			l.tellInitialized(m)
		}
	case m.Method == methodProgress:
		s.progressOfClient(ctx, m)
	default:
		for _, l := range s.openLinks() {
			if l.isReady() {
				l.relay.FromClient(ctx, m)
			}
		}
	}
}

// progressOfClient takes progress about a question to whom it is for.
func (s *session) progressOfClient(ctx context.Context, m mcp.Message) {
	f, err := mcp.Fields(m.Params, "progressToken")
	if err != nil {
		return
	}
	id, err := mcp.ParseID(f[0])
	if err != nil {
		return
	}
	s.mu.Lock()
	q := s.asked[id.Key()]
	s.mu.Unlock()
	if q == nil || q.token == nil {
		return
	}
	if m, err := mcp.Rewrite(m, mcp.Edit{Path: progressPath, Value: q.token}); err == nil {
		q.link.relay.FromClient(ctx, m)
	}
}

// isReady reports that a link is open.
func (l *link) isReady() bool {
	select {
	case <-l.ready:
		return l.err == nil
	default:
		return false
	}
}

// tellInitialized passes the client's word on, once. A link that is still being opened
// does so itself.
func (l *link) tellInitialized(m mcp.Message) {
	l.mu.Lock()
	tell := l.listens && !l.told
	l.told = l.told || tell
	l.mu.Unlock()
	if tell {
		l.relay.FromClient(l.ctx, m)
	}
}
