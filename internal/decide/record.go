package decide

import (
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// recordVerdict writes a verdict before it is told. ok is false when it could not be
// written. The records are those of wrap; the session is this run's ID, a slash and the
// program's own name.
func (s *stream) recordVerdict(t *session, id mcp.ID, c *call, d sallyport.Decision, detail string) (seq uint64, ok bool) {
	if s.opt.Audit == nil {
		return 0, true
	}
	rec := s.record(t, c.method(), "verdict")
	rec.Upstream, rec.Target, rec.Call, rec.Request = c.upstream, c.name, c.number, id.Raw()
	rec.Arguments, rec.Detail = c.args, detail
	rec.Verdict, rec.Check, rec.Rule, rec.Reason = d.Verdict.String(), string(d.Check), d.Rule, d.Reason
	if d.DryRun {
		rec.Mode = "dry-run"
	}
	switch {
	case d.Verdict == sallyport.Allow:
		rec.Outcome = "allowed"
	case d.Runs():
		rec.Outcome = "dry-run-allowed"
		rec.Reason = "DRY-RUN: would " + strings.TrimSpace(d.Verdict.String()+" ("+d.Reason+")")
	case d.Verdict == sallyport.Ask:
		rec.Outcome = "asked"
	case d.Check == sallyport.CheckRate:
		rec.Outcome = "rate_limited"
	default:
		rec.Outcome = "denied"
	}
	for _, e := range d.Evidence {
		rec.Evidence = append(rec.Evidence, audit.Evidence{
			Argument: e.Argument, Destination: e.Destination, Origin: e.Origin, Upstream: e.Upstream,
			Tool: e.Tool, Call: e.Call, Time: e.Time, Place: e.Place,
		})
	}
	return s.append(rec, "a verdict could not be recorded")
}

// recordResult writes how a call ended. A failure is logged.
func (s *stream) recordResult(t *session, m *message, c *call) {
	if s.opt.Audit == nil || c.recorded == 0 {
		return
	}
	rec := s.record(t, c.method(), "outcome")
	rec.Ref, rec.Upstream, rec.Target, rec.Call, rec.Request = c.recorded, c.upstream, c.name, c.number, m.id.Raw()
	rec.Duration = time.Since(c.began)
	rec.Outcome = "allowed"
	if m.result.Get("isError").Bool() {
		rec.Outcome, rec.Detail = "error", "the tool answered with an error"
	}
	result := m.result.AppendJSON(nil)
	rec.ResultBytes, rec.ResultDigest = int64(len(result)), s.opt.Audit.Digest(result)
	s.append(rec, "an outcome could not be recorded")
}

// recordSession writes that a session starts or ends.
func (s *stream) recordSession(t *session, what string) {
	if s.opt.Audit == nil {
		return
	}
	rec := s.record(t, "session", "")
	rec.Detail = what
	s.append(rec, "the session could not be recorded")
}

func (s *stream) record(t *session, event, phase string) audit.Record {
	rec := audit.Record{
		Time: time.Now(), Event: event, Phase: phase, Session: s.opt.ID + "/" + t.name, Caller: t.caller, Mode: "enforce",
		Policy: t.engine.Policy().Name(), PolicyDigest: t.engine.Policy().Digest(),
	}
	if t.engine.DryRun() {
		rec.Mode = "dry-run"
	}
	return rec
}

func (s *stream) append(rec audit.Record, failure string) (seq uint64, ok bool) {
	seq, err := s.opt.Audit.Append(rec)
	if err != nil {
		s.opt.Log.Error(failure, "log", s.opt.Audit.Path(), "error", err)
	}
	return seq, err == nil
}
