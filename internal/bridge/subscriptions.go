package bridge

import (
	"context"
	"maps"
	"slices"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// subscribe makes a subscription of the client's part of a stream.
func (h *HandshakeConn) subscribe(ctx context.Context, m mcp.Message) (mcp.Message, error) {
	raw := at(m.Params, "uri")
	uri, ok := mcp.Str(raw)
	switch {
	case !h.can.subscribe:
		return refuse(mcp.CodeMethodNotFound, "the server does not declare subscriptions to resources").Answer(m.ID), nil
	case !ok:
		return refuse(mcp.CodeInvalidParams, "a subscription without a URI").Answer(m.ID), nil
	}
	s, refusal := h.openFor(uri)
	if refusal != nil {
		return refusal.Answer(m.ID), nil
	}
	if s == nil {
		return resultOf(m.ID, []byte("{}")), nil
	}
	select {
	case err := <-s.first:
		switch {
		case err == nil:
			return resultOf(m.ID, []byte("{}")), nil
		case h.ctx.Err() != nil:
			return mcp.Message{}, context.Cause(h.ctx)
		}
		return errNotTaken.Answer(m.ID), nil
	case <-h.ctx.Done():
		return mcp.Message{}, context.Cause(h.ctx)
	case <-ctx.Done():
		s.cancel()
		return mcp.Message{}, context.Cause(ctx)
	}
}

// openFor starts a stream for one more resource; nil if there is one already. Where there are
// many streams it is for the resources of all, to take their place.
func (h *HandshakeConn) openFor(uri string) (*stream, *Refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs[uri] != nil {
		return nil, nil
	}
	if len(h.subs) >= maxSubscriptions {
		return nil, refuse(mcp.CodeInvalidParams, "too many subscriptions")
	}
	s := &stream{uris: []string{uri}}
	of := 0
	for _, o := range h.streams {
		if !o.lists {
			of++
		}
	}
	if of >= maxStreams {
		s.uris = append(s.uris, slices.Sorted(maps.Keys(h.subs))...)
	}
	h.start(s)
	return s, nil
}

func (h *HandshakeConn) unsubscribe(m mcp.Message) mcp.Message {
	uri, ok := mcp.Str(at(m.Params, "uri"))
	if !ok {
		return refuse(mcp.CodeInvalidParams, "an unsubscription without a URI").Answer(m.ID)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.subs[uri]; s != nil {
		delete(h.subs, uri)
		s.quiet[uri] = true
		if !h.used(s) {
			s.cancel()
		}
	}
	return resultOf(m.ID, []byte("{}"))
}
