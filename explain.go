package sallyport

import (
	"context"

	"github.com/sallyport-dev/sallyport/policy"
)

// Step is what one check found, for Explain.
type Step struct {
	Check   Check
	Verdict Verdict
	Detail  string // safe to show
}

// Explanation is a decision with the way to it.
type Explanation struct {
	Decision Decision
	Steps    []Step             // the checks that ran, in order
	Rules    []policy.RuleTrace // the policy's rules up to the one that decides
	Contract string             // where the tool's contract comes from; "" for no tool
	Budget   *int64             // max_calls of the contract; nil: none
	Used     int64              // of the budget, so far
	Limits   []string           // rate limits that the call would debit
	Hidden   bool               // it is left out of lists
}

// Explain decides a call as Decide does, charges nothing, keeps nothing, and says what
// each check found.
func (s *Session) Explain(ctx context.Context, c Call) Explanation {
	var x Explanation
	by := s.by.Load()
	e := evaluation{s: s, by: by, p: &pending{call: c, by: by}, again: true, steps: &x.Steps}
	e.d = Decision{Call: s.doubt.calls.Load() + 1, DryRun: by.opt.DryRun}
	e.run(ctx)
	x.Decision, x.Limits = e.d, e.p.limits
	x.Rules = by.opt.Policy.Trace(e.target(), e.facts())
	x.Hidden = by.hidden(s.opt.Caller, c)
	if k := e.p.contract; k != nil {
		x.Contract = k.Source
		if x.Budget = k.MaxCalls; x.Budget != nil {
			x.Used, _ = e.used(ctx)
		}
	}
	return x
}

// step notes what a check found, and passes on whether to go on.
func (e *evaluation) step(c Check, ok bool) bool {
	if e.steps == nil {
		return ok
	}
	s := Step{Check: c, Verdict: Allow}
	switch {
	case !ok:
		s.Verdict, s.Detail = Deny, e.d.Reason
	case len(e.d.Questions) > e.asked:
		s.Verdict, s.Detail = Ask, e.d.Questions[e.asked].Text
	case e.would != nil && e.would.Check == c:
		s.Verdict, s.Detail = e.would.Verdict, e.would.Reason+" (not enforced: the policy runs dry)"
	}
	e.asked = len(e.d.Questions)
	*e.steps = append(*e.steps, s)
	return ok
}

// Hidden reports whether the policy leaves something out of lists: it is denied whatever
// the arguments, and the policy hides what it denies. c.Args is not looked at.
func (s *Session) Hidden(c Call) bool { return s.by.Load().hidden(s.opt.Caller, c) }

func (e *Engine) hidden(caller string, c Call) bool {
	return e.hides(c.Subject) && e.opt.Policy.Denies(policy.Target{Subject: c.Subject, Upstream: c.Upstream, Name: c.shown(), Caller: caller})
}

// Hides reports whether the policy leaves anything out of lists of that subject.
func (s *Session) Hides(subject policy.Subject) bool { return s.by.Load().hides(subject) }

func (e *Engine) hides(subject policy.Subject) bool {
	p := e.opt.Policy
	return p.Hides(subject) && !e.opt.DryRun && p.Mode() != policy.DryRun
}
