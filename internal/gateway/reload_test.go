package gateway

import (
	"errors"
	"slices"
	"testing"
)

// only is the one session that there is.
func (r *rig) only() *session {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sessions) != 1 {
		r.t.Fatalf("%d sessions", len(r.sessions))
	}
	for s := range r.sessions {
		return s
	}
	return nil
}

// with is the configuration in force with another server behind the upstream.
func (r *rig) with(changed *server) Options {
	o := r.setup.Load().Options
	o.Upstreams = slices.Clone(o.Upstreams)
	for i, u := range o.Upstreams {
		if u.Name == changed.name {
			o.Upstreams[i] = r.upstreams(changed)[0]
		}
	}
	return o
}

// A call that looked for its upstream before a reload reaches what is there now, and
// nothing stays open at what was removed.
func TestReloadWhileACallLooksForItsUpstream(t *testing.T) {
	a, b := toolServer("a", "look"), toolServer("b", "look")
	r := newRig(t, Options{}, a, b)
	caller := newCaller(t, "ann", everything, nil)
	all := func(string) (Caller, bool) { return caller, true }
	k := r.stdio(caller)
	k.initialize()
	s, oldA, oldB := r.only(), r.setup.Load().place("a"), r.setup.Load().place("b")

	next := r.with(a)
	next.Upstreams = next.Upstreams[:1]
	if err := r.Reload(t.Context(), next, all); err != nil {
		t.Fatal(err)
	}
	l, err := s.link(t.Context(), oldA)
	if err != nil || l.place != r.setup.Load().place("a") {
		t.Errorf("got a link to %v, %v", l.place, err)
	}
	if _, err := s.link(t.Context(), oldB); !errors.Is(err, errRemoved) {
		t.Errorf("got %v of an upstream that was removed", err)
	}
	k.close()
	for _, server := range []*server{a, b} {
		eventually(t, "all is closed at "+server.name, func() bool {
			server.mu.Lock()
			opened := len(server.conns)
			server.mu.Unlock()
			return server.closedConns() == opened
		})
	}
}

// A call that is faster than the reload puts another link in the place of the one that the
// reload has to drain.
func TestReloadDrainsWhatACallReplaced(t *testing.T) {
	a, b := toolServer("a", "look"), toolServer("b", "look")
	r := newRig(t, Options{}, a, b)
	k := r.stdio(newCaller(t, "ann", everything, nil))
	k.initialize()
	s := r.only()
	old, err := s.link(t.Context(), r.setup.Load().place("a"))
	if err != nil {
		t.Fatal(err)
	}
	next := newSetup(r.with(a), r.setup.Load(), r.opener)
	r.setup.Store(next)
	k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__look"}}`)
	if gone := s.swap(next); !slices.Contains(gone, old) {
		t.Error("the link before is not drained")
	}
	old.retire(t.Context())
	if a.closedConns() != 1 {
		t.Errorf("%d conversations are closed", a.closedConns())
	}
}

// What a client has subscribed to is subscribed to again where a reload replaced its server.
func TestSubscriptionsOutliveAReload(t *testing.T) {
	a, b := library("a", []string{"x://a"}, nil, ""), library("b", nil, nil, "")
	r := newRig(t, Options{}, a, b)
	caller := newCaller(t, "ann", everything, nil)
	k := r.stdio(caller)
	k.initialize()
	k.call(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x://a"}}`)
	before := len(a.received())
	if err := r.Reload(t.Context(), r.with(a), func(string) (Caller, bool) { return caller, true }); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is subscribed to again", func() bool {
		for _, m := range a.received()[before:] {
			if message(m).Method == methodSubscribe {
				return true
			}
		}
		return false
	})
}
