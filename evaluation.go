package sallyport

import (
	"context"
	"fmt"
	"slices"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/policy"
)

// evaluation runs the checks of one call.
type evaluation struct {
	s  *Session
	by *deciding // the whole of it goes by one configuration
	p  *pending
	d  Decision
	// again is set when the call was decided before and starts now: no budget is charged.
	again bool
	// anew is set when it was decided by another configuration: a budget that is new with
	// this one is charged.
	anew bool
	// would is what the policy's rules or rate limits would refuse or ask, if they were
	// enforced: the policy runs dry.
	would *Decision
	// steps collects what each check found, for Explain; nil otherwise. asked is how many
	// questions there were at the last of them.
	steps *[]Step
	asked int
	// list is what the user trusts, read once for a decision.
	list   []TrustedDestination
	listed bool
}

func (e *evaluation) deny(c Check, format string, args ...any) bool {
	e.d.Verdict, e.d.Check, e.d.Reason = Deny, c, fmt.Sprintf(format, args...)
	e.d.Questions, e.d.DryRun = nil, e.by.opt.DryRun
	return false
}

// denyRule refuses for a rule or a rate limit, which a policy that runs dry does not
// enforce.
func (e *evaluation) denyRule(c Check, format string, args ...any) bool {
	if !e.policyDry() {
		return e.deny(c, format, args...)
	}
	if e.would == nil {
		e.would = &Decision{Verdict: Deny, Check: c, Reason: fmt.Sprintf(format, args...)}
	}
	return true
}

func (e *evaluation) policyDry() bool {
	return !e.by.opt.DryRun && e.by.opt.Policy.Mode() == policy.DryRun
}

// settleDry makes a call that only a dry policy would refuse one that runs and says so.
func (e *evaluation) settleDry() {
	if e.would == nil || e.d.Verdict != Allow {
		return
	}
	e.d.Verdict, e.d.Check, e.d.Reason, e.d.Retry = e.would.Verdict, e.would.Check, e.would.Reason, e.would.Retry
	e.d.DryRun = true
}

func (e *evaluation) ask(q Question) { e.d.Questions = append(e.d.Questions, q) }

// run goes through the checks in order and stops at the first that refuses. Questions
// are held until every check that can refuse has run.
func (e *evaluation) run(ctx context.Context) {
	if err := ctx.Err(); err != nil {
		e.deny(CheckApproval, "the call was given up before it was decided")
		return
	}
	if err := e.s.doubt.catchUp(ctx); err != nil || ctx.Err() != nil {
		e.deny(CheckApproval, "the call was given up before it was decided")
		return
	}
	if e.p.rounds > MaxRounds {
		e.deny(CheckBudget, "this call was continued more than %d times", MaxRounds)
		return
	}
	ok := e.step(CheckPattern, e.shape()) && e.step(CheckPin, e.pin()) && e.step(CheckPolicy, e.policy()) &&
		e.step(CheckBudget, e.budget(ctx)) && e.step(CheckPath, e.path()) && e.step(CheckPattern, e.patterns()) &&
		e.step(CheckFlow, e.flow()) && e.step(CheckRate, e.rateLook(ctx)) && e.step(CheckApproval, e.destructive())
	if !ok {
		return
	}
	e.d.Questions = slices.DeleteFunc(e.d.Questions, func(q Question) bool { return slices.Contains(e.p.agreed, q.agreed()) })
	if len(e.d.Questions) == 0 {
		e.d.Verdict, e.d.Questions = Allow, nil
		e.settleDry()
		return
	}
	e.d.Verdict = Ask
	q := e.d.Questions[0]
	e.d.Check = q.Check
	e.d.Reason = askLead + q.Text
	if more := len(e.d.Questions) - 1; more > 0 {
		e.d.Reason += fmt.Sprintf(" (and %d more)", more)
	}
}

func (e *evaluation) shape() bool {
	switch e.p.call.Args.Kind() {
	case doc.Absent, doc.Object:
		return true
	default:
		return e.deny(CheckPattern, "the arguments are a %s, not an object", e.p.call.Args.Kind())
	}
}

