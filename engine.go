package sallyport

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/policy"
)

// Options configure an engine. The zero value is usable: the built-in policy, shipped
// packs and the fallback, an own store, no write roots.
type Options struct {
	Policy    *policy.Policy // nil: policy.BuiltIn
	Contracts *contract.Set  // nil: packs by what servers list, then the fallback
	Flow      *FlowSettings  // nil: the profile balanced
	DryRun    bool           // decide, enforce nothing
	// RateLimits are what rules name under rate_limits.
	RateLimits map[string]RateLimit
	// Doubts is what sessions know and have spent, common to all engines of a process; nil:
	// this engine's own, over Store, where a scope ends with its last session. With Doubts,
	// Store must be nil: theirs is used.
	Doubts *Doubts
	Store  Store
	// WriteRoots are where a tool may write whose contract names write parameters and no
	// prefixes of its own. nil: such calls are refused.
	WriteRoots *confine.Root
	// Resolve resolves symbolic links. nil: paths are compared as they are written, which
	// is all that can be done for a server on another machine.
	Resolve confine.Resolver
	// Trusted returns the list of destinations that the user keeps beside the contracts'
	// trusted_destinations; nil: there is none. It is called for each decision, has to be
	// quick and safe for concurrent use, and what it returns must not change.
	Trusted func() []TrustedDestination
	// Place, if set, says the two of one upstream, in the place of WriteRoots and Resolve: they
	// differ where one engine decides for several. It must be fast and safe for concurrent
	// use.
	Place func(upstream string) (roots *confine.Root, resolve confine.Resolver)
	// PathStyle is how the upstream spells paths, for within in rules.
	PathStyle confine.Style
	// PinSettle is how long after an upstream's first list new tool names are still
	// learnt; servers register tools late. Changed definitions never are. Default 10 s.
	PinSettle time.Duration
	Now       func() time.Time // nil: time.Now
}

// RateLimit is a token bucket that rules share by name.
type RateLimit struct {
	Rate   float64 // tokens per second, > 0
	Burst  int     // most tokens that it holds, >= 1
	Global bool    // one bucket for all callers; else each caller has its own
}

// Engine decides calls by one configuration. Safe for concurrent use; immutable.
type Engine struct {
	opt       Options
	asksFacts bool // some rule looks at more than names
}

