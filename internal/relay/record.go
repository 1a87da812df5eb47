package relay

import (
	"slices"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// recordVerdict writes a request's verdict before anything is done about it. false: it
// could not be written.
func (r *Relay) recordVerdict(c *call, outcome string) bool {
	if r.opt.Audit == nil {
		return true
	}
	d := c.decision
	rec := r.record(c, "verdict")
	rec.Arguments = c.args
	rec.Verdict = d.Verdict.String()
	rec.Check, rec.Rule, rec.Reason = string(d.Check), d.Rule, d.Reason
	if outcome == "dry-run-allowed" {
		rec.Reason = "DRY-RUN: would " + strings.TrimSpace(d.Verdict.String()+" ("+d.Reason+")")
	}
	rec.Outcome = outcome
	rec.Approval = c.approval
	for _, e := range d.Evidence {
		rec.Evidence = append(rec.Evidence, audit.Evidence{
			Argument: e.Argument, Destination: e.Destination, Origin: e.Origin, Upstream: e.Upstream,
			Tool: e.Tool, Call: e.Call, Time: e.Time, Place: e.Place,
		})
	}
	seq, err := r.opt.Audit.Append(rec)
	if err != nil {
		r.log.Error("a verdict could not be recorded", "log", r.opt.Audit.Path(), "error", err)
		return false
	}
	c.seq = seq
	return true
}

// recordOutcome writes how a call ended that had a verdict. A failure is logged: the
// answer is not lost for it.
func (r *Relay) recordOutcome(c *call, o outcome) {
	if r.opt.Audit == nil || c.seq == 0 {
		return
	}
	rec := r.record(c, "outcome")
	rec.Ref = c.seq
	rec.Outcome = o.name
	rec.Duration = time.Since(c.arrived)
	rec.Detail = o.detail
	if o.name == "allowed" && o.isError {
		rec.Outcome = "error"
		rec.Detail = "the tool answered with an error"
	}
	if o.result != nil {
		rec.ResultBytes = int64(len(o.result))
		rec.ResultDigest = r.opt.Audit.Digest(o.result)
	}
	if _, err := r.opt.Audit.Append(rec); err != nil {
		r.log.Error("an outcome could not be recorded", "log", r.opt.Audit.Path(), "error", err)
	}
}

func (r *Relay) record(c *call, phase string) audit.Record {
	rec := audit.Record{
		Time: time.Now(), Event: c.method, Phase: phase, Session: r.opt.SessionID, Caller: r.opt.Caller,
		Upstream: r.opt.Upstream, Target: c.target, Call: c.decision.Call, Request: c.id.Raw(), Trace: c.trace, Mode: r.mode(c.decision),
	}
	if p := r.rules.Load().Policy; p != nil {
		rec.Policy, rec.PolicyDigest = p.Name(), p.Digest()
	}
	return rec
}

func (r *Relay) mode(d sallyport.Decision) string {
	if r.rules.Load().DryRun || d.DryRun {
		return "dry-run"
	}
	return "enforce"
}

// recordRefusedFrame writes that something was refused that is no message.
func (r *Relay) recordRefusedFrame(bad *mcp.ParseError) {
	if r.opt.Audit == nil {
		return
	}
	rec := r.record(&call{id: bad.ID, method: "frame"}, "verdict")
	rec.Verdict, rec.Outcome, rec.Reason = sallyport.Deny.String(), "denied", bad.Error()
	if _, err := r.opt.Audit.Append(rec); err != nil {
		r.log.Error("a refusal could not be recorded", "log", r.opt.Audit.Path(), "error", err)
	}
}

// recordEnd writes once that the session ended.
func (r *Relay) recordEnd() { r.endRecorded.Do(func() { r.recordSession("end") }) }

func (r *Relay) recordSession(what string) {
	if r.opt.Audit == nil {
		return
	}
	rec := r.record(&call{method: "session"}, "")
	rec.Detail = what
	if _, err := r.opt.Audit.Append(rec); err != nil {
		r.log.Error("the session could not be recorded", "log", r.opt.Audit.Path(), "error", err)
	}
}

// told is a call's decision without what the log would not show either: it is told to an
// agent, and stands in the logs of clients.
func (r *Relay) told(c *call) sallyport.Decision {
	d := c.decision
	redact := audit.RedactText
	if r.opt.Audit != nil {
		redact = func(s string) string { return r.opt.Audit.Redact(c.args, s) }
	}
	d.Reason = redact(d.Reason)
	d.Evidence = slices.Clone(d.Evidence)
	for i := range d.Evidence {
		e := &d.Evidence[i]
		e.Argument, e.Destination = redact(e.Argument), redact(e.Destination)
	}
	d.Questions = slices.Clone(d.Questions)
	for i := range d.Questions {
		q := &d.Questions[i]
		q.Argument, q.Destination, q.Text = redact(q.Argument), redact(q.Destination), redact(q.Text)
	}
	return d
}
