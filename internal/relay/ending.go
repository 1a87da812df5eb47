package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// drain lets open calls finish for a bounded time after the client's end of input.
func (r *Relay) drain(ctx context.Context, serverDone <-chan error) Ending {
	r.abandonAsked()
	r.mu.Lock()
	r.draining = true
	if r.open == 0 {
		close(r.idle)
	}
	open := r.open
	r.mu.Unlock()
	if open > 0 {
		r.log.Debug("the client's input ended; waiting for open calls", "open", open, "at most", r.opt.Drain)
	}
	limit := time.NewTimer(r.opt.Drain)
	defer limit.Stop()
	select {
	case <-r.idle:
	case <-limit.C:
		r.end(ctx, fmt.Sprintf("the client's input ended and the call took more than %v after that", r.opt.Drain), r.opt.Farewell)
	case <-r.gone:
	case err := <-serverDone:
		return r.serverEnded(ctx, err)
	case <-r.lost:
		return r.serverLost(ctx, serverDone)
	case <-ctx.Done():
		r.end(ctx, "the gateway is stopping", r.opt.Farewell)
		return Stopped
	}
	r.end(ctx, "the client has gone", r.opt.Farewell)
	return ClientEnded
}

// lastWords is how long a server that reads no more may go on to answer.
const lastWords = 2 * time.Second

// serverLost ends the relay for a server that reads no more. One that has died is found
// out by a write first, and what it answered before still stands in its output.
func (r *Relay) serverLost(ctx context.Context, serverDone <-chan error) Ending {
	limit := time.NewTimer(lastWords)
	defer limit.Stop()
	select {
	case <-serverDone:
	case <-limit.C:
	case <-r.gone:
	case <-ctx.Done():
	}
	return r.serverEnded(ctx, errors.New("it closed its input"))
}

func (r *Relay) serverEnded(ctx context.Context, err error) Ending {
	how := ""
	if r.opt.HowServerEnded != nil {
		how = r.opt.HowServerEnded()
	}
	switch {
	case how != "":
		how = fmt.Sprintf("the server %s ended (%s)", r.opt.Upstream, how)
	case err != nil:
		how = fmt.Sprintf("the server %s cannot be reached: %v", r.opt.Upstream, err)
	default:
		how = fmt.Sprintf("the server %s ended", r.opt.Upstream)
	}
	r.log.Error(how)
	r.end(ctx, how, r.opt.Drain)
	return ServerEnded
}

// end answers everything that is open with an error. After it nothing is answered any
// more. The client has so long to read the last answers, and Farewell once ctx is
// cancelled: one that does not read must not keep the gateway from ending.
func (r *Relay) end(ctx context.Context, why string, patience time.Duration) {
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return
	}
	r.ended = true
	open := make([]*call, 0, len(r.calls))
	forwarded := make(map[*call]bool) // what is not is still being decided and is dropped there
	for _, c := range r.calls {
		open = append(open, c)
		forwarded[c] = c.forwarded
	}
	clear(r.calls)
	r.stopListing()
	r.mu.Unlock()

	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for _, c := range open {
			r.toClient(mcp.ErrorResponse(c.id, mcp.CodeInternal, "[sallyport] "+why+" before it answered", nil))
		}
		r.answering.Wait() // for what the server still said, too
	}()
	for _, c := range open {
		if forwarded[c] {
			r.recordOutcome(c, outcome{name: "error", detail: why})
			r.opt.Session.Forget(c.decision.ID)
		}
	}
	r.awaitRead(ctx, answered, patience)
}

// awaitRead waits until the last answers were written, or will not be.
func (r *Relay) awaitRead(ctx context.Context, answered <-chan struct{}, patience time.Duration) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	stopped := ctx.Done()
	for {
		select {
		case <-answered:
			return
		case <-r.gone:
			return
		case <-stopped:
			stopped = nil
			limit.Reset(min(patience, r.opt.Farewell))
		case <-limit.C:
			r.log.Warn("the client does not read its last answers")
			return
		}
	}
}

// abandonAsked answers what the server asked of a client that has gone, so that the
// server can finish its calls.
func (r *Relay) abandonAsked() {
	r.mu.Lock()
	ids := make([]mcp.ID, 0, len(r.asked))
	for _, a := range r.asked {
		ids = append(ids, a.id)
	}
	clear(r.asked)
	r.mu.Unlock()
	for _, id := range ids {
		r.queue(mcp.ErrorResponse(id, mcp.CodeInternal, "[sallyport] the client has gone", nil))
	}
}
