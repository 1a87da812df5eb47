package gateway

import (
	"context"
	"fmt"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/upstream"
	"github.com/sallyport-dev/sallyport/policy"
)

// codeNoResource is what handshake versions say of a resource that does not exist; since
// 2026-07-28 it is -32602.
const codeNoResource = -32002

// resource takes a request about a resource to its upstream.
func (c *call) resource() {
	s, u := c.s, c.s.setup()
	uri, ok := param(c.m, "uri")
	if !ok {
		c.fail(mcp.CodeInvalidParams, "params.uri has to be a string")
		return
	}
	s.mu.Lock()
	kept, subscribed := s.subscribed[uri]
	s.mu.Unlock()
	switch c.m.Method {
	case methodSubscribe:
		if why := s.cannotSubscribe(uri); why != "" {
			c.fail(mcp.CodeInvalidParams, why)
			return
		}
		c.toResource(u, uri, func(p *place) {
			s.mu.Lock()
			s.subscribed[uri] = sub{p}
			s.mu.Unlock()
		})
	case methodUnsubscribe:
		forget := func(*place) {
			s.mu.Lock()
			delete(s.subscribed, uri)
			s.mu.Unlock()
		}
		if subscribed && u.place(kept.place.Name) == kept.place {
			c.toPlace(kept.place, forget)
			return
		}
		c.toResource(u, uri, forget)
	default:
		c.toResource(u, uri, nil)
	}
}

// cannotSubscribe says why a session takes no subscription more: what it has is remembered,
// and is repeated to a server that comes back.
func (s *session) cannotSubscribe(uri string) (why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, has := s.subscribed[uri]
	switch {
	case has:
		return ""
	case len(uri) > maxKept:
		return fmt.Sprintf("a URI of more than %d bytes cannot be subscribed to", maxKept)
	case len(s.subscribed) >= maxSubscribed:
		return fmt.Sprintf("more than %d subscriptions at once", maxSubscribed)
	}
	return ""
}

// toResource finds the upstream that a URI belongs to and sends the call there. done is
// called when it answered with a result.
func (c *call) toResource(u *setup, uri string, done func(*place)) {
	if u.naming.passes() {
		c.toPlace(u.places[0], done)
		return
	}
	p, why := c.s.resourceAt(c.ctx, u, uri)
	if p == nil && c.s.hidesResource(u, uri) {
		p = u.places[0] // whose relay refuses it as what the policy denies
	}
	if p == nil {
		code := codeNoResource
		if c.s.era == upstream.Stateless {
			code = mcp.CodeInvalidParams
		}
		c.refuse(code, c.m.Method, uri, why)
		return
	}
	c.toPlace(p, done)
}

// hidesResource reports whether the policy keeps a URI from the caller wherever it is:
// that, and not whether it exists, is then the answer.
func (s *session) hidesResource(u *setup, uri string) bool {
	for _, p := range u.places {
		if !s.engine.Hidden(sallyport.Call{Subject: policy.Resource, Upstream: p.Name, Name: uri}) {
			return false
		}
	}
	return true
}

func (c *call) toPlace(p *place, done func(*place)) {
	if done == nil {
		c.to(p, nil)
		return
	}
	c.to(p, func(m mcp.Message) {
		if m.Result != nil {
			done(p)
		}
		c.answer(m)
	})
}

// resourceAt says where a URI leads: to the upstream that lists it, else to the one whose
// template it fits, else to the one whose results have shown it, else to the only one that
// has resources at all.
func (s *session) resourceAt(ctx context.Context, u *setup, uri string) (p *place, why string) {
	shown := quote.Value(uri, 200)
	only, all := s.onlyOne(ctx, u)
	s.mu.Lock()
	link, seen := s.catalogue.links[uri]
	s.mu.Unlock()
	if only != nil && all && (!seen || link == only) {
		return only, "" // nobody has to wait for lists
	}
	list := s.known(ctx, resources)
	if list.doubt[uri] {
		return nil, "resource " + shown + " is one of several upstreams: none of them is meant for certain"
	}
	if o, ok := list.where[uri]; ok {
		return u.place(o.upstream), ""
	}
	fits := make(map[string]bool)
	for _, e := range s.known(ctx, templates).entries {
		if t, ok := parseTemplate(e.name); ok && t.matches(uri) {
			fits[e.upstream] = true
		}
	}
	if len(fits) == 1 {
		for name := range fits {
			return u.place(name), ""
		}
	}
	if seen && link != nil && u.place(link.Name) == link {
		return link, ""
	}
	if len(fits) > 1 || seen {
		return nil, "resource " + shown + " could be of several upstreams: none of them is meant for certain"
	}
	if only == nil {
		return nil, "resource " + shown + " is not known"
	}
	return only, ""
}

// onlyOne is the upstream that has resources if no other has. all says that no upstream is
// absent, which might.
func (s *session) onlyOne(ctx context.Context, u *setup) (only *place, all bool) {
	open := s.openAll(ctx, u, false)
	for _, l := range open {
		if !l.hello.has[resources] {
			continue
		}
		if only != nil {
			return nil, false
		}
		only = l.place
	}
	return only, len(open) == len(u.places)
}

// notice takes from a result what leads to its upstream later: links to resources, and
// tasks.
func (s *session) notice(l *link, c *call, m mcp.Message) {
	if m.Result == nil {
		return
	}
	s.noticeTask(c, m)
	if s.setup().naming.passes() {
		return
	}
	switch c.m.Method {
	case "tools/call", "prompts/get", "resources/read", "tasks/result", "tasks/get":
	default:
		return
	}
	v := parsed(m.Result)
	for _, list := range []doc.Value{v.Get("content"), v.Get("contents"), v.Get("messages"), v.Get("result").Get("content")} {
		for _, e := range list.Elements() {
			if content := e.Get("content"); content.Kind() == doc.Object { // of a message
				e = content
			}
			s.noticeURI(l, e.Get("uri").String())
			s.noticeURI(l, e.Get("resource").Get("uri").String())
		}
	}
}

// noticeURI notes that an upstream has shown a URI. One that two have shown leads to
// neither.
func (s *session) noticeURI(l *link, uri string) {
	if uri == "" || len(uri) > maxKept {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalogue.links == nil {
		s.catalogue.links = make(map[string]*place)
	}
	p, seen := s.catalogue.links[uri]
	switch {
	case !seen && len(s.catalogue.links) < maxLinks:
		s.catalogue.links[uri] = l.place
	case seen && p != l.place:
		s.catalogue.links[uri] = nil
	}
}
