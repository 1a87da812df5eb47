package relay

import "github.com/sallyport-dev/sallyport/internal/mcp"

// end answers everything that is open with an error, beside: answered is closed when all of
// it was handed over. After it nothing is answered any more.
func (r *Relay) end(why string) (answered <-chan struct{}) {
	done := make(chan struct{})
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		close(done)
		return done
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
	tasks := r.stopTasks()
	r.mu.Unlock()
	r.endPrompts(why)

	go func() {
		defer close(done)
		for _, c := range open {
			r.toClient(c.id, mcp.ErrorResponse(c.id, mcp.CodeInternal, "[sallyport] "+why+" before it answered", nil))
		}
		r.answering.Wait() // for what the server still said, too
	}()
	for _, c := range open {
		if forwarded[c] {
			r.recordOutcome(c, outcome{name: "error", detail: why})
			r.opt.Session.Forget(c.decision.ID)
		}
	}
	for _, t := range tasks {
		r.opt.Session.Forget(t)
	}
	return done
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
