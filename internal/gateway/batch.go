package gateway

import (
	"sync"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
)

// batch serves an array of messages: in a session that negotiated 2025-03-26, and nowhere
// else. Each is judged on its own; the answers come as one array.
func (ch *channel) batch(frame []byte) {
	refuse := func(why string) {
		ch.bad(&mcp.ParseError{Code: mcp.CodeInvalidRequest, Reason: why})
	}
	if ch.handshake == nil || ch.handshake.version != mcp.V20250326 || !ch.handshake.isGreeted() {
		refuse("a batch is not accepted here")
		return
	}
	elements, err := streamhttp.SplitBatch(frame)
	if err != nil {
		refuse(err.Error())
		return
	}
	messages, seen, requests := make([]mcp.Message, len(elements)), make(map[string]bool), 0
	for i, e := range elements {
		m, bad := mcp.Parse(e)
		switch {
		case bad != nil:
			refuse("a message of the batch: " + bad.Error())
			return
		case m.Kind == mcp.Request && (m.Method == methodInitialize || mcp.RequestVersion(m) != "" || seen[m.ID.Key()]):
			refuse("a message of the batch does not belong in one, or has another's id")
			return
		case m.Kind == mcp.Request:
			requests++
			seen[m.ID.Key()] = true
		}
		messages[i] = m
	}
	b := &answers{ch: ch, left: requests, frames: make([][]byte, requests)}
	n := 0
	for _, m := range messages {
		x := &part{b: b, index: n}
		if m.Kind == mcp.Request {
			n++
		}
		ch.take(m, x)
	}
}

// answers collects those of one batch.
type answers struct {
	ch *channel

	mu     sync.Mutex
	left   int
	frames [][]byte
}

// done takes one answer, nil for none. The last writes them all, if there are any.
func (b *answers) done(index int, frame []byte) error {
	b.mu.Lock()
	b.frames[index] = frame
	b.left--
	last := b.left == 0
	b.mu.Unlock()
	if !last {
		return nil
	}
	out := []byte{'['}
	for _, f := range b.frames {
		if f == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, f...)
	}
	if len(out) == 1 {
		return nil // all were cancelled
	}
	return b.ch.write(append(out, ']'))
}

// part is the way back for one message of a batch.
type part struct {
	b     *answers
	index int
	once  sync.Once
}

func (p *part) Send(frame []byte) error { return p.b.ch.write(frame) }

func (p *part) Reply(frame []byte) (err error) {
	p.once.Do(func() { err = p.b.done(p.index, frame) })
	return err
}

func (p *part) ReplyStatus(_ int, frame []byte) error { return p.Reply(frame) }
func (p *part) Drop() error                           { return p.Reply(nil) }
