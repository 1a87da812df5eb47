package upstream

import (
	"errors"
	"time"

	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
)

// State is what is known of a server.
type State uint8

// The states.
const (
	Unknown State = iota // nothing was opened yet
	Up
	Down
)

// String is "unknown", "up" or "down".
func (s State) String() string {
	switch s {
	case Up:
		return "up"
	case Down:
		return "down"
	}
	return "unknown"
}

// Status is safe to show: it quotes nothing that the server sent.
type Status struct {
	Name  string
	State State
	Since time.Time // of the state; zero while it is Unknown
	Error string    // why it is down, or was last; "" if it never was
	Retry time.Time // when it may be tried again; zero: at once
	Conns int       // conversations
}

// Status tells how the server is.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Conns = len(s.conns)
	if s.pause.until.After(time.Now()) {
		st.Retry = s.pause.until
	}
	return st
}

// The pauses after failures: each is twice the one before.
const (
	firstPause = time.Second // after a start that failed
	maxPause   = time.Minute
	// A server that starts and soon ends, or answers and refuses, may do so for one caller
	// alone. The others do not wait long for that.
	firstStumble = 250 * time.Millisecond
	maxStumble   = 2 * time.Second
	// steady is how long a conversation lives that counts as a good start.
	steady = 10 * time.Second
)

// pause says until when a server is left alone.
type pause struct {
	failures int // starts in a row that failed
	stumbles int // conversations in a row that were refused or did not live
	last     time.Time
	until    time.Time
	err      error
}

// held returns a *Paused while the pause is not over.
func (p *pause) held(now time.Time) error {
	if now.Before(p.until) {
		return &Paused{Until: p.until, Err: p.err}
	}
	return nil
}

// failed counts a start that began at a time and failed. Of several at once one counts.
func (p *pause) failed(now, began time.Time, err error) {
	if p.failures == 0 || !began.Before(p.last) {
		p.failures++
	}
	p.hold(now, min(firstPause<<min(p.failures-1, 16), maxPause), err)
}

// stumbled counts a conversation that was refused or soon ended. The first costs nothing.
func (p *pause) stumbled(now time.Time, err error) {
	if p.stumbles++; p.stumbles > 1 {
		p.hold(now, min(firstStumble<<min(p.stumbles-2, 16), maxStumble), err)
	}
}

func (p *pause) hold(now time.Time, d time.Duration, err error) {
	p.last, p.err = now, err
	if until := now.Add(d); until.After(p.until) {
		p.until = until
	}
}

// startFailed notes that an Open failed.
func (s *Server) startFailed(began time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, ErrRefused) {
		s.pause.stumbled(time.Now(), err)
		if len(s.conns) > 0 { // it speaks with others
			return
		}
	} else {
		s.pause.failed(time.Now(), began, err)
	}
	s.set(Down, err)
}

// admitted notes that a conversation was greeted, and which eras the server speaks. The
// slot is the conversation's from then on. It reports false when the server was closed.
func (s *Server) admitted(c *conversation, known eras) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.eras = known
	s.pause.failures, s.pause.until = 0, time.Time{}
	if c.buried { // already, and nobody else gives the slot back
		s.slots--
		return true
	}
	s.conns[c] = true
	if !c.isOver() {
		s.set(Up, nil)
	}
	return true
}

// lost notes that a conversation is over. It is called with the conversation's lock held.
func (s *Server) lost(c *conversation, why error, greeted bool) {
	if !greeted {
		return // Open says so
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lived := time.Since(c.began)
	if lived >= steady {
		s.pause.stumbles = 0
	}
	if errors.Is(why, ErrClosed) || errors.Is(why, ErrIdle) {
		return
	}
	s.log.Warn("a conversation with the server ended", "reason", why)
	if lived < steady {
		s.pause.stumbled(time.Now(), why)
	}
	if errors.Is(why, streamhttp.ErrSessionLost) { // which the server itself says
		return
	}
	for other := range s.conns {
		if other != c && !other.isOver() {
			return
		}
	}
	s.set(Down, why)
}

// buried notes that nothing is left of a conversation.
func (s *Server) buried(c *conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.buried = true
	if s.conns[c] {
		delete(s.conns, c)
		s.slots--
	}
}

// reached notes that the server answered, unreached that it cannot be spoken to although
// the conversation goes on.
func (s *Server) reached(c *conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[c] {
		s.set(Up, nil)
	}
}

func (s *Server) unreached(c *conversation, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[c] {
		s.set(Down, why)
	}
}

// set changes the state, and tells when that is a change.
func (s *Server) set(state State, why error) {
	if why != nil {
		s.status.Error = quote.Text(why.Error(), 500)
	}
	if s.status.State == state {
		return
	}
	s.status.State, s.status.Since = state, time.Now()
	if state == Up {
		s.log.Info("the server is up")
		return
	}
	s.eras.doubt()
	s.log.Warn("the server is down", "reason", s.status.Error)
}
