package sallyport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// sharing is how far a session has read of what the other processes of its client have
// seen.
type sharing struct {
	mu   sync.Mutex
	next int          // index of the first entry that was not read
	own  map[int]bool // entries behind it that this session wrote
}

// patience bounds how long sharing waits for a store that another process holds up.
const patience = 5 * time.Second

func (s *Session) log() string { return fmt.Sprintf("ledger %q", s.opt.Doubt) }

// publish returns how the ledger tells what it has seen; nil if it is not shared.
func (s *Session) publish() func(entry []byte) error {
	if !s.opt.Shared {
		return nil
	}
	return func(entry []byte) error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		at, err := s.engine.opt.Store.Append(ctx, s.log(), entry)
		if err != nil {
			return err
		}
		s.shared.mu.Lock()
		defer s.shared.mu.Unlock()
		switch {
		case at == s.shared.next:
			s.shared.next++
		case at > s.shared.next:
			s.shared.own[at] = true
		}
		return nil
	}
}

// join reads what was seen before this session began.
func (s *Session) join() error {
	if !s.opt.Shared {
		return nil
	}
	if s.opt.Key == [16]byte{} {
		return errors.New("sallyport: a shared session needs the key of its store")
	}
	s.shared.own = make(map[int]bool)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.mustCatchUp(ctx)
	return s.ledger.Damaged()
}

// readAtOnce is how many entries are read before they are recorded, so that little of a
// long log is in memory.
const readAtOnce = 64

// catchUp records what other processes have seen since the last time. What cannot be read
// damages the ledger. With nothing new it costs one look at the store.
//
// An error is that of ctx: nothing is damaged, and nothing may be decided.
func (s *Session) catchUp(ctx context.Context) error {
	if !s.opt.Shared {
		return nil
	}
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	for {
		entries, err := s.engine.opt.Store.Read(ctx, s.log(), s.shared.next, readAtOnce)
		switch {
		case err != nil && ctx.Err() != nil:
			return err // the call that waits for this ends as given up
		case err != nil:
			s.ledger.Damage(err)
			return nil
		}
		for _, e := range entries {
			at := s.shared.next
			s.shared.next++
			if s.shared.own[at] {
				delete(s.shared.own, at)
				continue
			}
			if s.ledger.Take(e) != nil {
				return nil
			}
		}
		if len(entries) < readAtOnce {
			return nil
		}
	}
}

// mustCatchUp is catchUp where nobody waits who could be refused: what could not be read in
// time may be missing.
func (s *Session) mustCatchUp(ctx context.Context) {
	if err := s.catchUp(ctx); err != nil {
		s.ledger.Damage(err)
	}
}
