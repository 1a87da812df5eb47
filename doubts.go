package sallyport

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-dev/sallyport/flow"
)

// DoubtOptions say how long doubt lasts, and how much of it is kept. The zero value is
// usable.
type DoubtOptions struct {
	Store Store // nil: NewMemoryStore(Now)
	// SessionIdle is how long a scope outlives the last of its sessions, so that who
	// reconnects meets what was seen before. Default 8 h; negative: it ends with them. What
	// was spent of budgets in a memory store ends with the scope; other stores say
	// themselves when theirs ends.
	SessionIdle time.Duration
	// MaxScopes bounds the scopes that are kept, those without a session included. Doubt is
	// never dropped early for want of room: a session of one more scope is refused. Default
	// 4096.
	MaxScopes int
	Now       func() time.Time // nil: time.Now
}

// Doubts are what the sessions of one process know and have spent, by their scopes of
// doubt: all sessions of a scope have one ledger, one numbering of calls and one budget,
// whichever engine opened them. Safe for concurrent use.
type Doubts struct {
	store Store
	idle  time.Duration
	max   int
	now   func() time.Time

	mu     sync.Mutex // guards all below; never held while the store is used
	scopes map[string]*doubt
	swept  time.Time
}

// doubt is one scope.
type doubt struct {
	name   string
	caller string
	shared bool
	key    [16]byte

	store   Store
	ledger  *flow.Ledger // without anything typed
	calls   atomic.Uint64
	sharing sharing

	mu     sync.Mutex
	budget map[string]struct{} // counters of the memory store that moved

	// Guarded by Doubts.mu.
	sessions int
	left     time.Time // when the last session ended
	trusts   map[string]*trust
	begun    bool // a session of it began
}

// trust is one scope of trust, with the sessions that are in it.
type trust struct {
	ledger   *flow.Ledger
	sessions int
}

// ErrTooManyScopes is the error of [Engine.Session] when [DoubtOptions].MaxScopes is
// reached.
var ErrTooManyScopes = errors.New("sallyport: what was seen is kept for as many callers as it can be")

// NewDoubts returns an empty one.
func NewDoubts(opt DoubtOptions) *Doubts {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Store == nil {
		opt.Store = NewMemoryStore(opt.Now)
	}
	if opt.SessionIdle == 0 {
		opt.SessionIdle = 8 * time.Hour
	}
	if opt.MaxScopes <= 0 {
		opt.MaxScopes = 4096
	}
	return &Doubts{store: opt.Store, idle: opt.SessionIdle, max: opt.MaxScopes, now: opt.Now, scopes: make(map[string]*doubt)}
}

// enter returns the scope of a new session, and its ledger with what was typed in its
// scope of trust.
func (ds *Doubts) enter(opt SessionOptions, ledgerBytes int) (*doubt, *flow.Ledger, error) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if now := ds.now(); ds.idle > 0 && (len(ds.scopes) >= ds.max || now.Sub(ds.swept) > ds.idle/8) {
		for _, d := range ds.scopes {
			ds.end(d, now)
		}
		ds.swept = now
	} else if d := ds.scopes[opt.Doubt]; d != nil {
		ds.end(d, now)
	}
	d := ds.scopes[opt.Doubt]
	switch {
	case d == nil && len(ds.scopes) >= ds.max:
		return nil, nil, ErrTooManyScopes
	case d == nil:
		d = newDoubt(opt, ds.store, ledgerBytes)
		ds.scopes[d.name] = d
	case d.caller != opt.Caller:
		return nil, nil, fmt.Errorf("sallyport: the scope of doubt %s is that of another caller", quoted(opt.Doubt))
	case d.shared != opt.Shared || d.key != opt.Key:
		return nil, nil, fmt.Errorf("sallyport: the scope of doubt %s is shared in another way", quoted(opt.Doubt))
	}
	d.sessions++
	if opt.Trust == "" {
		return d, d.ledger.Beside(), nil
	}
	t := d.trusts[opt.Trust]
	if t == nil {
		t = &trust{ledger: d.ledger.Beside()}
		d.trusts[opt.Trust] = t
	}
	t.sessions++
	return d, t.ledger, nil
}

func newDoubt(opt SessionOptions, store Store, ledgerBytes int) *doubt {
	d := &doubt{name: opt.Doubt, caller: opt.Caller, shared: opt.Shared, key: opt.Key, store: store, trusts: make(map[string]*trust)}
	d.sharing.own = make(map[int]bool)
	d.ledger = flow.NewLedger(flow.LedgerOptions{Key: opt.Key, MaxBytes: ledgerBytes, Publish: d.publish()})
	return d
}

// began says that a session of d has begun.
func (ds *Doubts) began(d *doubt) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d.begun = true
}

// leave ends a session's part in its scope. A scope in which none began is dropped, so
// that the next one tries again.
func (ds *Doubts) leave(d *doubt, scopeOfTrust string) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if t := d.trusts[scopeOfTrust]; t != nil {
		if t.sessions--; t.sessions == 0 {
			delete(d.trusts, scopeOfTrust)
		}
	}
	if d.sessions--; d.sessions > 0 {
		return
	}
	d.left = ds.now()
	if !d.begun {
		delete(ds.scopes, d.name)
	}
	if ds.idle < 0 {
		ds.end(d, d.left)
	}
}

// end drops a scope whose time is over. A clock that went back ends nothing. The lock must
// be held.
func (ds *Doubts) end(d *doubt, now time.Time) {
	if d.sessions > 0 || now.Sub(d.left) <= ds.idle {
		return
	}
	delete(ds.scopes, d.name)
	if m, ok := ds.store.(*memoryStore); ok {
		m.forget(d.budget)
	}
}

// spent notes a counter that goes with the scope.
func (d *doubt) spent(counter string) {
	if _, ok := d.store.(*memoryStore); !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.budget[counter]; known {
		return
	}
	if d.budget == nil {
		d.budget = make(map[string]struct{})
	}
	d.budget[counter] = struct{}{}
}
