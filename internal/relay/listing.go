package relay

import (
	"context"
	"fmt"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// catalogue is what is known of the server's tool list. Guarded by Relay.mu.
type catalogue struct {
	state catalogueState
	stale bool    // it changed while it was being listed
	held  []*call // wait for it, in order
	meta  []byte  // what the newest of them says of its client, see requestMeta
	like  mcp.ID  // an id of the client's, see ownID
	eager int     // runs so far that no call waited for

	releasing bool // releaseHeld runs, or is about to: a call must not be taken up twice
	current   *listing
}

type catalogueState int

const (
	notListed catalogueState = iota
	beingListed
	listedState
)

// listing is one run of the gateway's own tools/list, over all its pages.
type listing struct {
	id     mcp.ID
	meta   []byte // _meta of each page's request, raw; nil in the handshake era
	tools  []contract.Tool
	seen   map[string]bool // cursors
	again  int             // runs before this one that a change made worthless
	size   int             // bytes of the pages so far
	failed *time.Timer
	late   bool // the time was up while a page was read; guarded by Relay.mu
}

// Limits of one listing.
const (
	maxPages  = 200
	maxListed = 10_000
	maxAgain  = 3
	maxEager  = 32 // runs of one session that no call waits for
)

// listed reports whether the tool list is known. If not, c is held and the list asked
// for: the first call waits for one round trip more, no other.
func (r *Relay) listed(c *call, m mcp.Message) bool {
	r.mu.Lock()
	if r.catalogue.state == listedState && len(r.catalogue.held) == 0 {
		if !r.catalogue.stale {
			r.mu.Unlock()
			return true
		}
		r.catalogue.state = notListed
	}
	r.catalogue.held = append(r.catalogue.held, c)
	r.catalogue.meta = requestMeta(m)
	if r.catalogue.state != notListed {
		r.mu.Unlock()
		return false
	}
	r.catalogue.state = beingListed
	frame := r.newListing(c.id, 0)
	r.mu.Unlock()
	r.send(built(frame))
	return false
}

// newListing is called with mu held and returns the request to send.
func (r *Relay) newListing(like mcp.ID, again int) []byte {
	r.catalogue.like = like
	l := &listing{id: r.ownID(like), meta: r.catalogue.meta, seen: make(map[string]bool), again: again}
	r.own[l.id.Key()] = l
	r.catalogue.current = l
	r.catalogue.stale = false
	l.failed = time.AfterFunc(r.opt.ListTimeout, func() {
		if r.dropListing(l) {
			r.listFailed(l, r.tooSlow())
		}
	})
	return listRequest(l, "")
}

func (r *Relay) tooSlow() string {
	return fmt.Sprintf("the server did not list its tools within %v", r.opt.ListTimeout)
}

// requestMeta copies what a request of 2026-07-28 says of its client.
func requestMeta(m mcp.Message) []byte {
	if mcp.RequestVersion(m) == "" {
		return nil
	}
	f, err := mcp.Fields(m.Params, "_meta")
	if err != nil {
		return nil
	}
	names := []string{"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo", metaCapabilities}
	values, err := mcp.Fields(f[0], names...)
	if err != nil {
		return nil
	}
	meta := []byte{'{'}
	for i, v := range values {
		if v == nil {
			continue
		}
		if len(meta) > 1 {
			meta = append(meta, ',')
		}
		meta = append(meta, '"')
		meta = append(meta, names[i]...)
		meta = append(meta, `":`...)
		meta = append(meta, v...)
	}
	return append(meta, '}')
}

func listRequest(l *listing, cursor string) []byte {
	params := []byte{'{'}
	if l.meta != nil {
		params = append(append(params, `"_meta":`...), l.meta...)
	}
	if cursor != "" {
		if len(params) > 1 {
			params = append(params, ',')
		}
		text, _ := doc.FromGo(cursor) // a cursor was decoded from JSON: it is valid text
		params = text.AppendJSON(append(params, `"cursor":`...))
	}
	return mcp.NewRequest(l.id, "tools/list", append(params, '}'))
}

// takeListing returns the listing that the server answers under id.
func (r *Relay) takeListing(id mcp.ID) *listing {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.own[id.Key()]
	delete(r.own, id.Key())
	return l
}

func (r *Relay) dropListing(l *listing) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.own[l.id.Key()] != l {
		l.late = true
		return false
	}
	delete(r.own, l.id.Key())
	return true
}

