package auditread

import (
	"time"

	"github.com/sallyport-dev/sallyport/audit"
)

// Outcomes counts records by their outcome.
type Outcomes struct {
	Allowed       uint64 `json:"allowed,omitempty"`
	Denied        uint64 `json:"denied,omitempty"`
	Asked         uint64 `json:"asked,omitempty"`
	RateLimited   uint64 `json:"rate_limited,omitempty"`
	Error         uint64 `json:"error,omitempty"`
	Cancelled     uint64 `json:"cancelled,omitempty"`
	DryRunAllowed uint64 `json:"dry-run-allowed,omitempty"`
	Other         uint64 `json:"other,omitempty"` // one that this version does not know, or none
}

// OutcomeNames are the outcomes that a record can have.
var OutcomeNames = []string{"allowed", "denied", "asked", "rate_limited", "error", "cancelled", "dry-run-allowed"}

func (o *Outcomes) add(name string) {
	switch name {
	case "allowed":
		o.Allowed++
	case "denied":
		o.Denied++
	case "asked":
		o.Asked++
	case "rate_limited":
		o.RateLimited++
	case "error":
		o.Error++
	case "cancelled":
		o.Cancelled++
	case "dry-run-allowed":
		o.DryRunAllowed++
	default:
		o.Other++
	}
}

// Sum is how many there are.
func (o *Outcomes) Sum() uint64 {
	return o.Allowed + o.Denied + o.Asked + o.RateLimited + o.Error + o.Cancelled + o.DryRunAllowed + o.Other
}

// Tally counts the records of something: a tool, a caller, a day.
type Tally struct {
	Records uint64 `json:"records"` // of all kinds
	// Calls is the number of verdicts: a call that is decided again after a question
	// counts each time.
	Calls uint64 `json:"calls"`
	// Decided counts the verdicts by what became of the call then: allowed and
	// dry-run-allowed ran.
	Decided Outcomes `json:"decided,omitzero"`
	// Ended counts how calls ended that ran: allowed is an answer, error one that says
	// so, or none.
	Ended Outcomes  `json:"ended,omitzero"`
	First time.Time `json:"first,omitzero"` // the earliest time of a record, which need not be the first in the log
	Last  time.Time `json:"last,omitzero"`
}

// Ran is how many of the calls were forwarded, or would have been if the gateway that
// recorded them only decides.
func (t *Tally) Ran() uint64 { return t.Decided.Allowed + t.Decided.DryRunAllowed }

// Refused is how many were not: denied, held back by a rate, or asked about and not
// (yet) agreed to.
func (t *Tally) Refused() uint64 { return t.Calls - t.Ran() }

func (t *Tally) add(r *Record) {
	t.Records++
	switch r.Phase {
	case audit.PhaseVerdict:
		t.Calls++
		t.Decided.add(r.Outcome)
	case audit.PhaseOutcome:
		t.Ended.add(r.Outcome)
	}
	t.span(r.Time)
}

func (t *Tally) span(when time.Time) {
	if t.First.IsZero() || when.Before(t.First) {
		t.First = when
	}
	if when.After(t.Last) {
		t.Last = when
	}
}
