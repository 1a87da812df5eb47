package bridge

import (
	"context"
	"errors"
	"sync"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// delivery hands messages to one request of the client's: one at a time, and none once it
// was closed.
type delivery struct {
	mu sync.Mutex
	to func(mcp.Message)
}

func (d *delivery) send(m mcp.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.to != nil {
		d.to(m)
	}
}

func (d *delivery) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = nil
}

// maxOutbox is how many answers to a server may wait to be sent.
const maxOutbox = 256

// outbox sends answers to a server from where sending is not allowed: in onMessage.
type outbox struct {
	ctx  context.Context
	conn upstream.Conn

	mu      sync.Mutex
	queue   []mcp.Message
	running bool
}

// send never waits. A server that reads none of its answers while asking on loses some.
func (o *outbox) send(m mcp.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) >= maxOutbox {
		return
	}
	o.queue = append(o.queue, m)
	if !o.running {
		o.running = true
		go o.run()
	}
}

func (o *outbox) run() {
	for {
		o.mu.Lock()
		if len(o.queue) == 0 || o.ctx.Err() != nil {
			o.queue, o.running = nil, false
			o.mu.Unlock()
			return
		}
		m := o.queue[0]
		o.queue = o.queue[1:]
		o.mu.Unlock()
		// A server that is gone gets no answer, and whoever waits for it is told by Done.
		_ = o.conn.Send(o.ctx, m)
	}
}

// errCancelled is the cause of a request that its client cancelled.
var errCancelled = errors.New("cancelled by the client")

// errClosed is the cause of whatever is open when a conversation is closed.
var errClosed = errors.New("the conversation was closed")

// openRequests are the client's requests that wait, so that one can be cancelled by its id.
type openRequests struct {
	mu     sync.Mutex
	cancel map[string]context.CancelCauseFunc
}

// add returns the context of a request and what to call when it ends.
func (o *openRequests) add(ctx context.Context, id mcp.ID) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	key := id.Key()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cancel == nil {
		o.cancel = map[string]context.CancelCauseFunc{}
	}
	if _, taken := o.cancel[key]; taken {
		return ctx, func() { cancel(nil) }
	}
	o.cancel[key] = cancel
	return ctx, func() {
		o.mu.Lock()
		delete(o.cancel, key)
		o.mu.Unlock()
		cancel(nil)
	}
}

// end cancels the request that a notifications/cancelled names.
func (o *openRequests) end(cancelled mcp.Message) {
	id, err := mcp.ParseID(at(cancelled.Params, "requestId"))
	if err != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if cancel := o.cancel[id.Key()]; cancel != nil {
		cancel(errCancelled)
	}
}

// jobs are what a bridge runs beside the requests.
type jobs struct {
	mu     sync.Mutex
	closed bool
	group  sync.WaitGroup
}

// run runs f beside the caller. It does nothing, and says so, once the conversation is closed.
func (j *jobs) run(f func()) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return false
	}
	j.group.Go(f)
	return true
}

// close waits until all have ended, or for ctx.
func (j *jobs) close(ctx context.Context) error {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	over := make(chan struct{})
	go func() { j.group.Wait(); close(over) }()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
