package serve

import (
	"context"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/internal/token"
)

// requests are those that are under way, by caller. They were authenticated when they
// began; one that goes on for long, such as a stream, could outlive its token.
type requests struct {
	mu   sync.Mutex // guards all below
	next uint64
	open map[uint64]request
}

type request struct {
	caller string
	cancel context.CancelFunc
}

func (r *requests) add(caller string, cancel context.CancelFunc) (id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	r.open[r.next] = request{caller, cancel}
	return r.next
}

func (r *requests) remove(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, id)
}

func (r *requests) cancel(gone func(caller string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.open {
		if gone(q.caller) {
			q.cancel()
		}
	}
}

// expire ends what was opened with a token when the token expires, until stop is closed.
// changed tells that the tokens are others.
func expire(tokens *token.Table, end func(gone func(caller string) bool), changed, stop <-chan struct{}) {
	for {
		timer := time.NewTimer(time.Hour)
		if in, ok := tokens.NextExpiry(); ok && in < time.Hour {
			timer.Reset(in)
		}
		select {
		case <-timer.C:
			end(func(caller string) bool { return !tokens.Valid(caller) })
		case <-changed:
		case <-stop:
			timer.Stop()
			return
		}
		timer.Stop()
	}
}
