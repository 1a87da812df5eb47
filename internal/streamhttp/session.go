package streamhttp

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// Session is one session of a handshake version. It belongs to the caller that began it.
// Safe for concurrent use.
type Session struct {
	h      *Handler
	id     string
	caller string
	ctx    context.Context
	cancel context.CancelFunc

	mu         sync.Mutex
	version    string
	uses       int // requests and streams that are open
	used       time.Time
	timer      *time.Timer // ends an idle session
	ended      bool
	lastStream uint64
	own        *stream            // of messages that belong to no request
	streams    map[uint64]*stream // all that can be resumed
	finished   []finishedStream   // oldest first
}

type finishedStream struct {
	*stream
	expiry *time.Timer
}

// ID returns the session's id. It is as secret as a password for its caller, and worth
// nothing to another.
func (s *Session) ID() string { return s.id }

// Version returns the negotiated protocol version, "" before initialize is answered.
func (s *Session) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Context ends with the session.
func (s *Session) Context() context.Context { return s.ctx }

// Send puts a message that belongs to no request on the session's own stream. It does not
// wait for the client: ErrFull means that too much waits for it, ErrGone that the session
// has ended.
func (s *Session) Send(frame []byte) error {
	m, bad := mcp.Parse(frame)
	if bad != nil || m.Kind == mcp.Response {
		return ErrFrame
	}
	if s.ctx.Err() != nil {
		return ErrGone
	}
	return s.own.add(s.ctx, m.Raw, false, false)
}

// newSession begins a session of a caller, in the place of its longest unused one if it
// has too many. ok is false if all are in use.
func (h *Handler) newSession(caller string) (s *Session, ok bool) {
	s = &Session{h: h, id: rand.Text() + rand.Text(), caller: caller, uses: 1, streams: map[uint64]*stream{}}
	s.ctx, s.cancel = context.WithCancel(h.base)
	s.lastStream = 1
	s.own = newStream(1, h.opt.Queue, nil)
	s.streams[1] = s.own
	s.timer = time.AfterFunc(h.opt.SessionIdle, s.endIdle)
	s.timer.Stop()
	for {
		h.mu.Lock()
		if h.perName[caller] < h.opt.CallerShare && len(h.sessions) < h.opt.MaxSessions {
			h.sessions[s.id] = s
			h.perName[caller]++
			h.mu.Unlock()
			return s, true
		}
		all := len(h.sessions) >= h.opt.MaxSessions
		victim := h.unused(caller)
		h.mu.Unlock()
		if victim == nil {
			h.log.Warn("no room for another session", "caller", caller, "all", all)
			s.cancel()
			return nil, false
		}
		victim.End()
	}
}

// unused returns the caller's longest unused session. Others' are left alone: nobody can
// push them out. h.mu is held.
func (h *Handler) unused(caller string) *Session {
	var oldest *Session
	var since time.Time
	for _, s := range h.sessions {
		if s.caller != caller {
			continue
		}
		s.mu.Lock()
		free, used := s.uses == 0, s.used
		s.mu.Unlock()
		if free && (oldest == nil || used.Before(since)) {
			oldest, since = s, used
		}
	}
	return oldest
}

// session returns a caller's session and marks it as in use. One of another caller is as
// unknown as one that never was.
func (h *Handler) session(id string, caller Caller) *Session {
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	if s == nil || s.caller != caller.Name || !s.use() {
		return nil
	}
	return s
}

func (h *Handler) allSessions() []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*Session
	for _, s := range h.sessions {
		all = append(all, s)
	}
	return all
}

// EndSessions ends the sessions of the callers that gone names: their credentials hold no
// more. Requests of theirs that are under way lose their answer.
func (h *Handler) EndSessions(gone func(caller string) bool) {
	for _, s := range h.allSessions() {
		if gone(s.caller) {
			s.End()
		}
	}
}

// use keeps the session from ending by itself until release.
func (s *Session) use() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.uses++
	s.timer.Stop()
	return true
}

func (s *Session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses--
	s.used = time.Now()
	if s.uses == 0 && !s.ended {
		s.timer.Reset(s.h.opt.SessionIdle)
	}
}

func (s *Session) endIdle() {
	s.mu.Lock()
	idle := s.uses == 0
	s.mu.Unlock()
	if idle {
		s.End()
	}
}

// End ends the session: its id is unknown from now on, its context and its streams end.
func (s *Session) End() {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	s.timer.Stop()
	finished := s.finished
	s.finished = nil
	s.mu.Unlock()

	s.h.mu.Lock()
	delete(s.h.sessions, s.id)
	if s.h.perName[s.caller]--; s.h.perName[s.caller] == 0 {
		delete(s.h.perName, s.caller)
	}
	s.h.mu.Unlock()

	s.cancel()
	s.own.finish()
	for _, f := range finished {
		f.expiry.Stop()
		f.discard()
	}
}

// open starts a stream that can be resumed, already read by conn.
func (s *Session) open(conn *connection) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastStream++
	st := newStream(s.lastStream, s.h.opt.Queue, conn)
	if !s.ended {
		s.streams[st.id] = st
	}
	return st
}

// stream returns the stream that a Last-Event-ID belongs to.
func (s *Session) stream(id uint64) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[id]
}

// retire keeps a stream that got its last event for a client that comes back, and forgets
// older ones for which there is no room.
func (s *Session) retire(st *stream) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		if !st.read() { // nor can anybody come back
			st.discard()
		}
		return
	}
	expiry := time.AfterFunc(s.h.opt.ReplayFor, func() { s.forget(st) })
	s.finished = append(s.finished, finishedStream{st, expiry})
	old := s.surplus()
	s.mu.Unlock()
	for _, f := range old {
		f.expiry.Stop()
		f.discard()
	}
}

// maxFinished is how many finished streams are kept, however small.
const maxFinished = 64

// surplus takes the oldest finished streams out for which there is no room. One that is
// read stays whatever its size: its client is just getting the answer. So does the last
// one if nobody has taken it. s.mu is held.
func (s *Session) surplus() (old []finishedStream) {
	total, count := s.finishedSize(), len(s.finished)
	var kept []finishedStream
	for i, f := range s.finished {
		size, settled := f.state()
		over := total > s.h.opt.Replay || count > maxFinished
		if !over || f.read() || !settled && i == len(s.finished)-1 {
			kept = append(kept, f)
			continue
		}
		old = append(old, f)
		delete(s.streams, f.id)
		total -= size + eventCost
		count--
	}
	s.finished = kept
	return old
}

// finishedSize is what the finished streams keep; 0 if there are none. s.mu is held.
func (s *Session) finishedSize() int {
	total := 0
	for _, f := range s.finished {
		size, _ := f.state()
		total += size + eventCost
	}
	return total
}

// forget drops a stream.
func (s *Session) forget(st *stream) {
	s.mu.Lock()
	delete(s.streams, st.id)
	s.finished = slices.DeleteFunc(s.finished, func(f finishedStream) bool { return f.stream == st })
	s.mu.Unlock()
	st.discard()
}
