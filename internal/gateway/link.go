package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/relay"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// link is a session's way to one upstream: a relay and a conversation. When the
// conversation ends so does the link; another takes its place when it is needed.
type link struct {
	s      *session
	place  *place
	relay  *relay.Relay    // set when built is closed
	caller Caller          // as it was when the link was made
	ctx    context.Context // ends with the link
	cancel context.CancelCauseFunc

	toWrite chan outgoing // in order
	built   chan struct{}
	ready   chan struct{} // closed when it is open or has failed

	// Set before ready is closed, and not changed after.
	err   error
	conn  upstream.Conn
	hello hello

	endOnce sync.Once
	closed  chan struct{} // nothing is left of it

	mu        sync.Mutex // guards all below
	doing     map[string]context.CancelCauseFunc
	settled   chan struct{} // closed when doing is empty; nil: nobody waits for that
	over      bool
	listens   bool // what the client says to all servers goes to this one too
	told      bool // notifications/initialized was sent
	greetedBy mcp.ID
}

var (
	errNotRead = errors.New("too much waits to be written to it")
	errRemoved = errors.New("the server was removed from the configuration")
)

// closePatience bounds how long the end of a conversation is waited for.
const closePatience = 15 * time.Second

// link returns the open link to an upstream, and opens one if there is none. ctx bounds the
// wait, not the opening.
func (s *session) link(ctx context.Context, p *place) (*link, error) {
	l, _, err := s.linkTo(ctx, p)
	return l, err
}

// linkTo is link; fresh says that this call began it.
func (s *session) linkTo(ctx context.Context, p *place) (l *link, fresh bool, err error) {
	s.mu.Lock()
	// Whoever looked before a reload wants what has the name now: nobody would close a link
	// to what was removed.
	if p = s.setup().place(p.Name); p == nil {
		s.mu.Unlock()
		return nil, false, errRemoved
	}
	l = s.links[p.Name]
	switch {
	case s.ended:
		s.mu.Unlock()
		return nil, false, errEnded
	case l == nil || l.place != p || l.isOver():
		if l != nil && l.place != p {
			s.replaced = append(s.replaced, l)
		}
		l, fresh = s.newLink(p), true
		s.links[p.Name] = l
		go l.open()
	}
	s.mu.Unlock()
	select {
	case <-l.ready:
	case <-ctx.Done():
		return nil, fresh, context.Cause(ctx)
	}
	return l, fresh, l.err
}

// isOver reports that a link's conversation has ended, whether or not that was dealt with.
func (l *link) isOver() bool {
	if !l.isReady() {
		return false
	}
	select {
	case <-l.conn.Done():
		return true
	default:
		return false
	}
}

// newLink is called with mu held.
func (s *session) newLink(p *place) *link {
	l := &link{
		s: s, place: p, caller: s.caller, toWrite: make(chan outgoing, maxToServer), built: make(chan struct{}), ready: make(chan struct{}),
		closed: make(chan struct{}), doing: make(map[string]context.CancelCauseFunc),
	}
	l.ctx, l.cancel = context.WithCancelCause(s.ctx)
	return l
}

// build makes the relay.
func (l *link) build() {
	s, p, c, u := l.s, l.place, l.caller, l.s.setup()
	l.relay = relay.New(relay.Options{
		Session: s.engine, Policy: c.Policy, DryRun: c.DryRun, Caller: c.Name, SessionID: s.id, Upstream: p.Name, Pins: p.Pins,
		ToClient: l.toClient, ToServer: l.toServer, Shown: s.shown(p.Name),
		Desk: s.desk, Decides: c.Decides, AskClient: c.AskClient, ClientVersion: s.version,
		Audit: u.Audit, AuditContinue: u.AuditContinue, Log: s.log, MaxMessage: u.MaxMessage,
	})
	close(l.built)
}

