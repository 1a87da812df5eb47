package approval

import (
	"fmt"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
)

// The phases of an approval's records. Each names the approval's id.
const (
	PhaseAsked    = "asked"
	PhaseAnswered = "answered"
	PhaseUsed     = "used"
	PhaseExpired  = "expired"
	PhaseRevoked  = "revoked"
)

// Record is the audit record of one step. call is the number of the call that used it, for
// [PhaseUsed]; 0 stands for the call that raised the question. It holds no argument and no
// destination: these stand in the verdict that has the same id.
func (a *Approval) Record(phase string, call uint64, now time.Time) audit.Record {
	r := audit.Record{
		Time: now, Event: "approval", Phase: phase, Approval: a.ID, Session: a.Session, Caller: a.Caller,
		Upstream: a.Upstream, Target: a.Tool, Call: a.Call, PolicyDigest: a.Policy,
	}
	if call != 0 {
		r.Call = call
	}
	switch phase {
	case PhaseAsked:
		r.Outcome = "asked"
		r.Detail = fmt.Sprintf("%s, open until %s", questions(len(a.Questions)), a.Expires.UTC().Format(time.RFC3339))
	case PhaseAnswered:
		r.Duration = a.Answered.Sub(a.Asked)
		r.Outcome, r.Detail = "denied", "no"
		if a.State == Granted {
			r.Outcome, r.Detail = "allowed", "yes, once"
			if a.Lasting {
				r.Detail = "yes, for the session"
			}
		}
		r.Detail += ", channel " + a.Channel
		if a.By != "" {
			r.Detail += ", by " + a.By
		}
	case PhaseUsed:
		r.Outcome, r.Detail = "allowed", "it covers this call"
	default:
		r.Outcome, r.Detail = "cancelled", a.Why
	}
	return r
}

func questions(n int) string {
	if n == 1 {
		return "1 question"
	}
	return fmt.Sprintf("%d questions", n)
}
