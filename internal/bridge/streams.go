package bridge

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// Between two attempts to listen.
const (
	listenAgain = time.Second
	listenMost  = time.Minute
	listenTries = 5 // without an acknowledgement between them
)

// stream is one subscriptions/listen of a bridge's at a stateless server.
type stream struct {
	lists  bool            // listens for changes of the lists
	uris   []string        // the resources that it was opened for
	quiet  map[string]bool // those that the client unsubscribed from
	cancel context.CancelFunc

	// Of the attempt that is on.
	id    string // the key of its request's id
	end   context.CancelFunc
	first chan error // told once: acknowledged (nil), or why not
}

var errNotTaken = refuse(mcp.CodeInvalidParams, "the server does not take this subscription")

// begin is called when the client is ready to be told things.
func (h *HandshakeConn) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ready {
		return
	}
	h.ready = true
	if h.can.toolsChanged || h.can.promptsChanged || h.can.resChanged {
		h.start(&stream{lists: true})
	}
}

// start runs a stream. The caller holds h.mu.
func (h *HandshakeConn) start(s *stream) {
	ctx, cancel := context.WithCancel(h.ctx)
	s.cancel, s.first, s.quiet = cancel, make(chan error, 1), map[string]bool{}
	h.streams = append(h.streams, s)
	h.work.run(func() {
		h.run(ctx, s)
		cancel()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.streams = slices.DeleteFunc(h.streams, func(o *stream) bool { return o == s })
		for uri, of := range h.subs {
			if of == s {
				delete(h.subs, uri)
			}
		}
	})
}

