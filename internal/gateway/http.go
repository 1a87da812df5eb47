package gateway

import (
	"context"
	"net/http"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// HTTP serves one message that came over Streamable HTTP: it is HandlerOptions.Serve. The
// Value of the exchange's caller is a [Caller].
func (g *Gateway) HTTP(ctx context.Context, x *streamhttp.Exchange) {
	caller, ok := x.Caller.Value.(Caller)
	if !ok {
		g.setup.Load().Log.Error("a message without a caller is refused")
		refuseHTTP(x, http.StatusInternalServerError, mcp.CodeInternal, "the caller is not known")
		return
	}
	if x.Session == nil {
		g.serveStateless(ctx, x, caller)
		return
	}
	m := x.Message
	if m.Kind == mcp.Request && m.Method == methodInitialize {
		g.beginHTTP(ctx, x, caller)
		return
	}
	g.mu.Lock()
	s := g.handshake[x.Session]
	g.mu.Unlock()
	if s == nil {
		refuseHTTP(x, http.StatusNotFound, mcp.CodeInvalidRequest, "no such session")
		return
	}
	switch m.Kind {
	case mcp.Request:
		s.serve(ctx, x, m, x.Taken)
	case mcp.Notification:
		s.notified(s.ctx, m)
	case mcp.Response:
		s.answered(s.ctx, m)
	}
}

func refuseHTTP(x *streamhttp.Exchange, status, code int, text string) {
	id := x.Message.ID
	if x.Message.Kind != mcp.Request {
		id = mcp.ID{}
	}
	_ = x.ReplyStatus(status, mcp.ErrorResponse(id, code, said+text, nil))
}

// beginHTTP begins the session of a handshake version.
func (g *Gateway) beginHTTP(ctx context.Context, x *streamhttp.Exchange, caller Caller) {
	s, err := g.newHandshake(caller, x.Message, x.Session.Send)
	if err != nil {
		refuseHTTP(x, http.StatusServiceUnavailable, mcp.CodeInternal, err.Error())
		return
	}
	s.mu.Lock()
	s.gone = func() {
		g.mu.Lock()
		delete(g.handshake, x.Session)
		g.mu.Unlock()
	}
	s.hangUp = x.Session.End
	s.mu.Unlock()
	g.mu.Lock()
	g.handshake[x.Session] = s
	g.mu.Unlock()
	context.AfterFunc(x.Session.Context(), func() { s.end("the client has gone") })
	s.serve(ctx, x, x.Message, x.Taken)
}

// newHandshake makes the session that an initialize begins.
func (g *Gateway) newHandshake(caller Caller, initialize mcp.Message, own func([]byte) error) (*session, error) {
	greeting := initialize.Params
	if greeting == nil {
		greeting = []byte(`{}`)
	}
	s, err := g.newSession(caller, upstream.Handshake, greeting)
	if err != nil {
		return nil, err
	}
	wish, _ := param(initialize, "protocolVersion")
	s.version, s.own, s.unique = negotiate(wish), own, true
	return s, nil
}
