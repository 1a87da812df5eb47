package upstream

import (
	"context"
	"fmt"
	"sync"

	"github.com/sallyport-dev/sallyport/internal/stdio"
)

const (
	maxQueued      = 1024     // frames that wait to be written
	maxQueuedBytes = 32 << 20 // of them; one frame may be larger
)

// queue writes frames to a child that may be slow to read, or may not read at all: then
// those who send wait, and nobody else.
type queue struct {
	w      *stdio.Writer
	failed func(error) // called once, when nothing can be written any more

	mu     sync.Mutex
	frames []queued
	bytes  int
	room   chan struct{} // closed when there is room again; nil: nobody waits for it
	err    error

	wake chan struct{} // holds one when there is something to write
	stop chan struct{} // closed when nothing more is to be written
	done chan struct{} // closed when the writer has returned
}

type queued struct {
	frame []byte
	r     *request // nil for what is no request
}

func newQueue(w *stdio.Writer, failed func(error)) *queue {
	q := &queue{w: w, failed: failed, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go q.run()
	return q
}

// put queues a frame, waiting for room until ctx or the conversation ends.
func (q *queue) put(ctx context.Context, over <-chan struct{}, frame []byte, r *request) error {
	for {
		q.mu.Lock()
		if q.err != nil {
			q.mu.Unlock()
			return q.err
		}
		if len(q.frames) == 0 || len(q.frames) < maxQueued && q.bytes+len(frame) <= maxQueuedBytes {
			q.add(frame, r)
			return nil
		}
		if q.room == nil {
			q.room = make(chan struct{})
		}
		room := q.room
		q.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-over:
			return ErrClosed
		}
	}
}

// force queues a frame whether there is room or not.
func (q *queue) force(frame []byte) {
	q.mu.Lock()
	if q.err != nil {
		q.mu.Unlock()
		return
	}
	q.add(frame, nil)
}

// add is called with the lock held and releases it.
func (q *queue) add(frame []byte, r *request) {
	q.frames = append(q.frames, queued{frame, r})
	q.bytes += len(frame)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take removes a request that was not begun to be written, and reports whether it did.
func (q *queue) take(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, f := range q.frames {
		if f.r == r {
			q.frames = append(q.frames[:i:i], q.frames[i+1:]...)
			q.released(f)
			return true
		}
	}
	return false
}

// released is called with the lock held.
func (q *queue) released(f queued) {
	q.bytes -= len(f.frame)
	if q.room != nil {
		close(q.room)
		q.room = nil
	}
}

func (q *queue) run() {
	defer close(q.done)
	for {
		q.mu.Lock()
		if len(q.frames) == 0 {
			q.mu.Unlock()
			select {
			case <-q.wake:
				continue
			case <-q.stop:
				return
			}
		}
		f := q.frames[0]
		q.frames[0] = queued{} // lets go of the frame
		q.frames = q.frames[1:]
		q.released(f)
		q.mu.Unlock()
		if err := q.w.Write(f.frame); err != nil {
			q.fail(f)
			return
		}
	}
}

// fail tells those whose requests are not written, or half.
func (q *queue) fail(half queued) {
	err := fmt.Errorf("%w: the process reads no more input", ErrDied)
	q.mu.Lock()
	q.err = err
	rest := append(q.frames, half)
	q.frames, q.bytes = nil, 0
	if q.room != nil {
		close(q.room)
		q.room = nil
	}
	q.mu.Unlock()
	for _, f := range rest {
		if f.r != nil {
			f.r.settle(outcome{err: err})
		}
	}
	q.failed(err)
}
