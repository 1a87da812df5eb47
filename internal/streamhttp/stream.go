package streamhttp

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Errors of [Exchange] and [Session].
var (
	// ErrGone: the client is gone and cannot come back for this.
	ErrGone = errors.New("the client is gone")
	// ErrFull: too much waits for a client that is slow or away.
	ErrFull = errors.New("too much waits for the client")
	// ErrAnswered: the request has its answer already.
	ErrAnswered = errors.New("the request is already answered")
	// ErrJSONOnly: the client takes one JSON body and no stream.
	ErrJSONOnly = errors.New("the client takes no stream")
)

// eventCost is what an event costs beyond its bytes, so that empty ones are bounded too.
const eventCost = 64

// stream is a list of events on its way to one client, over one connection after another.
// What was written stays for a while if the client may come back for it.
type stream struct {
	id    uint64 // within the session; 0 if it cannot be resumed
	limit int    // bytes that may wait, and that stay for resumption
	owed  func() // called once, when the last event was written or the stream is discarded

	mu      sync.Mutex
	kept    [][]byte // events as they are written
	first   uint64   // number of kept[0]
	taken   uint64   // events below were given to a connection
	sent    uint64   // events below were written to one
	size    int      // cost of kept
	waiting int      // cost of those not sent
	closed  bool     // the last event is there, or nobody wants them
	settled bool
	conn    *connection
	change  chan struct{} // closed and replaced with each change
}

// connection is one reader of a stream.
type connection struct{ replaced chan struct{} }

func newConnection() *connection { return &connection{make(chan struct{})} }

func newStream(id uint64, limit int, conn *connection) *stream {
	return &stream{id: id, limit: limit, conn: conn, change: make(chan struct{})}
}

func (s *stream) changed() {
	close(s.change)
	s.change = make(chan struct{})
}

// next is the number of the next event. s.mu is held.
func (s *stream) next() uint64 { return s.first + uint64(len(s.kept)) }

// add appends an event. While too much waits it blocks if wait is set and a client reads,
// else it fails with ErrFull. The last event always has room.
func (s *stream) add(ctx context.Context, data []byte, wait, last bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !last && !s.closed && s.waiting > 0 && s.waiting+len(data)+eventCost > s.limit {
		if s.conn == nil || !wait {
			return ErrFull
		}
		change := s.change
		s.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
		}
		s.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if s.closed {
		return ErrGone
	}
	id := ""
	if s.id != 0 {
		id = eventID(s.id, s.next())
	}
	e := appendEvent(make([]byte, 0, len(data)+eventCost), id, data)
	s.kept = append(s.kept, e)
	s.size += len(e) + eventCost
	s.waiting += len(e) + eventCost
	s.closed = last
	s.trim()
	s.changed()
	return nil
}

// trim forgets what was sent and is too much to keep. s.mu is held.
func (s *stream) trim() {
	for len(s.kept) > 0 && s.first < s.sent && (s.id == 0 || s.size > s.limit && !s.closed) {
		s.size -= len(s.kept[0]) + eventCost
		s.kept[0] = nil
		s.kept = s.kept[1:]
		s.first++
	}
}

// attach makes conn the reader of the stream; the one before is told.
func (s *stream) attach(conn *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil && s.conn != conn {
		close(s.conn.replaced)
	}
	s.conn = conn
	s.changed()
}

// pump writes the events from number from on to out until the stream ends, the client is
// gone (ctx), or another connection takes over. It reports whether the stream was written
// to its end.
func (s *stream) pump(ctx context.Context, conn *connection, out *writer, from uint64, keepAlive time.Duration) bool {
	defer s.detach(conn)
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		select {
		case <-conn.replaced: // what is next is not for this connection
			return false
		case <-ctx.Done(): // nor for nobody
			return false
		default:
		}
		events, at, closed, change := s.take(conn, from)
		from = at
		for _, e := range events {
			if out.write(e, false) != nil {
				return false
			}
			from++
		}
		if len(events) > 0 {
			if out.write(nil, true) != nil {
				return false
			}
			s.wrote(from)
			continue
		}
		if closed {
			s.settle()
			return true
		}
		select {
		case <-change:
		case <-conn.replaced:
			return false
		case <-ctx.Done():
			return false
		case <-tick.C:
			if out.write([]byte(": still here\n\n"), true) != nil {
				return false
			}
		}
	}
}

// maxPump bounds how many events are written between two flushes.
const maxPump = 16

// take gives a connection the events from number from on, or from the first that is still
// there.
func (s *stream) take(conn *connection, from uint64) (events [][]byte, at uint64, closed bool, change chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = max(from, s.first)
	if s.conn != conn { // replaced just now
		return nil, from, false, s.change
	}
	if from < s.next() {
		events = append(events, s.kept[from-s.first:min(uint64(len(s.kept)), from-s.first+maxPump)]...)
		s.taken = max(s.taken, from+uint64(len(events)))
	}
	return events, from, s.closed, s.change
}

// wrote notes that the events below n were written.
func (s *stream) wrote(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := max(s.sent, s.first); i < n; i++ {
		s.waiting -= len(s.kept[i-s.first]) + eventCost
	}
	s.sent = max(s.sent, n)
	s.trim()
	s.changed()
}

func (s *stream) detach(conn *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == conn {
		s.conn = nil
		s.changed()
	}
}

// begun reports whether a client got an event from which it could come back.
func (s *stream) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent > 0
}

// read reports whether a connection reads the stream.
func (s *stream) read() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn != nil
}

// finish ends the stream without another event.
func (s *stream) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed()
}

// discard forgets everything: nobody can get it any more.
func (s *stream) discard() {
	s.mu.Lock()
	s.closed = true
	s.kept, s.first, s.size, s.waiting = nil, s.next(), 0, 0
	s.sent = s.first
	s.changed()
	s.mu.Unlock()
	s.settle()
}

// settle says that nothing is owed any more.
func (s *stream) settle() {
	s.mu.Lock()
	first := !s.settled
	s.settled = true
	s.mu.Unlock()
	if first && s.owed != nil {
		s.owed()
	}
}

// state returns what the stream keeps and whether it was written to its end.
func (s *stream) state() (size int, settled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size, s.settled
}
