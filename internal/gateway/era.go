package gateway

import (
	"errors"
	"sync"

	"github.com/sallyport-dev/sallyport/internal/bridge"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// converse opens a conversation that speaks the session's era, through a bridge if the
// server speaks the other. It returns the answer to the greeting, under whatever id.
func (l *link) converse(greeting mcp.Message) (upstream.Conn, mcp.Message, error) {
	s := l.s
	c := upstream.Client{Era: s.era, Caller: s.name, Params: greeting.Params}
	if s.era == upstream.Stateless {
		c.Handshake = bridge.InitializeParams(metaOf(greeting))
	} else {
		c.Stateless = bridge.DiscoverParams(greeting.Params)
	}
	var beside detour
	conn, hello, err := l.place.open(l.ctx, c, beside.take)
	if err != nil {
		return nil, hello, err
	}
	own := func(m mcp.Message) { l.fromServer(m, mcp.ID{}) }
	if conn.Era() == s.era {
		beside.lead(own)
		return conn, hello, nil
	}
	bridged, result, to, err := l.bridged(conn, hello, bridge.Client{Params: greeting.Params, Version: s.version, Beside: own})
	if err != nil {
		l.close(conn)
		return nil, hello, err
	}
	beside.lead(to)
	answer, bad := mcp.Parse(append(append([]byte(`{"jsonrpc":"2.0","id":0,"result":`), result...), '}'))
	if bad != nil {
		l.close(bridged)
		return nil, hello, bad
	}
	return bridged, answer, nil
}

// bridged makes conn speak the session's era. to takes what the server sends beside.
func (l *link) bridged(conn upstream.Conn, hello mcp.Message, c bridge.Client) (b upstream.Conn, result []byte, to func(mcp.Message), err error) {
	if l.s.era == upstream.Stateless {
		s, result, err := bridge.Stateless(conn, hello, c)
		if err != nil {
			return nil, nil, nil, err
		}
		return s, result, s.Beside, nil
	}
	h, result, err := bridge.Handshake(conn, hello, c)
	if err != nil {
		return nil, nil, nil, err
	}
	return h, result, h.Beside, nil
}

// detour keeps what a server sends beside requests until it is known where that goes.
type detour struct {
	mu    sync.Mutex
	to    func(mcp.Message)
	early []mcp.Message
}

func (d *detour) take(m mcp.Message) {
	d.mu.Lock()
	to := d.to
	if to == nil && len(d.early) < maxEarly {
		d.early = append(d.early, m)
	}
	d.mu.Unlock()
	if to != nil {
		to(m)
	}
}

// lead gives what came early to to, and all that comes later after it.
func (d *detour) lead(to func(mcp.Message)) {
	for {
		d.mu.Lock()
		early := d.early
		d.early = nil
		if len(early) == 0 {
			d.to = to
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		for _, m := range early {
			to(m)
		}
	}
}

// fromServer takes what the server sends, in the form that the client's version has for it.
// The relay sees what the client will see.
func (l *link) fromServer(m mcp.Message, about mcp.ID) {
	adapted, err := l.adapted(m)
	switch {
	case err == nil:
		l.relay.FromServer(l.ctx, adapted, about)
	case m.Kind == mcp.Response:
		l.relay.ServerFailed(m.ID, "the answer has no form in the client's protocol version: "+err.Error())
	case m.Kind == mcp.Request:
		l.s.log.Warn("a request of a server has no form in the client's protocol version", "method", quote.Text(m.Method, 64), "reason", err)
		l.toServer(refusalOf(err).Answer(m.ID))
	default:
		l.s.log.Warn("a notification has no form in the client's protocol version", "method", quote.Text(m.Method, 64), "reason", err)
	}
}

func refusalOf(err error) *bridge.Refusal {
	var r *bridge.Refusal
	if errors.As(err, &r) {
		return r
	}
	return &bridge.Refusal{Code: mcp.CodeInvalidRequest, Reason: err.Error()}
}

// adapted is what the client's version has for a message. It is looked at also where both
// versions are the same: some servers send what is of a later one.
func (l *link) adapted(m mcp.Message) (mcp.Message, error) {
	if l.s.era != upstream.Handshake {
		return m, nil
	}
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	if conn == nil {
		return m, nil
	}
	return bridge.ForClient(m, conn.Version(), l.s.version)
}
