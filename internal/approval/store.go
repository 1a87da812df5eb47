package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const defaultProgram = "sallyport"

// StoreOptions say where approvals are kept.
type StoreOptions struct {
	// Dir is the state directory; nobody but this user may write to it. It is made if it is
	// not there.
	Dir      string
	LockWait time.Duration    // how long one use waits for other processes at most; 0: 2 s
	Now      func() time.Time // nil: time.Now
	// Program is how a person calls this program, for texts that name a command. "": sallyport.
	Program string
}

// Store is what is kept of approvals. Safe for concurrent use, also by several processes.
// It holds nothing open.
type Store struct {
	opt StoreOptions

	mu   sync.Mutex
	seen map[string]uint64 // generations of files, so that an older one is noticed
}

// NewStore returns the store in a directory. Nothing is read or made yet.
func NewStore(o StoreOptions) *Store {
	o.Program = cmp.Or(o.Program, defaultProgram)
	if o.LockWait <= 0 {
		o.LockWait = 2 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{opt: o, seen: make(map[string]uint64)}
}

// Errors that a caller can tell apart, besides [ErrDamaged] and the store package's
// ErrUnsafe. None of these says that the files cannot be used.
var (
	// ErrNotOpen: the question is not open: answered, over, or never asked.
	ErrNotOpen = errors.New("this question is not open")

	// ErrNoSuchCode: no question has this code, or not any more. It counts as a guess.
	ErrNoSuchCode = errors.New("no question has this code")

	// ErrTooManyGuesses: too many wrong codes were tried, by whomever; no code is looked at
	// until [GuessTime] has passed.
	ErrTooManyGuesses = fmt.Errorf("too many wrong codes were tried: wait %d minutes", GuessTime/time.Minute)
)

// change reads the table, lets do change it, and writes it, all under the lock. What has
// expired is given to expired first, once; nil leaves that to whoever comes next.
func (s *Store) change(ctx context.Context, expired func(Approval), do func(t *table, now time.Time) (changed bool, err error)) error {
	return s.locked(ctx, func(f files) error {
		content, generation, err := f.read(stateFile)
		if err != nil {
			return err
		}
		t, err := readTable(content)
		if err != nil {
			return f.unusable(stateFile, fmt.Errorf("%w: %w", ErrDamaged, err))
		}
		now, ended := t.tick(s.opt.Now().Round(0))
		for _, a := range t.Approvals {
			if a.untold() && expired != nil {
				expired(*a)
				a.Told, ended = true, true
			}
		}
		changed, err := do(t, now)
		if !changed && !ended {
			return err
		}
		content, encodeErr := json.Marshal(t)
		if encodeErr != nil {
			return errors.Join(err, encodeErr)
		}
		if writeErr := f.write(stateFile, content, generation); writeErr != nil {
			return errors.Join(err, writeErr)
		}
		return err
	})
}

// List returns what is open or granted, the oldest first. It changes nothing.
func (s *Store) List(ctx context.Context) ([]Approval, error) {
	var all []Approval
	err := s.locked(ctx, func(f files) error {
		content, _, err := f.read(stateFile)
		if err != nil {
			return err
		}
		t, err := readTable(content)
		if err != nil {
			return f.unusable(stateFile, fmt.Errorf("%w: %w", ErrDamaged, err))
		}
		t.tick(s.opt.Now().Round(0))
		for _, a := range t.Approvals {
			if !a.over() {
				all = append(all, *a)
			}
		}
		return nil
	})
	slices.SortStableFunc(all, func(a, b Approval) int { return a.Asked.Compare(b.Asked) })
	return all, err
}

// Lookup finds the open question that has a code, as a person typed it. A code that nobody
// has counts as a guess; after [MaxGuesses] of them no code is looked at for a while.
func (s *Store) Lookup(ctx context.Context, typed string) (Approval, error) {
	code, err := readCode(typed)
	if err != nil {
		return Approval{}, err
	}
	var found Approval
	err = s.change(ctx, nil, func(t *table, now time.Time) (bool, error) {
		if len(t.Guesses) >= MaxGuesses {
			return false, ErrTooManyGuesses
		}
		a := t.find(func(a *Approval) bool { return a.Code == code })
		if a == nil {
			t.Guesses = append(t.Guesses, now)
			return true, ErrNoSuchCode
		}
		if a.State != Asked {
			return false, notOpen(a)
		}
		found = *a
		return false, nil
	})
	return found, err
}

func notOpen(a *Approval) error {
	what := map[State]string{
		Granted: "it was agreed to already; the agent can call again",
		Denied:  "the answer was no",
		Used:    "it was agreed to, and the call was made",
		Expired: "it has expired: " + a.Why,
		Revoked: "it was taken back: " + a.Why,
	}[a.State]
	return fmt.Errorf("%w: %s", ErrNotOpen, what)
}

// Answer settles an open question. What came before is [ErrNotOpen]: the first answer
// counts. record is called with the approval as it will be; if it fails nothing is answered.
// A yes counts for ttl from now on.
func (s *Store) Answer(ctx context.Context, id string, ans Answer, ttl time.Duration, record, expired func(Approval) error) (Approval, error) {
	var answered Approval
	err := s.change(ctx, ignore(expired), func(t *table, now time.Time) (bool, error) {
		a := t.byID(id)
		if a == nil {
			return false, ErrNotOpen
		}
		if a.State != Asked {
			return false, notOpen(a)
		}
		is := *a
		is.Answered, is.Channel, is.By = now, ans.Channel, ans.By
		if ans.Yes {
			is.State, is.Lasting, is.Expires = Granted, ans.Lasting && a.CanLast(), now.Add(ttl)
			if is.Lasting {
				is.Expires = now.Add(MaxLasting)
			}
		} else {
			is.end(Denied, "", now)
		}
		if record != nil {
			if err := record(is); err != nil {
				return false, err
			}
		}
		*a, answered = is, is
		return true, nil
	})
	return answered, err
}

func ignore(record func(Approval) error) func(Approval) {
	if record == nil {
		return nil
	}
	return func(a Approval) { _ = record(a) } // it has ended whether or not that can be said
}
