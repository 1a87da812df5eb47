package relay

import (
	"cmp"
	"context"
	"strings"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/approval"
)

// maxAskedFrame is how large a request may be whose decision is kept until somebody has
// answered; the retry of a larger one is charged to its budget once more.
const maxAskedFrame = 256 << 10

// asksAbout are the requests that a person can be asked about. Completions are not among
// them: there would be a question for each letter that is typed.
var asksAbout = map[string]bool{
	"tools/call": true, "prompts/get": true, "resources/read": true, "resources/subscribe": true, "subscriptions/listen": true,
}

type askNobody struct{}

// AskNobody makes a context for requests that no person is to be asked about, because no client
// has made them: what needs a yes is refused.
func AskNobody(ctx context.Context) context.Context {
	return context.WithValue(ctx, askNobody{}, true)
}

// askable reports that a person can be asked about what was just decided. A request about
// several resources is not asked about: a yes would have to be one for each of them.
func (r *Relay) askable(c *call) bool {
	return r.opt.Desk != nil && c.ctx.Value(askNobody{}) == nil && !c.decision.Runs() && c.decision.Verdict == sallyport.Ask &&
		len(c.judged) == 1 && c.content.Kind() == doc.Absent && asksAbout[c.method]
}

// answeredDecision is the decision that a call continues because somebody has said yes to
// it since; 0 for none.
func (r *Relay) answeredDecision(c *call, j sallyport.Call) sallyport.DecisionID {
	if r.opt.Desk == nil || !asksAbout[c.method] || c.large {
		return 0
	}
	return r.opt.Desk.Continues(c.ctx, j)
}

// question is what a person is asked about a call, by what decides now.
func (r *Relay) question(c *call) approval.Request {
	return approval.Request{Call: c.judged[0], Decision: c.decision, Policy: r.rules.Load().Decides}
}

// ask finds the yes that covers a call, or a way to ask for one.
func (r *Relay) ask(c *call) {
	if !r.wanted(c) {
		r.dropped(c)
		return
	}
	out, err := r.askDesk(c)
	switch {
	case err != nil:
		r.cannotBeAsked(c, err)
	case out.State == approval.Granted:
		r.granted(c, out)
	case out.State == approval.Asked && out.New && r.returns(c):
		r.askBack(c, out.Approval())
	default:
		// A question that is not new is on somebody's screen already.
		if version, ok := r.sends(c); ok && out.State == approval.Asked && out.New {
			r.prompt(c, out.Approval(), version)
			return
		}
		r.notGranted(c, out)
	}
}

// askDesk asks, and waits where the same question has just ended at the client and is being
// settled: its code would be good for nothing.
func (r *Relay) askDesk(c *call) (out approval.Outcome, err error) {
	for {
		out, err = r.opt.Desk.Ask(c.ctx, r.question(c))
		if err != nil || out.State != approval.Asked || out.New {
			return out, err
		}
		r.mu.Lock()
		p := r.onScreen[out.Approval().ID]
		ending := p != nil && r.prompts[p.id.Key()] != p
		r.mu.Unlock()
		if !ending {
			return out, nil
		}
		<-p.settled
	}
}

// granted lets a call run that somebody has agreed to: every check runs again first.
func (r *Relay) granted(c *call, out approval.Outcome) {
	c.approval = out.Approval().ID
	c.decision = r.opt.Session.Answer(c.ctx, c.decision.ID, true)
	if c.method == "tools/call" && c.decision.Writes && c.decision.Runs() && !r.takeWrite(c) {
		return // it is decided again when it is its turn, and the yes holds
	}
	if c.decision.Runs() {
		c.decision = r.opt.Session.Start(c.ctx, c.decision.ID)
	}
	r.settle(c)
}

// notGranted refuses a call that nobody has agreed to yet, and says how the user can, or why
// nobody is asked.
func (r *Relay) notGranted(c *call, out approval.Outcome) {
	if out.New && !r.wanted(c) { // the session may have ended meanwhile, and taken back what was open then
		r.withdraw(c, out.Approval().ID, whyGivenUp)
		r.dropped(c)
		return
	}
	c.approval = out.Approval().ID
	if out.State != approval.Asked {
		r.nobodyAgreed(c, cmp.Or(out.Reason, "nobody could be asked"))
		return
	}
	c.keeps = out.Kept && !c.large
	r.recordVerdict(c, refusalOutcome(c.decision))
	d := r.told(c)
	r.refuseWith(c, d, r.opt.Desk.Refusal(out, d.Reason))
}

// cannotBeAsked refuses a call because approvals cannot be used: the log has why, which may
// name places that are no business of the agent's.
func (r *Relay) cannotBeAsked(c *call, err error) {
	if !r.wanted(c) {
		r.dropped(c)
		return
	}
	r.log.Error("nobody can be asked: approvals cannot be used", "error", err)
	r.nobodyAgreed(c, "nobody can be asked, because approvals cannot be used; the gateway's log says why")
}

// nobodyAgreed refuses a call for good, which a person was to be asked about.
func (r *Relay) nobodyAgreed(c *call, why string) {
	c.decision.DryRun = c.decision.DryRun && r.rules.Load().DryRun // a dry policy asks nobody
	c.decision = closed(c.decision, strings.TrimPrefix(strings.TrimPrefix(c.decision.Reason, approval.Lead)+"; "+why, "; "))
	r.settle(c)
}

// closed is the refusal that an ask becomes which nobody can answer, or not any more. Whoever
// looks for what was denied finds it; what is recorded as asked is a question that is open.
func closed(d sallyport.Decision, reason string) sallyport.Decision {
	d.Verdict, d.Check, d.Reason, d.Questions = sallyport.Deny, sallyport.CheckApproval, reason, nil
	return d
}

// withdraw takes a question back that nobody will answer any more.
func (r *Relay) withdraw(c *call, id, why string) {
	if err := r.opt.Desk.Withdraw(context.WithoutCancel(c.ctx), id, why); err != nil {
		r.log.Error("a question could not be taken back, and ends when its time is over", "approval", id, "error", err)
	}
}

// takeBack makes a yes that no call has used one that none can.
func (r *Relay) takeBack(c *call, id, why string) {
	if err := r.opt.Desk.TakeBack(context.WithoutCancel(c.ctx), id, why); err != nil {
		r.log.Error("a yes could not be taken back", "approval", id, "error", err)
	}
}