// run keeps a stream open until ctx ends, or the server will not have it.
func (h *HandshakeConn) run(ctx context.Context, s *stream) {
	wait, tries := listenAgain, 0
	for again := false; ; again = true {
		began := time.Now()
		taken, err := h.listen(ctx, s, again)
		if !again {
			select {
			case s.first <- err:
			default: // acknowledged before
			}
			if !taken {
				return
			}
		}
		switch {
		case ctx.Err() != nil || errors.Is(err, errNotTaken):
			return
		case taken:
			tries = 0
		default:
			tries++
		}
		if tries == listenTries {
			return
		}
		if time.Since(began) > listenMost {
			wait = listenAgain
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
		wait = min(2*wait, listenMost)
	}
}

// listen opens a stream once and returns when it is over: whether the server took it, and
// errNotTaken or why not.
func (h *HandshakeConn) listen(ctx context.Context, s *stream, again bool) (taken bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := h.nextID()
	h.mu.Lock()
	var wanted []pair
	if s.lists {
		for _, p := range []struct {
			declared bool
			name     string
		}{{h.can.toolsChanged, "toolsListChanged"}, {h.can.promptsChanged, "promptsListChanged"}, {h.can.resChanged, "resourcesListChanged"}} {
			if p.declared {
				wanted = append(wanted, pair{p.name, []byte("true")})
			}
		}
	}
	var uris [][]byte
	for _, uri := range s.uris {
		if !s.quiet[uri] {
			uris = append(uris, quoted(uri))
		}
	}
	if uris != nil {
		wanted = append(wanted, pair{"resourceSubscriptions", list(uris...)})
	}
	s.id, s.end = id.Key(), cancel
	h.mu.Unlock()

	m, err := rewritten(built(mcp.NewRequest(id, "subscriptions/listen", object(pair{"notifications", object(wanted...)}))), h.modern(false)...)
	if err != nil {
		return false, errNotTaken
	}
	nothing := false
	d := &delivery{to: func(m mcp.Message) {
		switch {
		case m.Kind == mcp.Request:
			h.refuseRequest(m)
		case m.Method == "notifications/subscriptions/acknowledged" && !taken:
			taken, nothing = true, !h.acknowledged(s, m, again)
			if nothing {
				cancel()
			}
		case taken && !nothing && m.Kind == mcp.Notification:
			h.changed(s, m)
		}
	}}
	_, err = h.conn.Do(ctx, m, d.send)
	d.close()
	if nothing || err == nil && !taken {
		return taken, errNotTaken
	}
	return taken, err
}

// acknowledged reads what the server agreed to, and reports whether that is anything.
func (h *HandshakeConn) acknowledged(s *stream, m mcp.Message, again bool) bool {
	agreed := at(m.Params, "notifications")
	taken, _ := elements(at(agreed, "resourceSubscriptions"))
	lists := isTrue(at(agreed, "toolsListChanged")) || isTrue(at(agreed, "promptsListChanged")) || isTrue(at(agreed, "resourcesListChanged"))
	if s.lists && !lists || len(s.uris) > 0 && !again && !h.take(s, taken) {
		return false
	}
	select {
	case s.first <- nil:
	default:
	}
	if !again {
		return true
	}
	// What changed while nobody listened is not known: the client is told to look.
	for _, p := range [][2]string{{"toolsListChanged", "tools"}, {"promptsListChanged", "prompts"}, {"resourcesListChanged", "resources"}} {
		if isTrue(at(agreed, p[0])) {
			h.beside.send(built(mcp.NewNotification("notifications/"+p[1]+"/list_changed", nil)))
		}
	}
	for _, uri := range taken {
		if h.wants(s, text(uri)) {
			h.beside.send(built(mcp.NewNotification("notifications/resources/updated", object(pair{"uri", uri}))))
		}
	}
	return true
}

// take makes a stream the one that resources are watched through, and ends those that have
// none left. It reports whether the resource is among them that the stream was opened for.
func (h *HandshakeConn) take(s *stream, taken [][]byte) bool {
	if !slices.ContainsFunc(taken, func(raw []byte) bool { return text(raw) == s.uris[0] }) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, uri := range s.uris {
		old := h.subs[uri]
		switch {
		case i > 0 && old == nil: // unsubscribed from meanwhile
			s.quiet[uri] = true
			continue
		case i > 0 && !slices.ContainsFunc(taken, func(raw []byte) bool { return text(raw) == uri }):
			continue
		}
		h.subs[uri] = s
		if old != nil && old != s && !h.used(old) {
			old.cancel()
		}
	}
	return true
}

// used reports whether some resource is watched through the stream. The caller holds h.mu.
func (h *HandshakeConn) used(s *stream) bool {
	return slices.ContainsFunc(s.uris, func(u string) bool { return h.subs[u] == s })
}

// wants reports whether the client is to be told by this stream that a resource changed.
func (h *HandshakeConn) wants(s *stream, uri string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if of, ok := h.subs[uri]; ok {
		return of == s
	}
	// It may lie below one that was subscribed to.
	return !s.quiet[uri] && h.used(s)
}

// changed passes on what came on a stream.
func (h *HandshakeConn) changed(s *stream, m mcp.Message) {
	if m.Method == "notifications/resources/updated" && !h.wants(s, text(at(m.Params, "uri"))) {
		return
	}
	h.toBeside(m)
}

func (h *HandshakeConn) toBeside(m mcp.Message) {
	switch m.Method {
	case "notifications/message", "notifications/progress", "notifications/cancelled", "notifications/tasks":
		return // not on a subscription, or not in the client's era
	}
	if at(m.Params, "_meta", keySubscriptionID) != nil {
		var err error
		if m, err = rewritten(m, mcp.Edit{Path: []string{"params", "_meta", keySubscriptionID}}); err != nil {
			return
		}
	}
	h.beside.send(m)
}

// notified takes a notification that came beside all requests.
func (h *HandshakeConn) notified(m mcp.Message) {
	named := at(m.Params, "_meta", keySubscriptionID)
	if m.Method == "notifications/cancelled" {
		named = at(m.Params, "requestId")
	}
	var of *stream
	if id, err := mcp.ParseID(named); err == nil {
		h.mu.Lock()
		for _, s := range h.streams {
			if s.id == id.Key() {
				of = s
			}
		}
		h.mu.Unlock()
	}
	switch {
	case m.Method == "notifications/subscriptions/acknowledged":
	case m.Method == "notifications/cancelled":
		if of != nil {
			of.end()
		}
	case of != nil:
		h.changed(of, m)
	default:
		h.toBeside(m)
	}
}
