package bridge

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// unsubscribeFor is how long telling the server that nobody listens may take.
const unsubscribeFor = 10 * time.Second

// listening is one subscriptions/listen of the client's.
type listening struct {
	id      []byte // raw
	methods map[string]bool
	uris    []string
	open    bool // it was acknowledged
	to      delivery
}

// listen answers a subscriptions/listen: it acknowledges what the server can tell of and
// stays open until the client ends it or the conversation is over.
func (s *StatelessConn) listen(ctx context.Context, m mcp.Message, onMessage func(mcp.Message)) (mcp.Message, error) {
	wanted := at(m.Params, "notifications")
	if !isObject(wanted) {
		return mcp.Message{}, refuse(mcp.CodeInvalidParams, "a subscription that does not say to what")
	}
	meta := declares(at(m.Params, "_meta", keyCapabilities))
	if at(wanted, "taskIds") != nil && !meta.tasks {
		return mcp.Message{}, missing("the client listens for tasks and does not declare them", `{"extensions":{"`+tasksExtension+`":{}}}`)
	}
	uris, err := subscribed(at(wanted, "resourceSubscriptions"))
	if err != nil {
		return mcp.Message{}, err
	}
	l := &listening{id: rawID(m.ID), methods: map[string]bool{}, to: delivery{to: onMessage}}
	defer l.to.close()
	s.mu.Lock()
	full := len(s.listens) >= maxListens
	if !full {
		s.listens[l] = true
	}
	s.mu.Unlock()
	if full {
		return mcp.Message{}, refuse(mcp.CodeInternal, "too many subscriptions are open")
	}
	defer s.leave(l)
	var agreed []pair
	for _, p := range []struct {
		declared     bool
		name, method string
	}{
		{s.can.toolsChanged, "toolsListChanged", "notifications/tools/list_changed"},
		{s.can.promptsChanged, "promptsListChanged", "notifications/prompts/list_changed"},
		{s.can.resChanged, "resourcesListChanged", "notifications/resources/list_changed"},
	} {
		if p.declared && isTrue(at(wanted, p.name)) {
			agreed = append(agreed, pair{p.name, []byte("true")})
			l.methods[p.method] = true
		}
	}
	var taken [][]byte
	for _, uri := range uris {
		ok, err := s.join(ctx, l, uri)
		if err != nil {
			return mcp.Message{}, err
		}
		if ok {
			taken = append(taken, quoted(uri))
		}
	}
	if taken != nil {
		agreed = append(agreed, pair{"resourceSubscriptions", list(taken...)})
		l.methods["notifications/resources/updated"] = true
	}
	if err := s.begin(ctx); err != nil {
		return mcp.Message{}, err
	}
	return s.hear(ctx, m, l, object(agreed...))
}

// hear acknowledges and waits for the end.
func (s *StatelessConn) hear(ctx context.Context, m mcp.Message, l *listening, agreed []byte) (mcp.Message, error) {
	tag := object(pair{keySubscriptionID, l.id})
	ack := built(mcp.NewNotification("notifications/subscriptions/acknowledged",
		object(pair{"_meta", tag}, pair{"notifications", agreed})))
	l.to.mu.Lock() // what changes from now on waits until it is acknowledged
	s.mu.Lock()
	l.open = true
	s.mu.Unlock()
	l.to.to(ack)
	l.to.mu.Unlock()
	select {
	case <-ctx.Done():
		return mcp.Message{}, context.Cause(ctx)
	case <-s.ctx.Done():
		return mcp.Message{}, context.Cause(s.ctx)
	}
}

// subscribed reads the resources of a filter.
func subscribed(raw []byte) ([]string, error) {
	if raw == nil {
		return nil, nil
	}
	all, ok := elements(raw)
	if !ok || len(all) > maxSubscriptions {
		return nil, refuse(mcp.CodeInvalidParams, "the resources to listen for cannot be read, or are too many")
	}
	var uris []string
	for _, v := range all {
		uri, ok := mcp.Str(v)
		if !ok {
			return nil, refuse(mcp.CodeInvalidParams, "a resource to listen for has no URI")
		}
		if !slices.Contains(uris, uri) {
			uris = append(uris, uri)
		}
	}
	return uris, nil
}

// join subscribes to a resource if nobody has, and reports whether the server took it.
func (s *StatelessConn) join(ctx context.Context, l *listening, uri string) (bool, error) {
	if !s.can.subscribe {
		return false, nil
	}
	if err := s.subscribing.take(ctx); err != nil {
		return false, err
	}
	defer s.subscribing.give()
	s.mu.Lock()
	n := s.subs[uri]
	full := n == 0 && len(s.subs) >= maxSubscriptions
	s.mu.Unlock()
	if full {
		return false, nil
	}
	if n == 0 {
		answer, err := s.own(ctx, "resources/subscribe", pair{"uri", quoted(uri)})
		if err != nil {
			return false, err
		}
		if answer.Error != nil {
			return false, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subs[uri]++
	l.uris = append(l.uris, uri)
	return true, nil
}

// leave ends a subscription of the client's, and those at the server that nobody is left for.
func (s *StatelessConn) leave(l *listening) {
	s.mu.Lock()
	delete(s.listens, l)
	uris := l.uris
	s.mu.Unlock()
	if len(uris) == 0 {
		return
	}
	s.work.run(func() {
		ctx, cancel := context.WithTimeout(s.ctx, unsubscribeFor)
		defer cancel()
		for _, uri := range uris {
			if s.subscribing.take(ctx) != nil {
				return
			}
			s.mu.Lock()
			s.subs[uri]--
			last := s.subs[uri] == 0
			if last {
				delete(s.subs, uri)
			}
			s.mu.Unlock()
			if last {
				// What a server still tells of it is told to nobody.
				_, _ = s.own(ctx, "resources/unsubscribe", pair{"uri", quoted(uri)})
			}
			s.subscribing.give()
		}
	})
}

// changed tells those who listen for it of a change.
func (s *StatelessConn) changed(m mcp.Message) {
	uri := text(at(m.Params, "uri"))
	s.mu.Lock()
	var to []*listening
	for l := range s.listens {
		if l.open && l.methods[m.Method] && (m.Method != "notifications/resources/updated" || s.concerns(l, uri)) {
			to = append(to, l)
		}
	}
	s.mu.Unlock()
	for _, l := range to {
		tagged, err := rewritten(m, mcp.Edit{Path: []string{"params", "_meta", keySubscriptionID}, Value: bytes.Clone(l.id)})
		if err == nil {
			l.to.send(tagged)
		}
	}
}

// concerns reports whether l listens for the resource. One that nobody subscribed to lies
// below one of those that somebody did: which, the server does not say. The caller holds
// s.mu.
func (s *StatelessConn) concerns(l *listening, uri string) bool {
	return slices.Contains(l.uris, uri) || s.subs[uri] == 0
}
