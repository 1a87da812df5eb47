package gateway

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// place is an upstream and how a conversation with it is opened. It stays the same over
// reloads that do not change its server.
type place struct {
	Upstream
	open opener
}

// opener begins a conversation: Server.Open, but for tests.
type opener func(context.Context, upstream.Client, func(mcp.Message)) (upstream.Conn, mcp.Message, error)

func openServer(u Upstream) opener { return u.Server.Open }

// setup is one configuration. Reload puts another in its place.
type setup struct {
	Options
	naming naming
	places []*place // in order
	opener func(Upstream) opener
}

func newSetup(o Options, before *setup, open func(Upstream) opener) *setup {
	u := &setup{Options: o, naming: o.naming(), opener: open}
	for _, up := range o.Upstreams {
		p := &place{Upstream: up, open: open(up)}
		if up.Shared {
			p.open = share(p.open, &u.Options)
		}
		if before != nil {
			if old := before.place(up.Name); old != nil && old.Server == up.Server && old.Shared == up.Shared {
				p = old
			}
		}
		u.places = append(u.places, p)
	}
	return u
}

// place returns the upstream of that name, nil if there is none.
func (u *setup) place(name string) *place {
	for _, p := range u.places {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Gateway is what all clients talk to. Safe for concurrent use.
type Gateway struct {
	setup    atomic.Pointer[setup]
	id       string        // that no other has
	listTime time.Duration // but for tests the constant
	now      func() time.Time
	// maxListBytes is, but for tests, the constant; listBytes is how many there are.
	maxListBytes int64
	listBytes    atomic.Int64

	quiet     chan struct{} // closed when subscriptions are to end
	quietOnce sync.Once
	desks     sync.WaitGroup // of sessions that have not ended; grows under mu, and not after closed is set

	mu        sync.Mutex // guards all below
	sessions  map[*session]struct{}
	handshake map[*streamhttp.Session]*session
	stateless map[string]statelessCaller // by caller
	closed    bool
	reloads   int
	callers   func(name string) (Caller, bool) // of the last Reload; nil before
}

// New checks the options. It opens nothing: conversations with the upstreams begin when a
// client needs them.
func New(o Options) (*Gateway, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		id: newSessionID(), listTime: listTime, now: time.Now, maxListBytes: maxListBytes, quiet: make(chan struct{}), sessions: make(map[*session]struct{}), handshake: make(map[*streamhttp.Session]*session),
		stateless: make(map[string]statelessCaller),
	}
	g.setup.Store(newSetup(o, nil, openServer))
	return g, nil
}

// Quiet ends all subscriptions in good order: they have no end of their own, and whoever
// waits for open calls before Close calls it first.
func (g *Gateway) Quiet() { g.quietOnce.Do(func() { close(g.quiet) }) }

// Close ends all sessions: it waits until their open calls have their answers, or until ctx
// ends, and answers the rest with an error. It then ends the conversations, and the servers.
func (g *Gateway) Close(ctx context.Context) error {
	g.Quiet()
	g.mu.Lock()
	g.closed = true
	all := make([]*session, 0, len(g.sessions))
	for s := range g.sessions {
		all = append(all, s)
	}
	g.mu.Unlock()
	var ended sync.WaitGroup
	for _, s := range all {
		ended.Go(func() {
			s.drain(ctx)
			s.end("the gateway is stopping")
		})
	}
	ended.Wait()
	g.desks.Wait() // also of sessions whose transport ended them; each takes a bounded time
	var errs []error
	for _, p := range g.setup.Load().places {
		errs = append(errs, p.Server.Close(ctx))
	}
	return errors.Join(errs...)
}

// Status is how an upstream is doing, and how many sessions use it.
type Status struct {
	upstream.Status
	Sessions int
}

// Status tells how the upstreams are, in their order.
func (g *Gateway) Status() []Status {
	count := make(map[*place]int)
	g.mu.Lock()
	for s := range g.sessions {
		s.mu.Lock()
		for _, l := range s.links {
			count[l.place]++
		}
		s.mu.Unlock()
	}
	g.mu.Unlock()
	var all []Status
	for _, p := range g.setup.Load().places {
		all = append(all, Status{p.Server.Status(), count[p]})
	}
	return all
}
