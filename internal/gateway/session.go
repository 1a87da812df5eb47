package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/internal/approval"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
	"github.com/sallyport-dev/sallyport/policy"
)

// session is one client, see the package comment.
type session struct {
	g      *Gateway
	era    upstream.Era
	id     string // for records; the transport's id is a secret
	name   string // the caller's
	engine *sallyport.Session
	desk   *approval.Desk // nil: nobody is asked
	log    *slog.Logger
	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc

	// greeting is what the client says of itself: the params of its initialize, or of a
	// server/discover with what its requests say. Set once, before the first link.
	greeting []byte
	// version is what the gateway and the client speak.
	version string
	// own sends what belongs to no request; nil where there is no such stream.
	own func(frame []byte) error
	// unique says that the client's ids are unique in this session: it has one channel.
	unique bool
	// channel is the client on stdio; nil over HTTP. Guarded by Gateway.mu.
	channel *channel

	mu          sync.Mutex // guards all below
	caller      Caller
	ended       bool
	open        int           // calls that wait for an answer, subscriptions apart
	idle        chan struct{} // closed when draining and open is 0
	links       map[string]*link
	replaced    []*link          // of upstreams that a reload is just replacing; swap closes them
	calls       map[string]*call // by the client's id, if ids are unique
	everyCall   map[*call]struct{}
	legs        map[string]*leg
	lastLeg     int64
	asked       map[string]*question
	lastAsked   int64
	initialized bool           // the client said so
	logLevel    []byte         // raw; nil: not set
	subscribed  map[string]sub // resources by URI
	catalogue   catalogue
	taskTokens  map[string]taskToken // by the token towards the upstream
	absent      map[*place]bool      // upstreams that the client could not be shown
	reviving    map[*place]bool      // of those, what is tried again by itself
	last        time.Time            // a call ended
	unused      *time.Timer          // ends a stateless session; nil in others
	gone        func()               // takes it out of the table that it is found in
	hangUp      func()               // ends the transport session, after the last answers; nil where there is none
	empty       chan struct{}        // closed when no call is left, once the session has ended
	greeted     bool                 // initialize has its answer
	announces   [kindCount]bool      // lists that the client was told can change
}

func (g *Gateway) newSession(c Caller, era upstream.Era, greeting []byte) (*session, error) {
	id := newSessionID()
	engine, err := c.Engine.Session(sallyport.SessionOptions{
		Caller: c.Name, Doubt: cmp.Or(c.Session.Doubt, c.Name), Trust: id, Shared: c.Session.Shared, Key: c.Session.Key,
	})
	if err != nil {
		return nil, err
	}
	u := g.setup.Load()
	s := &session{
		g: g, era: era, id: id, name: c.Name, engine: engine, greeting: greeting, caller: c,
		log:   u.Log.With("session", id, "caller", c.Name),
		links: make(map[string]*link), calls: make(map[string]*call), everyCall: make(map[*call]struct{}),
		legs: make(map[string]*leg), asked: make(map[string]*question), subscribed: make(map[string]sub),
		taskTokens: make(map[string]taskToken), absent: make(map[*place]bool), reviving: make(map[*place]bool),
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.desk = s.newDesk(u)
	g.mu.Lock()
	closed := g.closed
	if !closed {
		g.sessions[s] = struct{}{}
		g.desks.Add(1)
	}
	g.mu.Unlock()
	switch {
	case closed:
		s.cancel(errEnded)
		engine.End()
		return nil, errEnded
	case !s.catchUp():
		s.end("its caller may not call any more")
		return nil, errCaller
	}
	return s, nil
}

var (
	errEnded  = errors.New("the session has ended")
	errCaller = errors.New("this caller may not call any more")
)

func newSessionID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // does not fail
	return hex.EncodeToString(b[:])
}

// setup is the configuration that is in force.
func (s *session) setup() *setup { return s.g.setup.Load() }

func (s *session) currentCaller() Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.caller
}

// shown is the name that rules, texts and lists of this session are about.
func (s *session) shown(upstream string) func(policy.Subject, string) string {
	return func(subject policy.Subject, name string) string {
		return s.setup().naming.shown(subject, upstream, name)
	}
}

// sendOwn sends a message that belongs to no request.
func (s *session) sendOwn(frame []byte) error {
	if s.own == nil {
		return errNoStream
	}
	return s.own(frame)
}

var errNoStream = errors.New("the client has no stream for this")

// drain waits until no call is open, or until ctx ends.
func (s *session) drain(ctx context.Context) {
	s.mu.Lock()
	if s.open == 0 {
		s.mu.Unlock()
		return
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// end ends the session: what is open is answered with an error, and the conversations are
// closed. It returns when they are.
func (s *session) end(why string) { s.endIf(why, func() bool { return true }) }

// endFree is end for a session in which nothing is open. false: something is, or has just
// begun.
func (s *session) endFree(why string) bool {
	return s.endIf(why, func() bool { return len(s.everyCall) == 0 })
}

// endIf is end if may, which is called with mu held, says so. It reports whether the session
// has ended.
func (s *session) endIf(why string, may func() bool) bool {
	s.mu.Lock()
	switch {
	case s.ended:
		s.mu.Unlock()
		return true
	case !may():
		s.mu.Unlock()
		return false
	}
	s.ended = true
	s.dropAll()
	links := append([]*link(nil), s.replaced...)
	for _, l := range s.links {
		links = append(links, l)
	}
	gone := s.gone
	if s.unused != nil {
		s.unused.Stop()
	}
	s.mu.Unlock()

	s.g.mu.Lock()
	delete(s.g.sessions, s)
	s.g.mu.Unlock()
	if gone != nil {
		gone()
	}

	var closed sync.WaitGroup
	for _, l := range links {
		closed.Go(func() { l.end(why) })
	}
	closed.Wait()
	s.mu.Lock()
	var rest []*call
	for c := range s.everyCall { // no upstream had them
		rest = append(rest, c)
	}
	s.mu.Unlock()
	for _, c := range rest {
		c.fail(mcp.CodeInternal, why+" before it was answered")
	}
	if s.hangUp != nil {
		s.delivered()
		s.hangUp()
	}
	s.cancel(errEnded)
	s.engine.End()
	s.closeDesk()
	return true
}

// delivered waits until the last answers are with the client's transport, which does not
// take long unless the client does not read.
func (s *session) delivered() {
	t := time.NewTimer(farewell)
	defer t.Stop()
	s.mu.Lock()
	if len(s.everyCall) == 0 {
		s.mu.Unlock()
		return
	}
	s.empty = make(chan struct{})
	empty := s.empty
	s.mu.Unlock()
	select {
	case <-empty:
	case <-t.C:
	}
}

// openLinks are those that are open or being opened.
func (s *session) openLinks() []*link {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*link
	for _, p := range s.g.setup.Load().places {
		if l := s.links[p.Name]; l != nil && l.place == p {
			all = append(all, l)
		}
	}
	return all
}

// abandon is called when the client sends no more: what servers ask of it is refused, and
// its subscriptions end.
func (s *session) abandon() {
	s.mu.Lock()
	clear(s.asked)
	var listening []*call
	for c := range s.everyCall {
		if c.m.Method == methodListen {
			listening = append(listening, c)
		}
	}
	s.mu.Unlock()
	for _, c := range listening {
		c.cancel(cancelNotice(c.m.ID, "the client has gone"))
	}
	for _, l := range s.openLinks() {
		<-l.built
		l.relay.Drain()
	}
}

func (s *session) isGreeted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.greeted
}
