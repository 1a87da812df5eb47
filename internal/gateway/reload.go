package gateway

import (
	"context"
	"sync"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/relay"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// Reload puts another configuration in the place of the one that is in force. Sessions go
// on: callers says by what each caller is decided from now on, and false for one that may
// not call any more, whose sessions end. An upstream with the same Server stays as it is;
// others are opened, and what is gone or was replaced is closed, with its server, when its
// open calls have their answers or ctx ends. Clients hear that the lists have changed. With
// an error nothing has changed.
func (g *Gateway) Reload(ctx context.Context, o Options, callers func(name string) (Caller, bool)) error {
	o, err := o.checked()
	if err != nil {
		return err
	}
	before := g.setup.Load()
	next := newSetup(o, before, before.opener)
	g.setup.Store(next)
	g.mu.Lock()
	g.callers = callers
	g.reloads++
	all := make([]*session, 0, len(g.sessions))
	for s := range g.sessions {
		all = append(all, s)
	}
	g.mu.Unlock()

	var drained sync.WaitGroup
	for _, s := range all {
		c, ok := callers(s.name)
		if !ok {
			drained.Go(func() { s.end("its caller may not call any more") })
			continue
		}
		if !s.use(c) {
			drained.Go(func() { s.end("the new configuration cannot be used in it") })
			continue
		}
		for _, l := range s.swap(next) {
			drained.Go(func() { l.retire(ctx) })
		}
		s.changed()
	}
	go func() {
		drained.Wait()
		for _, p := range before.places {
			if now := next.place(p.Name); now != p && !next.serves(p.Server) {
				if err := p.Server.Close(ctx); err != nil {
					next.Log.Warn("an upstream that was removed did not end in time", "upstream", p.Name, "error", err)
				}
			}
		}
	}()
	return nil
}

// catchUp makes a new session decide by the configuration that is in force: a reload may
// have gone on while it began, and has not seen it then. false: its caller may not call.
func (s *session) catchUp() bool {
	for {
		s.g.mu.Lock()
		reloads, callers := s.g.reloads, s.g.callers
		s.g.mu.Unlock()
		if callers != nil {
			c, ok := callers(s.name)
			if !ok || c.Engine != s.currentCaller().Engine && !s.use(c) {
				return false
			}
		}
		s.g.mu.Lock()
		same := reloads == s.g.reloads
		s.g.mu.Unlock()
		if same {
			return true
		}
	}
}

// serves reports whether a server is still one of the upstreams, under whatever name.
func (u *setup) serves(server *upstream.Server) bool {
	for _, p := range u.places {
		if p.Server == server {
			return true
		}
	}
	return false
}

// use makes a session decide by what its caller is decided by now. false: it cannot.
func (s *session) use(c Caller) bool {
	// Until the engine and what questions are bound to are both the new ones, a yes is one for
	// neither: what was agreed to under the old configuration covers nothing that the new one
	// decides.
	between := s.currentCaller()
	if between.Decides != c.Decides {
		between.Decides += " before " + c.Decides
	}
	s.askFor(between)
	notices, err := s.engine.Use(c.Engine)
	if err != nil {
		s.log.Error("a session cannot take the new configuration and ends", "error", err)
		return false
	}
	for _, n := range notices {
		if n.Warning {
			s.log.Warn(n.Text)
		} else {
			s.log.Info(n.Text)
		}
	}
	s.reaskBy(s.setup())
	s.askFor(c)
	return true
}

// askFor makes what is recorded and asked in a session be a caller's, and in links that are
// made later.
func (s *session) askFor(c Caller) {
	s.mu.Lock()
	s.caller = c
	links := append([]*link(nil), s.replaced...)
	for _, l := range s.links {
		links = append(links, l)
	}
	s.mu.Unlock()
	for _, l := range links {
		<-l.built
		l.relay.SetPolicy(relay.Rules{Policy: c.Policy, DryRun: c.DryRun, Decides: c.Decides, AskClient: c.AskClient})
	}
}

// swap takes out the links whose upstream is gone, forgets what was listed, and has new
// upstreams opened. It returns the links that are to be closed.
func (s *session) swap(next *setup) (gone []*link) {
	s.mu.Lock()
	gone, s.replaced = s.replaced, nil // calls were faster
	for name, l := range s.links {
		if next.place(name) != l.place {
			gone = append(gone, l)
			delete(s.links, name)
		}
	}
	s.dropAll()
	for _, p := range next.places {
		if s.era == upstream.Handshake && s.greeted && !s.ended && s.links[p.Name] == nil {
			l := s.newLink(p)
			s.links[p.Name], s.absent[p] = l, true
			go l.open()
		}
	}
	s.mu.Unlock()
	return gone
}

// retire closes a link when its open calls have their answers.
func (l *link) retire(ctx context.Context) {
	<-l.built
	select {
	case <-l.relay.Drain():
	case <-ctx.Done():
	}
	l.end("its upstream was removed from the configuration")
}

// changed tells the client that every list may have changed.
func (s *session) changed() {
	s.announce([kindCount]bool{true, true, true, true})
	s.mu.Lock()
	var listening []*call
	for c := range s.everyCall {
		if c.m.Method == methodListen {
			listening = append(listening, c)
		}
	}
	s.mu.Unlock()
	for _, c := range listening {
		for k, method := range changedMethods {
			s.mu.Lock()
			follows := c.follows[k]
			s.mu.Unlock()
			if follows {
				m, _ := mcp.Parse(mcp.NewNotification(method, nil))
				c.tellSubscribed(m)
			}
		}
	}
}
