package gateway

import (
	"context"
	"errors"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// converse opens a conversation in the session's own era: greeting is the client's. It
// returns the server's answer to it, under whatever id.
func (l *link) converse(greeting mcp.Message) (upstream.Conn, mcp.Message, error) {
	c := upstream.Client{Era: l.s.era, Params: greeting.Params}
	conn, hello, err := l.place.open(l.ctx, c, func(m mcp.Message) { l.fromServer(m, mcp.ID{}) })
	if err != nil {
		return nil, hello, err
	}
	if conn.Era() != l.s.era {
		_ = conn.Close(context.Background())
		return nil, hello, errors.New("it speaks another era of the protocol")
	}
	return conn, hello, nil
}
