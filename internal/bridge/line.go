package bridge

import (
	"bytes"
	"context"
	"sync"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// line leads from a call to the request of the client's that waits for it, if one does.
type line struct {
	mu    sync.Mutex
	w     *waiting
	token []byte // the progress token that the server knows
	held  []mcp.Message
}

// attach gives w what was kept, and what comes from now on.
func (l *line) attach(w *waiting, token []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w, l.token = w, token
	held := l.held
	l.held = nil
	for _, m := range held {
		l.pass(m)
	}
}

// detach leaves nobody waiting: nothing reaches whoever did.
func (l *line) detach() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w = nil
}

func (l *line) send(m mcp.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.w != nil:
		l.pass(m)
	case m.Method != "notifications/progress" && len(l.held) < maxHeld:
		l.held = append(l.held, m)
	}
}

// pass hands m to whoever waits, as it wants it.
func (l *line) pass(m mcp.Message) {
	switch m.Method {
	case "notifications/message":
		if l.w.level < 0 || levelOf(at(m.Params, "level")) < l.w.level {
			return
		}
	case "notifications/progress":
		switch {
		case l.w.token == nil:
			return
		case !bytes.Equal(l.token, l.w.token):
			var err error
			if m, err = rewritten(m, mcp.Edit{Path: []string{"params", "progressToken"}, Value: l.w.token}); err != nil {
				return
			}
		}
	}
	l.w.to(m)
}

// logged is the call that a log message which names none is for: of those that are open and
// want it, the one that began first.
func (s *StatelessConn) logged(m mcp.Message) *call {
	level := levelOf(at(m.Params, "level"))
	s.mu.Lock()
	defer s.mu.Unlock()
	var first *call
	for c := range s.calls {
		if c.line.wants(level) && (first == nil || c.seq < first.seq) {
			first = c
		}
	}
	return first
}

func (l *line) wants(level int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w != nil && l.w.level >= 0 && level >= l.w.level
}

// progressed is the call that a progress notification which came beside it is for.
func (s *StatelessConn) progressed(m mcp.Message) *call {
	token := sum(at(m.Params, "progressToken"))
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.calls {
		if c.token != nil && sum(c.token) == token {
			return c
		}
	}
	return nil
}

// raise tells the server to log what the requests that are open want to see. What a request
// does not want of it is kept from it.
func (s *StatelessConn) raise(ctx context.Context, level int) {
	if level < 0 || !s.can.logging || s.levels.take(ctx) != nil {
		return
	}
	defer s.levels.give()
	s.mu.Lock()
	for c := range s.calls {
		if l := c.line.level(); l >= 0 {
			level = min(level, l)
		}
	}
	same := level == s.level
	s.mu.Unlock()
	if same {
		return
	}
	// A server that does not do as it declares logs as it likes: no reason to refuse the call.
	if answer, err := s.own(ctx, "logging/setLevel", pair{"level", quoted(levels[level])}); err == nil && answer.Error == nil {
		s.mu.Lock()
		s.level = level
		s.mu.Unlock()
	}
}

func (l *line) level() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == nil {
		return -1
	}
	return l.w.level
}
