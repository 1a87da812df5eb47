package sallyport

import (
	"context"
)

// Reply decides whether what the client answers to a request of the server's own may go
// out: an elicitation's form, a sampling result. It is content and is checked for what it
// carries; there is no rule or budget for it. method is the request's, for the text of
// the verdict. The decision has no id: it is settled by itself, and an ask that nobody
// answers is a refusal.
func (s *Session) Reply(ctx context.Context, method string, answer Value) Decision {
	by := s.by.Load()
	s.mu.Lock()
	over := s.over
	s.mu.Unlock()
	if over {
		return Decision{Check: CheckApproval, Reason: sessionOver, DryRun: by.opt.DryRun}
	}
	d := Decision{Call: s.doubt.calls.Load(), DryRun: by.opt.DryRun}
	e := evaluation{s: s, by: by, p: &pending{call: Call{Name: method}}, d: d}
	if ctx.Err() != nil {
		e.deny(CheckApproval, "the answer was given up before it was decided")
		return e.d
	}
	if !e.answers(answer) {
		return e.d
	}
	if len(e.d.Questions) == 0 {
		e.d.Verdict = Allow
		return e.d
	}
	e.d.Verdict, e.d.Check = Ask, e.d.Questions[0].Check
	e.d.Reason = askLead + e.d.Questions[0].Text
	return e.d
}

// answers checks what a client answers to a server for what it carries.
func (e *evaluation) answers(v Value) bool {
	inner := evaluation{s: e.s, by: e.by, p: &pending{call: Call{Name: e.p.call.Name, Args: v}}, d: e.d}
	ok := inner.content(nil)
	e.d = inner.d
	return ok
}