// open greets the server through the relay, as the client would.
func (l *link) open() {
	l.build()
	method := methodInitialize
	if l.s.era == upstream.Stateless {
		method = methodDiscover
	}
	m, _ := mcp.Parse(mcp.NewRequest(mcp.IntID(0), method, l.s.greeting))
	answer, err := l.greet(m)
	if err == nil {
		l.hello, err = readHello(answer)
	}
	if err != nil {
		l.err = fmt.Errorf("the server %s cannot be used: %w", quote.Value(l.place.Name, 64), err)
		l.s.log.Warn("an upstream is absent", "upstream", l.place.Name, "reason", err)
		l.s.forget(l)
		close(l.ready)
		l.end(l.err.Error())
		l.s.revive(l.place)
		return
	}
	for k := range kindCount {
		l.s.stale(l.place, k) // another conversation may see another list
	}
	l.catchUp()
	close(l.ready)
	l.s.linked(l)
	<-l.conn.Done()
	l.lost(l.conn.Err())
}

// greet asks for the greeting; the relay hands it to toServer, which knows it by its id.
func (l *link) greet(m mcp.Message) (mcp.Message, error) {
	done := make(chan mcp.Message, 1)
	g := l.s.newLeg(l, nil, func(m mcp.Message) { done <- m })
	l.mu.Lock()
	l.greetedBy = g.id
	l.mu.Unlock()
	m, err := mcp.Rewrite(m, mcp.Edit{Path: []string{"id"}, Value: []byte(g.id.Raw())})
	if err != nil {
		return m, err
	}
	l.relay.FromClient(l.ctx, m)
	select {
	case answer := <-done:
		if answer.Error != nil {
			return answer, errors.New(errorText(answer.Error))
		}
		return answer, nil
	case <-l.ctx.Done():
		return mcp.Message{}, context.Cause(l.ctx)
	}
}

// begin opens the conversation. m is the greeting, judged.
func (l *link) begin(m mcp.Message) {
	conn, answer, err := l.converse(m)
	if err == nil {
		answer, err = mcp.Rewrite(answer, mcp.Edit{Path: []string{"id"}, Value: []byte(m.ID.Raw())})
	}
	if err == nil && !l.take(conn) {
		err = errEnded
	}
	if err != nil {
		l.relay.ServerFailed(m.ID, err.Error())
		if conn != nil {
			l.close(conn)
		}
		return
	}
	go l.write()
	l.relay.FromServer(l.ctx, answer, m.ID)
}

// take makes conn the link's. false: the link has ended, and conn is not wanted.
func (l *link) take(conn upstream.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	l.conn = conn
	return true
}

func (l *link) close(conn upstream.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	if err := conn.Close(ctx); err != nil {
		l.s.log.Warn("a conversation did not end in time", "upstream", l.place.Name, "error", err)
	}
}

// lost ends a link whose conversation is over, and sees to another one if somebody waits for
// what the upstream has to say.
func (l *link) lost(err error) {
	if err == nil {
		err = upstream.ErrDied
	}
	idle := errors.Is(err, upstream.ErrIdle) || errors.Is(err, upstream.ErrClosed)
	if !idle && l.ctx.Err() == nil {
		l.s.log.Warn("the conversation with an upstream is over", "upstream", l.place.Name, "reason", err)
	}
	l.s.forget(l)
	if errors.Is(err, streamhttp.ErrSessionLost) {
		l.settle()
	}
	l.end(fmt.Sprintf("the conversation with the server %s ended (%v)", quote.Value(l.place.Name, 64), err))
	if !idle {
		l.s.revive(l.place)
	}
}

// uses reports that a link is the one to its upstream, and not one that is being replaced.
func (s *session) uses(l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links[l.place.Name] == l
}

// forget takes a link out of its session: the next who needs one opens another.
func (s *session) forget(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.links[l.place.Name] == l {
		delete(s.links, l.place.Name)
	}
}

// end answers what is open and closes the conversation. It returns when that is done, or
// takes too long.
func (l *link) end(why string) {
	l.endOnce.Do(func() {
		defer close(l.closed)
		<-l.built
		l.s.dropAsked(l)
		l.relay.End(context.Background(), why)
		l.mu.Lock()
		l.over = true
		conn := l.conn
		l.mu.Unlock()
		l.cancel(errEnded)
		if conn != nil {
			l.close(conn)
		}
	})
	<-l.closed
}
