package ownserver

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/stdio"
)

// transport gives the SDK's server messages that are bounded and strictly read: its own
// transport takes messages of any size.
type transport struct{ c *conn }

// Connect returns the only connection.
func (t *transport) Connect(context.Context) (sdk.Connection, error) { return t.c, nil }

// conn is one client at the other end of two pipes.
type conn struct {
	in  *stdio.Reader
	out *stdio.Writer

	mu      sync.Mutex
	open    map[string]bool // requests that are not answered, by id; false: one that listens
	changed chan struct{}   // closed and replaced when open becomes smaller

	end  sync.Once
	done chan struct{}
}

func newConn(in io.Reader, out io.Writer) *conn {
	return &conn{
		in: stdio.NewReader(in, MaxMessage), out: stdio.NewWriter(out),
		open: make(map[string]bool), changed: make(chan struct{}), done: make(chan struct{}),
	}
}

// SessionID is none: a pipe is the session.
func (c *conn) SessionID() string { return "" }

// Close makes Read return. The pipes are their owner's.
func (c *conn) Close() error {
	c.end.Do(func() { close(c.done) })
	return nil
}

// Read returns the next message that is one. Whatever is none is answered here.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		frame, err := c.next(ctx)
		if err != nil {
			return nil, err
		}
		m, bad := mcp.Parse(frame)
		if bad != nil {
			if err := c.refuse(bad); err != nil {
				return nil, err
			}
			continue
		}
		switch {
		case m.Kind == mcp.Request:
			taken, err := c.take(ctx, m)
			if err != nil {
				return nil, err
			}
			if !taken {
				continue
			}
		case m.Method == "notifications/cancelled":
			c.cancelled(m)
		}
		msg, err := jsonrpc.DecodeMessage(frame)
		if err != nil || !sameID(msg, m.ID) { // the two readers differ
			c.release(m.ID.Key())
			if err := c.refuse(&mcp.ParseError{Code: mcp.CodeInvalidRequest, ID: m.ID, Reason: "the message cannot be read", Kind: m.Kind}); err != nil {
				return nil, err
			}
			continue
		}
		return msg, nil
	}
}

// sameID reports whether an answer would carry the id of the request: the SDK may keep large
// numbers as floating point.
func sameID(msg jsonrpc.Message, id mcp.ID) bool {
	frame, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return false
	}
	m, bad := mcp.Parse(frame)
	return bad == nil && m.ID.Key() == id.Key()
}

// next reads a frame. At the end of input it waits until every request has its answer.
func (c *conn) next(ctx context.Context) ([]byte, error) {
	for {
		type read struct {
			frame []byte
			err   error
		}
		got := make(chan read, 1)
		go func() {
			frame, err := c.in.Next()
			got <- read{frame, err}
		}()
		var r read
		select {
		case r = <-got:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.done:
			return nil, io.EOF
		}
		large, ok := errors.AsType[*stdio.TooLarge](r.err)
		switch {
		case ok:
			if bad := large.Refused(); bad != nil {
				if err := c.refuse(bad); err != nil {
					return nil, err
				}
			}
		case errors.Is(r.err, io.EOF):
			return nil, c.answered(ctx)
		default:
			return r.frame, r.err
		}
	}
}

// refuse answers what is no message, unless it was an answer or a notification.
func (c *conn) refuse(bad *mcp.ParseError) error {
	if bad.Kind == mcp.Response || bad.Kind == mcp.Notification {
		return nil
	}
	return c.out.Write(mcp.ErrorResponse(bad.ID, bad.Code, bad.Error(), nil))
}

// take notes a request, and waits while too many are open. An id that is open is refused.
func (c *conn) take(ctx context.Context, m mcp.Message) (bool, error) {
	key := m.ID.Key()
	for {
		c.mu.Lock()
		_, twice := c.open[key]
		full, changed := len(c.open) >= maxOpen, c.changed
		if !twice && !full {
			c.open[key] = m.Method != "subscriptions/listen"
		}
		c.mu.Unlock()
		switch {
		case twice:
			return false, c.refuse(&mcp.ParseError{Code: mcp.CodeInvalidRequest, ID: m.ID, Reason: "a request with this id is open", Kind: mcp.Request})
		case !full:
			return true, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, ctx.Err()
		case <-c.done:
			return false, io.EOF
		}
	}
}

// answered waits for the answers of open requests. Those that listen end with the input, and
// nothing is waited for that nothing happens to for a while.
func (c *conn) answered(ctx context.Context) error {
	for {
		c.mu.Lock()
		waited, changed := 0, c.changed
		for _, w := range c.open {
			if w {
				waited++
			}
		}
		c.mu.Unlock()
		if waited == 0 {
			return io.EOF
		}
		select {
		case <-changed:
		case <-time.After(2 * MaxTime):
			return io.EOF
		case <-ctx.Done():
			return ctx.Err()
		case <-c.done:
			return io.EOF
		}
	}
}

// cancelled forgets a request that the client wants no answer to.
func (c *conn) cancelled(m mcp.Message) {
	fields, err := mcp.Fields(m.Params, "requestId")
	if err != nil || fields[0] == nil {
		return
	}
	if id, err := mcp.ParseID(fields[0]); err == nil {
		c.release(id.Key())
	}
}

func (c *conn) release(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.open[key]; ok {
		delete(c.open, key)
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// Write sends a message. An answer makes room for another request.
func (c *conn) Write(_ context.Context, msg jsonrpc.Message) error {
	frame, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	err = c.out.Write(frame)
	if _, ok := msg.(*jsonrpc.Response); ok {
		if m, bad := mcp.Parse(frame); bad == nil {
			c.release(m.ID.Key())
		}
	}
	return err
}
