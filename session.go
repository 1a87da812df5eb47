package sallyport

import (
	"context"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/policy"
)

// Value is a decoded JSON value; see package doc.
type Value = doc.Value

// Call is one thing that a caller wants to do.
type Call struct {
	Subject  policy.Subject // policy.Tool, policy.Resource or policy.Prompt
	Upstream string
	Name     string // the tool's or prompt's name, or the resource's URI, as the upstream knows it
	// Shown is the name that the client sees, where that is another: with the upstream's
	// prefix. Rules, selectors and the texts of a decision are about it; contracts, pins,
	// the ledger and budgets are about Upstream and Name. "" is Name.
	Shown string
	Args  Value // an object; absent counts as {}
	// Answers is what the client answers with this call to questions of the server's: it
	// goes out as content does.
	Answers Value
	// Continues names the decision of the call that this one repeats, after the upstream
	// or a human asked for more. Every check runs again; the budget is charged once, and
	// what a human agreed to holds. It is ignored when the call is not the same, or when
	// that decision was a refusal.
	Continues DecisionID
}

// shown is the name that the client sees.
func (c Call) shown() string {
	if c.Shown == "" {
		return c.Name
	}
	return c.Shown
}

// askLead is what the reason of an ask starts with.
const askLead = "a human has to agree first: "

// MaxRounds is how often one call may be continued.
const MaxRounds = 8

// pending is what is kept of a decision until it is forgotten.
type pending struct {
	call     Call
	by       *deciding          // it was decided by
	contract *contract.Contract // nil: no tool
	decision Decision
	rounds   int
	charged  bool     // the budget was charged
	agreed   []agreed // what a human said yes to
	limits   []string // rate limits of the rule that allows
	rated    bool     // they were debited
	started  bool
	// What the call names: echo may be read back in its result and taints nothing then,
	// wrote is what nobody vouched for.
	echo, wrote []flow.Destination
	endorsed    bool // it fetches a page or file that the user named
}

// agreed is what a yes covers: this question, about this destination, as long as it is
// known from where it was known then.
type agreed struct {
	check                         Check
	argument, destination, origin string
}

func (q Question) agreed() agreed {
	if q.Destination == "" {
		return agreed{q.Check, q.Argument, q.Text, q.origin}
	}
	return agreed{q.Check, q.Argument, q.Destination, q.origin}
}

// Decide runs every check that needs no human. The decision is kept until Forget.
//
// When the verdict is Ask, Answer settles it; without an answer it is a refusal.
func (s *Session) Decide(ctx context.Context, c Call) Decision {
	by := s.by.Load()
	p := &pending{call: c, by: by}
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return Decision{Check: CheckApproval, Reason: sessionOver, DryRun: by.opt.DryRun}
	}
	s.decisions++
	p.decision = Decision{ID: s.decisions, Call: s.doubt.calls.Add(1), DryRun: by.opt.DryRun}
	if before := s.pending[c.Continues]; before != nil && before.goesOn() && sameCall(before.call, c) {
		p.rounds, p.charged, p.rated = before.rounds+1, before.charged, before.rated
		if before.by.Engine == by.Engine { // a yes is bound to the configuration under which it was given
			p.agreed = before.agreed
		}
		s.drop(c.Continues)
	}
	s.mu.Unlock()

	e := evaluation{s: s, by: by, p: p, d: p.decision}
	e.run(ctx)
	p.decision = e.d
	s.keep(p)
	return e.d
}

// goesOn reports that a call can continue this decision: a refused one is over, and its
// retry is an attempt of its own.
func (p *pending) goesOn() bool { return p.decision.Runs() || p.decision.Verdict == Ask }

func sameCall(a, b Call) bool {
	return a.Subject == b.Subject && a.Upstream == b.Upstream && a.Name == b.Name && sameArgs(a.Args, b.Args)
}

func sameArgs(a, b Value) bool {
	if a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return doc.Equal(a, b)
}

func (s *Session) keep(p *pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.pending[p.decision.ID] = p
	s.oldest = append(s.oldest, p.decision.ID)
	for len(s.pending) > maxPending {
		s.drop(s.oldest[0])
		s.oldest = s.oldest[1:]
	}
	if len(s.oldest) > 2*maxPending {
		kept := s.oldest[:0:0]
		for _, id := range s.oldest {
			if s.pending[id] != nil {
				kept = append(kept, id)
			}
		}
		s.oldest = kept
	}
}