func (e *evaluation) pin() bool {
	if e.p.call.Subject != policy.Tool {
		return true
	}
	t, why := e.s.tool(e.p.call)
	// A tool that the policy hides is refused in the same words whether or not it exists, or
	// changed: they would say what the list does not. Whoever explains wants to know.
	if e.steps == nil && e.by.hidden(e.s.opt.Caller, e.p.call) && !e.policy() {
		return false
	}
	if why != "" {
		return e.deny(CheckPin, "%s", why)
	}
	e.p.contract = e.by.contracts.For(t)
	e.d.Writes = len(e.p.contract.WriteParams) > 0
	return true
}

func (e *evaluation) policy() bool {
	r := e.by.opt.Policy.Evaluate(e.target(), e.facts())
	e.d.Rule, e.p.limits = "", nil
	if r.Rule != nil {
		e.d.Rule = r.Rule.Name
		e.p.limits = r.Rule.RateLimits
	}
	reason := r.Reason
	if reason == "" {
		reason = "no reason is given"
	}
	switch r.Effect {
	case policy.Allow:
		return true
	case policy.Ask:
		q := Question{Check: CheckPolicy, Text: fmt.Sprintf("%s %s: %s", verb(e.p.call.Subject), quoted(e.p.call.shown()), reason)}
		if e.policyDry() {
			e.would = &Decision{Verdict: Ask, Check: CheckPolicy, Reason: q.Text}
			return true
		}
		e.ask(q)
		return true
	default:
		if r.Rule != nil {
			return e.denyRule(CheckPolicy, "rule %s refuses %s %s: %s", quoted(r.Rule.Name), e.p.call.Subject, quoted(e.p.call.shown()), reason)
		}
		return e.denyRule(CheckPolicy, "%s %s: %s", e.p.call.Subject, quoted(e.p.call.shown()), reason)
	}
}

func (e *evaluation) target() policy.Target {
	c := e.p.call
	return policy.Target{Subject: c.Subject, Upstream: c.Upstream, Name: c.shown(), Caller: e.s.opt.Caller, Args: c.Args}
}

// facts are what rules may ask of the session; nil where no rule asks.
func (e *evaluation) facts() *policy.Facts {
	if !e.by.asksFacts {
		return nil
	}
	_, resolve := e.by.place(e.p.call.Upstream)
	return &policy.Facts{Style: e.by.opt.PathStyle, Resolve: resolve, Origins: e.origins}
}

func verb(s policy.Subject) string {
	switch s {
	case policy.Resource:
		return "read"
	case policy.Prompt:
		return "get prompt"
	default:
		return "call"
	}
}

func (e *evaluation) budget(ctx context.Context) bool {
	c := e.p.contract
	if c == nil || c.MaxCalls == nil {
		return true
	}
	if *c.MaxCalls == 0 {
		return e.deny(CheckBudget, "%s is forbidden: its contract (%s) sets max_calls: 0", quoted(e.p.call.shown()), c.Source)
	}
	var total int64
	var ok bool
	var err error
	switch {
	case e.steps != nil:
		total, err = e.used(ctx)
		ok = total < *c.MaxCalls
	case e.p.charged && e.anew: // the budget may be smaller now
		total, err = e.used(ctx)
		ok = total <= *c.MaxCalls
	case e.p.charged || e.again && !e.anew:
		return true
	default:
		counter := e.counter()
		e.s.doubt.spent(counter)
		total, ok, err = e.by.opt.Store.Add(ctx, counter, 1, *c.MaxCalls)
	}
	if err != nil {
		return e.deny(CheckBudget, "the budget of %s could not be read", quoted(e.p.call.shown()))
	}
	if !ok {
		return e.deny(CheckBudget, "%s was called %s in this session, and max_calls is %d", quoted(e.p.call.shown()), times(total), *c.MaxCalls)
	}
	e.p.charged = true
	return true
}

func (e *evaluation) counter() string {
	return fmt.Sprintf("budget %q %q %q", e.s.opt.Doubt, e.p.call.Upstream, e.p.call.Name)
}

// used is how much of the budget was spent. A counter with a limit of 0 never moves.
func (e *evaluation) used(ctx context.Context) (int64, error) {
	total, _, err := e.by.opt.Store.Add(ctx, e.counter(), 1, 0)
	return total, err
}

func times(n int64) string {
	if n == 1 {
		return "1 time"
	}
	return fmt.Sprintf("%d times", n)
}
