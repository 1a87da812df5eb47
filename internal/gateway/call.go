package gateway

import (
	"context"
	"net/http"
	"sync"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// Exchange is one request of a client and the way back to it: a *streamhttp.Exchange, or
// one of a session on stdio.
type Exchange interface {
	Send(frame []byte) error // on this request's own stream, before the answer
	Reply(frame []byte) error
	ReplyStatus(status int, frame []byte) error
	Drop() error // no answer: the client cancelled
}

// call is one request of the client, from its arrival to its answer.
type call struct {
	s   *session
	ctx context.Context // ends when nobody can get the answer
	x   Exchange
	m   mcp.Message
	box *mailbox

	headers func(name string) (value string, present, ok bool) // of Mcp-Param-…; nil: none are sent

	mu        sync.Mutex // guards all below
	cancelled []byte     // the client's notice, or one of the gateway's own
	legs      []*leg
	uncounted bool            // no longer in session.open
	badStatus bool            // the request is malformed: 400 in stateless versions
	heard     map[*place]bool // of a subscription: upstreams that were listened to before

	follows [kindCount]bool // of a subscription: lists whose changes it hears of; guarded by session.mu
}

// begin registers a request of the client's. why says that it is refused; again, that its
// id has its one answer coming from another.
func (s *session) begin(ctx context.Context, x Exchange, m mcp.Message) (c *call, why string, again bool) {
	c = &call{s: s, ctx: ctx, x: x, m: m, box: newMailbox()}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return nil, errEnded.Error(), false
	case s.unique && s.calls[m.ID.Key()] != nil:
		return nil, "its id is in use by another request", true
	case len(s.everyCall) >= maxCalls:
		return nil, "too many requests are open", false
	}
	if s.unique {
		s.calls[m.ID.Key()] = c
	}
	s.everyCall[c] = struct{}{}
	if s.unused != nil {
		s.unused.Stop()
	}
	if m.Method == methodListen {
		c.uncounted = true // it stays open as long as the client likes
	} else {
		s.open++
	}
	return c, "", false
}

// serve takes a request to its answer and returns when that was handed to the client. taken
// is called when the request can be cancelled.
func (s *session) serve(ctx context.Context, x Exchange, m mcp.Message, taken func()) {
	c, why, again := s.begin(ctx, x, m)
	taken()
	if c == nil {
		s.log.Warn("a request of the client is refused", "reason", why)
		if again && s.unique {
			_ = x.Drop()
			return
		}
		_ = x.Reply(mcp.ErrorResponse(m.ID, mcp.CodeInvalidRequest, said+why, nil))
		return
	}
	c.run()
}

// run dispatches a registered call, and writes what comes for it.
func (c *call) run() {
	defer c.finished()
	go c.dispatch()
	gone := c.ctx.Done()
	for {
		letters, answer, last := c.box.take()
		for _, l := range letters {
			if err := c.x.Send(l.frame); err != nil && l.lost != nil {
				l.lost()
			}
		}
		if last {
			c.release() // before the client can know
			c.deliver(answer)
			return
		}
		select {
		case <-c.box.wake:
		case <-gone:
			gone = nil
			c.cancel(cancelNotice(c.m.ID, "the client has gone"))
		}
	}
}

// deliver writes the answer, nil for none.
func (c *call) deliver(answer []byte) {
	if answer == nil {
		_ = c.x.Drop()
		return
	}
	if status := c.status(answer); status != http.StatusOK {
		_ = c.x.ReplyStatus(status, answer)
		return
	}
	_ = c.x.Reply(answer)
}

// status is what HTTP says of an answer in stateless versions (2026-07-28, transports,
// Streamable HTTP, and basic, "Error Codes").
func (c *call) status(answer []byte) int {
	if c.s.era != upstream.Stateless {
		return http.StatusOK
	}
	c.mu.Lock()
	malformed := c.badStatus
	c.mu.Unlock()
	if malformed {
		return http.StatusBadRequest
	}
	m, bad := mcp.Parse(answer)
	if bad != nil || m.Error == nil {
		return http.StatusOK
	}
	switch errorCode(m.Error) {
	case mcp.CodeMethodNotFound:
		return http.StatusNotFound
	case streamhttp.CodeHeaderMismatch, streamhttp.CodeUnsupportedVersion, codeMissingCapability:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// release lets the client use the id again.
func (c *call) release() {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[c.m.ID.Key()] == c {
		delete(s.calls, c.m.ID.Key())
	}
}

// finished forgets a call that has its answer.
func (c *call) finished() {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.everyCall, c)
	if len(s.everyCall) == 0 && s.empty != nil {
		close(s.empty)
		s.empty = nil
	}
	c.mu.Lock()
	counted := !c.uncounted
	c.uncounted = true
	for _, g := range c.legs {
		delete(s.legs, g.id.Key())
	}
	c.mu.Unlock()
	if counted {
		if s.open--; s.open == 0 && s.idle != nil {
			close(s.idle)
			s.idle = nil
		}
	}
	s.used()
}

// answer gives the call its answer, a response to whatever id. Only the first counts.
func (c *call) answer(m mcp.Message, edits ...mcp.Edit) {
	out, err := mcp.Rewrite(m, append(edits, mcp.Edit{Path: []string{"id"}, Value: []byte(c.m.ID.Raw())})...)
	if err != nil {
		c.s.log.Error("an answer cannot be written", "method", c.m.Method, "error", err)
		c.fail(mcp.CodeInternal, "the answer cannot be written")
		return
	}
	c.box.finish(out.Raw)
}

// result gives the call a result of the gateway's own, raw.
func (c *call) result(raw []byte) {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), c.m.ID.Raw()...)
	b = append(append(append(b, `,"result":`...), raw...), '}')
	c.box.finish(b)
}

// said is what every error of the gateway's own begins with.
const said = mcp.Said

func (c *call) fail(code int, text string) {
	c.box.finish(mcp.ErrorResponse(c.m.ID, code, said+text, nil))
}

// cancel ends a call without an answer: notice is the client's. Every upstream that has a
// part of it hears so.
func (c *call) cancel(notice []byte) {
	if !c.box.finish(nil) {
		return
	}
	c.release()
	c.giveUp(notice)
}

// giveUp tells the upstreams that nobody waits for the call any more.
func (c *call) giveUp(notice []byte) {
	c.mu.Lock()
	c.cancelled = notice
	var handed []*leg
	for _, g := range c.legs {
		if g.handed {
			handed = append(handed, g)
		}
	}
	c.mu.Unlock()
	for _, g := range handed {
		g.cancel(notice)
	}
}

// add makes a leg part of the call. false: the call was cancelled.
func (c *call) add(g *leg) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancelled != nil {
		return false
	}
	c.legs = append(c.legs, g)
	return true
}

func (c *call) isCancelled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancelled != nil
}

// handedOver notes that the relay has a leg, and cancels it if that was asked meanwhile.
func (c *call) handedOver(g *leg) {
	c.mu.Lock()
	g.handed = true
	notice := c.cancelled
	c.mu.Unlock()
	if notice != nil {
		g.cancel(notice)
	}
}