// Answer settles the questions of a decision, all of them. A no, an unknown id or a
// decision that asked nothing is a refusal. A yes counts for this decision and those that
// continue it, by the same engine, and for what was asked: what is asked later is not covered,
// and neither is what is asked again after a [Session.Use].
func (s *Session) Answer(ctx context.Context, id DecisionID, yes bool) Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pending[id]
	if p == nil {
		return Decision{ID: id, Check: CheckApproval, Reason: "this question is not open any more", DryRun: s.by.Load().opt.DryRun}
	}
	d := &p.decision
	switch {
	case d.Verdict == Allow:
		return *d
	case d.Verdict == Deny:
	case yes && ctx.Err() == nil:
		for _, q := range d.Questions {
			p.agreed = append(slices.Clip(p.agreed), q.agreed())
		}
		d.Verdict, d.Check, d.Reason, d.Questions = Allow, "", "", nil
	default:
		said := "the answer was no: "
		if ctx.Err() != nil {
			said = "nobody said yes: "
		}
		d.Verdict, d.Reason, d.Questions = Deny, said+strings.TrimPrefix(d.Reason, askLead), nil
		if d.Check == "" {
			d.Check = CheckApproval
		}
	}
	return *d
}

// Start is called immediately before the call is forwarded. It confines write paths
// once more, with their links as they are now, and debits rate limits; after an Answer it
// runs every check again but for the budget, and after a [Session.Use] all of them. The
// decision that it returns is final; an id that is unknown, not allowed or already started
// is a refusal.
func (s *Session) Start(ctx context.Context, id DecisionID) Decision {
	by := s.by.Load()
	s.mu.Lock()
	p := s.pending[id]
	if p == nil || p.started {
		s.mu.Unlock()
		return Decision{ID: id, Check: CheckApproval, Reason: "this decision is not open any more", DryRun: by.opt.DryRun}
	}
	d := p.decision
	if !d.Runs() {
		s.mu.Unlock()
		return d
	}
	p.started = true
	answered, anew := len(p.agreed) > 0, p.by != by
	if anew { // a yes is bound to the configuration under which it was given
		p.agreed = nil
	}
	p.by = by
	s.mu.Unlock()
	if by.opt.DryRun && d.Verdict != Allow && !anew {
		s.runs(by, p) // nothing to enforce
		return d
	}

	e := evaluation{s: s, by: by, p: p, d: d, again: true, anew: anew}
	switch {
	case anew:
		e.d = Decision{ID: d.ID, Call: d.Call, DryRun: by.opt.DryRun}
		e.run(ctx)
		if len(e.d.Questions) > 0 && !e.d.Runs() {
			e.deny(e.d.Check, "%s; the configuration changed before the call started, so it has to be called again", e.d.Reason)
		}
	case answered:
		e.d.Questions, e.d.Evidence = nil, nil
		e.run(ctx)
		if len(e.d.Questions) > 0 { // an ask without one is what a dry policy would have asked
			e.deny(e.d.Check, "%s, and that is not what a human agreed to", e.d.Questions[0].Text)
		}
	case ctx.Err() != nil:
		e.deny(CheckApproval, "the call was given up before it started")
	default:
		e.path()
	}
	if e.d.Runs() && !p.rated {
		e.rate(ctx, true)
		e.settleDry()
		p.rated = e.d.Runs()
	}
	s.mu.Lock()
	p.decision = e.d
	s.mu.Unlock()
	if e.d.Runs() {
		s.runs(by, p)
	}
	return e.d
}

// runs notes what a call that is about to run makes of its own words.
func (s *Session) runs(by *deciding, p *pending) {
	s.ledger.Wrote(p.wrote)
	s.ledger.Named(named(p.call.Args))
	p.endorsed = s.endorses(by, p)
	s.mu.Lock()
	s.running[p.decision.Call] = p
	s.mu.Unlock()
}

// Writes reports whether a call's contract confines what it writes: such calls are
// decided and run one at a time per upstream.
func (s *Session) Writes(c Call) bool {
	if c.Subject != policy.Tool {
		return false
	}
	t, why := s.tool(c)
	return why == "" && len(s.by.Load().contracts.For(t).WriteParams) > 0
}

// Forget drops what is kept of a decision: the call was answered for good, refused or
// cancelled.
func (s *Session) Forget(id DecisionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(id)
}

// drop forgets a decision. The lock must be held.
func (s *Session) drop(id DecisionID) {
	if p := s.pending[id]; p != nil {
		delete(s.running, p.decision.Call)
	}
	delete(s.pending, id)
}
