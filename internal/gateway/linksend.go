package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// outgoing is a message on its way to an upstream.
type outgoing struct {
	m   mcp.Message
	ctx context.Context // of a request: ends when it is cancelled
}

// toServer takes what the relay lets through. It does not wait for the upstream.
func (l *link) toServer(m mcp.Message) {
	out := outgoing{m: m}
	switch {
	case m.Kind == mcp.Request:
		l.mu.Lock()
		if m.ID.Key() == l.greetedBy.Key() {
			l.mu.Unlock()
			go l.begin(m)
			return
		}
		ctx, cancel := context.WithCancelCause(l.ctx)
		out.ctx, l.doing[m.ID.Key()] = ctx, cancel
		l.mu.Unlock()
	case m.Method == methodCancelled: // what it says of itself goes with the end of its request
		var why upstream.Cancelled
		if f, err := mcp.Fields(m.Params, "reason"); err == nil {
			why.Reason = f[0]
		}
		l.stop(requestID(m), &why)
		return
	}
	select {
	case l.toWrite <- out:
		return
	default:
	}
	l.s.log.Error("the upstream does not read: a message to it is dropped", "upstream", l.place.Name)
	if m.Kind == mcp.Request {
		l.stop(m.ID, errNotRead)
		go l.relay.ServerFailed(m.ID, errNotRead.Error())
	}
}

// stop ends a request; the conversation tells the server of one that was cancelled, and why.
func (l *link) stop(id mcp.ID, why error) {
	l.mu.Lock()
	cancel := l.doing[id.Key()]
	delete(l.doing, id.Key())
	if len(l.doing) == 0 && l.settled != nil {
		close(l.settled)
		l.settled = nil
	}
	l.mu.Unlock()
	if cancel != nil {
		cancel(why)
	}
}

// write hands messages to the conversation in order; requests wait for their answers
// beside.
func (l *link) write() {
	for {
		select {
		case out := <-l.toWrite:
			if out.ctx != nil {
				go l.do(out)
			} else if err := l.conn.Send(l.ctx, out.m); err != nil && l.ctx.Err() == nil {
				l.s.log.Warn("a message did not reach the upstream", "upstream", l.place.Name, "method", out.m.Method, "error", err)
			}
		case <-l.ctx.Done():
			return
		}
	}
}

// do takes one request to its answer.
func (l *link) do(out outgoing) {
	id := out.m.ID
	defer l.stop(id, nil)
	var cancelled *upstream.Cancelled
	answer, err := l.conn.Do(out.ctx, out.m, func(m mcp.Message) { l.fromServer(m, id) })
	switch {
	case err == nil:
		l.fromServer(answer, id)
	case errors.As(err, &cancelled): // the relay knows
	case errors.Is(err, upstream.ErrNotTaken):
		l.notTaken(out.m, err)
	default:
		l.relay.ServerFailed(id, failure(l.place.Name, err))
	}
}

// failure says to a client why there is no answer.
func failure(upstream string, err error) string {
	return fmt.Sprintf("the server %s did not answer: %v", quote.Value(upstream, 64), err)
}