// New returns an engine.
func New(opt Options) (*Engine, error) {
	if opt.Policy == nil {
		opt.Policy = policy.BuiltIn()
	}
	if opt.Contracts == nil {
		set, err := contract.NewSet(nil, contract.Options{})
		if err != nil {
			return nil, err
		}
		opt.Contracts = set
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	switch {
	case opt.Doubts == nil:
		opt.Doubts = NewDoubts(DoubtOptions{Store: opt.Store, SessionIdle: -1, MaxScopes: math.MaxInt, Now: opt.Now})
	case opt.Store != nil:
		return nil, errors.New("sallyport: an engine takes the store of its Doubts, and no other")
	}
	opt.Store = opt.Doubts.store
	if opt.Flow == nil {
		opt.Flow = defaultFlow()
	}
	if opt.PinSettle == 0 {
		opt.PinSettle = 10 * time.Second
	}
	e := &Engine{opt: opt}
	for _, r := range opt.Policy.Rules() {
		e.asksFacts = e.asksFacts || len(r.When()) > 0
		for _, l := range r.RateLimits {
			if _, ok := opt.RateLimits[l]; !ok {
				return nil, fmt.Errorf("sallyport: rule %s names the rate limit %s, which does not exist", quoted(r.Name), quoted(l))
			}
		}
	}
	return e, nil
}

// place says where the tools of an upstream may write, and how its links are resolved.
func (e *Engine) place(upstream string) (*confine.Root, confine.Resolver) {
	if e.opt.Place != nil {
		return e.opt.Place(upstream)
	}
	return e.opt.WriteRoots, e.opt.Resolve
}

// Policy returns the policy that decides.
func (e *Engine) Policy() *policy.Policy { return e.opt.Policy }

// Doubts returns what the engine's sessions have in common with those of other engines.
func (e *Engine) Doubts() *Doubts { return e.opt.Doubts }

// DryRun reports whether nothing is enforced.
func (e *Engine) DryRun() bool { return e.opt.DryRun }

// deciding is what a session decides by: a configuration, with the contracts bound to what
// the servers listed to that session.
type deciding struct {
	*Engine
	contracts *contract.Set
}

// SessionOptions name a session. Doubt spans wide, trust narrow: what output has shown
// and what was spent belongs to Doubt, what a human said to Trust.
type SessionOptions struct {
	Caller string // who calls: a token's name, an OIDC subject, or "local"; required
	// Doubt is the scope of ledger, budgets and call numbers; required. The sessions of one
	// scope have them in common as long as there is one, and for [DoubtOptions].SessionIdle
	// after that. It belongs to one caller: another's session of that name is refused.
	Doubt string
	// Trust is the scope of typed values within Doubt, "" this session alone. It ends with
	// the last of its sessions. What a human agreed to belongs to the call.
	Trust string
	// Shared makes the ledger one with those of all sessions that have the same Doubt and
	// Store in other processes too: what one of them shows counts in all, before Observe
	// returns. Key is then that of the store, the same for all. What the user typed is not
	// shared.
	Shared bool
	Key    [16]byte
}

// Session starts a session, to be ended with [Session.End]. It knows what was seen in its
// scope of doubt. [ErrTooManyScopes] is returned when there is no room for another scope.
func (e *Engine) Session(opt SessionOptions) (*Session, error) {
	if opt.Caller == "" || opt.Doubt == "" {
		return nil, errors.New("sallyport: a session needs a caller and a scope of doubt")
	}
	if opt.Shared && opt.Key == [16]byte{} {
		return nil, errors.New("sallyport: a shared session needs the key of its store")
	}
	d, ledger, err := e.opt.Doubts.enter(opt, e.opt.Flow.LedgerBytes)
	if err != nil {
		return nil, err
	}
	if err := d.join(); err != nil {
		e.opt.Doubts.leave(d, opt.Trust)
		return nil, err
	}
	e.opt.Doubts.began(d)
	s := &Session{
		opt: opt, doubts: e.opt.Doubts, doubt: d, ledger: ledger,
		pins:    make(map[string]*upstreamPins),
		pending: make(map[DecisionID]*pending),
		running: make(map[uint64]*pending),
	}
	s.by.Store(&deciding{e, e.opt.Contracts.Unbound()})
	return s, nil
}

// Session is what has happened so far. Safe for concurrent use.
type Session struct {
	opt    SessionOptions
	doubts *Doubts
	doubt  *doubt       // common to the sessions of its scope
	ledger *flow.Ledger // the scope's, with what was typed in this scope of trust

	by      atomic.Pointer[deciding]
	pinning sync.Mutex // held for a whole Pin or Use, before mu

	mu        sync.Mutex // guards all below; never held while another lock or the store is used
	over      bool
	decisions DecisionID
	pins      map[string]*upstreamPins
	pending   map[DecisionID]*pending
	running   map[uint64]*pending // started and not forgotten, by their calls' numbers
	oldest    []DecisionID        // pending in order of age; may name forgotten ones
}

// maxPending bounds decisions that wait for an answer or a continuation; the oldest is
// forgotten first, which only means that a retry counts as a new call.
const maxPending = 4096

// Output is one thing that entered the agent's context.
type Output struct {
	Upstream string
	Tool     string // the tool, or the method of what is no tool's output
	Call     uint64 // Decision.Call of the call that it answers; 0: none
	Value    Value
}

// Observe records an output in the ledger. It returns when every later Decide in the
// scope of doubt sees it: call it before the output is shown to the agent. The result of a
// tool's call gets the labels of the tool's contract if Call and Tool say which call it
// answers, and the call is not forgotten yet.
func (s *Session) Observe(out Output) {
	by := s.by.Load()
	o := flow.Output{Upstream: out.Upstream, Tool: out.Tool, Call: out.Call, Time: by.opt.Now(), Value: out.Value}
	s.mu.Lock()
	p := s.running[out.Call]
	if p != nil && (p.contract == nil || p.call.Subject != policy.Tool || p.call.Upstream != out.Upstream || p.call.Name != out.Tool) {
		p = nil
	}
	if p != nil {
		o.Endorsed, o.Echo = p.endorsed, p.echo
	}
	s.mu.Unlock()
	if p != nil {
		o.Labels = s.labels(by, p)
	}
	if s.opt.Shared && slices.ContainsFunc(o.Labels, func(l flow.FieldLabel) bool { return l.Label.Loosens() }) {
		// What a label makes of a value depends on what came first: another process may have
		// written or shown it while this call ran.
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		s.doubt.mustCatchUp(ctx)
		cancel()
	}
	s.ledger.Observe(o)
}

// labels are those of the output of a call that runs: what its contract says, and after a
// new configuration what that says of the tool.
func (s *Session) labels(by *deciding, p *pending) []flow.FieldLabel {
	if p.by == by {
		return p.contract.Output
	}
	t, why := s.tool(p.call)
	if why != "" {
		return nil
	}
	return by.contracts.For(t).Output
}

// Prompt records what the user typed.
func (s *Session) Prompt(text string) { s.ledger.Typed(text) }
