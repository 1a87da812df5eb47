package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
)

const (
	maxWaiting = 1 << 20                // bytes of log that wait for standard error
	flushWait  = 500 * time.Millisecond // for the rest of them, at the end
)

// asyncWriter writes to standard error without ever making the writer wait: a client
// that does not read our log must not stop the relay. What comes when too much waits is
// dropped, and the log says how much. Each Write is one line or several whole ones.
// Credentials in them are replaced as in the audit log: what a server or a reason quotes
// ends up in files of the client's.
// Safe for concurrent use.
type asyncWriter struct {
	w    io.Writer
	wake chan struct{} // holds one when there is something to write
	done chan struct{} // closed when all was written after Close

	mu      sync.Mutex // guards all below
	waiting []byte
	dropped int // writes
	closed  bool
}

func newAsyncWriter(w io.Writer) *asyncWriter {
	a := &asyncWriter{w: w, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go a.run()
	return a
}

// Write never fails: nobody could be told.
func (a *asyncWriter) Write(p []byte) (int, error) {
	line := audit.RedactText(string(p))
	if len(p) > 0 && p[len(p)-1] == '\n' && !strings.HasSuffix(line, "\n") {
		line += "\n" // a key without an end has taken it
	}
	a.mu.Lock()
	if len(a.waiting)+len(line) > maxWaiting || a.closed {
		a.dropped++
	} else {
		a.waiting = append(a.waiting, line...)
	}
	a.mu.Unlock()
	a.ring()
	return len(p), nil
}

func (a *asyncWriter) ring() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Close waits until what was written so far is out, for half a second at most.
func (a *asyncWriter) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.ring()
	limit := time.NewTimer(flushWait)
	defer limit.Stop()
	select {
	case <-a.done:
	case <-limit.C:
	}
}

func (a *asyncWriter) run() {
	defer close(a.done)
	var spare []byte
	for range a.wake {
		a.mu.Lock()
		text, dropped, closed := a.waiting, a.dropped, a.closed
		a.waiting, a.dropped = spare[:0], 0
		a.mu.Unlock()
		if dropped > 0 {
			text = fmt.Appendf(text, "sallyport: %d log lines are left out here: standard error is not read\n", dropped)
		}
		if len(text) > 0 {
			_, _ = a.w.Write(text)
		}
		spare = text
		if closed {
			return
		}
	}
}
