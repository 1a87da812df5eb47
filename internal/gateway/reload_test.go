package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
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

// A call that waits for a server which a reload replaces meanwhile goes to the new one.
func TestACallOutlivesTheReloadOfItsServer(t *testing.T) {
	a, b := toolServer("a", "look"), toolServer("b", "look")
	r := newRig(t, Options{StartTimeout: time.Millisecond}, a, b)
	gate, waits := make(chan struct{}), make(chan struct{}, 1)
	r.setup.Load().place("a").open = func(ctx context.Context, c upstream.Client, beside func(mcp.Message)) (upstream.Conn, mcp.Message, error) {
		waits <- struct{}{}
		<-gate
		return a.open(ctx, c, beside)
	}
	caller := newCaller(t, "ann", everything, nil)
	k := r.stdio(caller)
	k.initialize()
	<-waits
	s := r.only()
	for i := range 20 {
		k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a__look"}}`, i))
	}
	eventually(t, "the calls are there", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.everyCall) == 20
	})
	if err := r.Reload(t.Context(), r.with(a), func(string) (Caller, bool) { return caller, true }); err != nil {
		t.Fatal(err)
	}
	close(gate)
	for got := 0; got < 20; {
		line := k.next()
		if message(line).Kind != mcp.Response {
			continue
		}
		got++
		if !strings.Contains(line, "a ran") {
			t.Errorf("got %s", line)
		}
	}
}

// A subscription at several servers goes on at those that a reload replaced.
func TestAMergedSubscriptionOutlivesAReload(t *testing.T) {
	a, changeA := listening("a", "")
	b, _ := listening("b", "")
	r := newRig(t, Options{}, a, b)
	caller := newCaller(t, "ann", everything, nil)
	s := r.overHTTP(caller)
	next, stop := listen(t, s.URL, "ann", `3`, `{"resourceSubscriptions":["a://one"]}`)
	defer stop()
	if got := next(); !strings.Contains(got, `"resourceSubscriptions":["a://one"]`) {
		t.Fatalf("got %s", got)
	}
	before := len(a.received())
	if err := r.Reload(t.Context(), r.with(a), func(string) (Caller, bool) { return caller, true }); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it listens again", func() bool {
		for _, m := range a.received()[before:] {
			if message(m).Method == methodListen {
				return true
			}
		}
		return false
	})
	changeA(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"uri":"a://one"}}`)
	if got := next(); !strings.Contains(got, `"uri":"a://one"`) || !strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":3`) {
		t.Fatalf("got %s", got)
	}
}
