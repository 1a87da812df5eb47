package sallyport

import (
	"errors"
	"maps"
	"slices"

	"github.com/sallyport-dev/sallyport/contract"
)

// sessionOver is the reason of what is refused after End.
const sessionOver = "this session is over"

// Use makes a running session decide by another configuration of the administrator's: by
// e's policy, contracts, flow settings and rate limits. What was seen, typed and pinned,
// what was spent and what the buckets of rate limits hold goes on, and so does the size of
// the ledger. A decision that was made before and not started is made again in Start; an
// answer to a call that runs is labelled as the new contracts say. When Use returns, nothing
// is decided by the old configuration but what was being decided meanwhile.
//
// What the session hides may change: compare [Session.Hidden] before and after. The notices
// are those of [Session.Pin]. e must have the same Doubts; with an error nothing changed.
func (s *Session) Use(e *Engine) ([]contract.Notice, error) {
	if e.opt.Doubts != s.doubts {
		return nil, errors.New("sallyport: a session stays with its Doubts, and this engine has others")
	}
	s.pinning.Lock() // no list is bound to the old contracts meanwhile
	defer s.pinning.Unlock()
	lists := make(map[string][]contract.Tool)
	s.mu.Lock()
	over := s.over
	for upstream, p := range s.pins {
		if p.known {
			lists[upstream] = p.admitted
		}
	}
	s.mu.Unlock()
	if over {
		return nil, errors.New("sallyport: " + sessionOver)
	}
	by := &deciding{e, e.opt.Contracts.Unbound()}
	var notices []contract.Notice
	for _, upstream := range slices.Sorted(maps.Keys(lists)) {
		notices = append(notices, e.unusedRules(upstream, lists[upstream])...)
		notices = append(notices, by.contracts.Bind(upstream, lists[upstream])...)
	}
	s.by.Store(by)
	return notices, nil
}

// End ends the session: its open decisions are forgotten, and whatever it is asked after
// that is refused. What output has shown in its scope of doubt is kept for other sessions,
// see [DoubtOptions]. An output that arrives late can still be observed. It may be called
// more than once.
func (s *Session) End() {
	s.mu.Lock()
	over := s.over
	s.over = true
	clear(s.pending)
	clear(s.running)
	s.oldest = nil
	s.mu.Unlock()
	if !over {
		s.doubts.leave(s.doubt, s.opt.Trust)
	}
}