// listAnswered takes one page. It runs in the server's reader.
func (r *Relay) listAnswered(ctx context.Context, l *listing, m mcp.Message) {
	if m.Error != nil {
		r.listFailed(l, "the server refused to list its tools")
		return
	}
	v, err := doc.Parse(m.Result, doc.Limits{})
	if err != nil || v.Get("tools").Kind() != doc.List {
		r.listFailed(l, "the server's tool list cannot be read")
		return
	}
	if l.size += len(m.Result); l.size > r.opt.MaxMessage {
		r.listFailed(l, "the server's tool list is too large")
		return
	}
	l.tools = append(l.tools, r.tools(v)...)
	cursor := v.Get("nextCursor").String()
	switch {
	case cursor == "":
		r.listDone(ctx, l)
	case l.seen[cursor] || len(l.seen) >= maxPages || len(l.tools) > maxListed:
		r.listFailed(l, "the server's tool list does not end")
	default:
		l.seen[cursor] = true
		r.mu.Lock()
		late := l.late
		if !late {
			l.id = r.ownID(l.id)
			r.own[l.id.Key()] = l
		}
		r.mu.Unlock()
		if late {
			r.listFailed(l, r.tooSlow())
			return
		}
		r.queue(listRequest(l, cursor))
	}
}

func (r *Relay) listDone(ctx context.Context, l *listing) {
	l.failed.Stop()
	if why := r.pin(ctx, l); why != "" {
		r.listFailed(l, why)
		return
	}
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return
	}
	if r.catalogue.stale && l.again < maxAgain {
		frame := r.newListing(l.id, l.again+1)
		r.mu.Unlock()
		r.queue(frame)
		return
	}
	r.catalogue.state, r.catalogue.current = listedState, nil
	releasing := r.catalogue.releasing
	r.catalogue.releasing = true
	r.mu.Unlock()
	r.log.Debug("tools listed", "server", r.opt.Upstream, "tools", len(l.tools))
	if !releasing {
		go r.releaseHeld()
	}
}

// releaseHeld runs the calls that waited for the list, in order. Calls that arrive
// meanwhile go to the end of the same queue. The first runs in any case: a server that
// says with every list that it has changed must not hold calls for ever.
func (r *Relay) releaseHeld() {
	for first := true; ; first = false {
		learning := r.opt.Session.Learning(r.opt.Upstream)
		r.mu.Lock()
		if len(r.catalogue.held) == 0 || r.catalogue.state != listedState {
			r.catalogue.releasing = false
			frame := r.listEagerly(learning) // it changed while they ran
			r.mu.Unlock()
			if frame != nil {
				r.send(built(frame))
			}
			return
		}
		c := r.catalogue.held[0]
		if r.catalogue.stale && !first {
			r.catalogue.releasing = false
			r.catalogue.state = beingListed
			frame := r.newListing(c.id, 0)
			r.mu.Unlock()
			r.send(built(frame))
			return
		}
		r.mu.Unlock()
		r.admit(c)
		r.mu.Lock()
		if len(r.catalogue.held) > 0 { // the relay may have ended
			r.catalogue.held = r.catalogue.held[1:]
		}
		r.mu.Unlock()
	}
}

// listFailed refuses what waited for the list. The next call asks again.
func (r *Relay) listFailed(l *listing, why string) {
	l.failed.Stop()
	r.mu.Lock()
	r.catalogue.state, r.catalogue.current = notListed, nil
	held := r.catalogue.held
	r.catalogue.held = nil
	r.mu.Unlock()
	r.log.Warn("tools cannot be listed", "server", r.opt.Upstream, "reason", why)
	for _, c := range held {
		r.opt.Session.Forget(c.decision.ID)
		c.decision = sallyport.Decision{Check: sallyport.CheckPin, Reason: why + ", so no call of them can be judged"}
		r.recordVerdict(c, "denied")
		r.refuse(c)
	}
}

// stopListing is called with mu held when the relay ends.
func (r *Relay) stopListing() {
	if l := r.catalogue.current; l != nil {
		l.failed.Stop()
	}
	clear(r.own)
	r.catalogue.held = nil
}

// catalogueStale makes the next call list the tools again.
func (r *Relay) catalogueStale() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catalogue.stale = true
}

// catalogueChanged does so too, and lists them at once while new names are still learnt:
// what a server registers late is not to wait until it would be refused. It runs in the
// server's reader.
func (r *Relay) catalogueChanged() {
	learning := r.opt.Session.Learning(r.opt.Upstream)
	r.mu.Lock()
	r.catalogue.stale = true
	frame := r.listEagerly(learning)
	r.mu.Unlock()
	if frame != nil {
		r.queue(frame)
	}
}

// listEagerly is called with mu held and returns the request to send, if the list is
// stale, nobody waits for it, and it is learnt.
func (r *Relay) listEagerly(learning bool) []byte {
	c := &r.catalogue
	if !learning || !c.stale || c.state != listedState || len(c.held) > 0 || r.ended || r.draining || c.eager == maxEager {
		return nil
	}
	c.eager++
	c.state = beingListed
	return r.newListing(c.like, maxAgain) // a change meanwhile is the next one's affair
}
