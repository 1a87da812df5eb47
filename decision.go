package sallyport

import (
	"encoding/json"
	"time"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Verdict is what becomes of a call. The zero value refuses.
type Verdict uint8

const (
	Deny Verdict = iota
	Ask
	Allow
)

func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	default:
		return "deny"
	}
}

// Check is one step of a decision, in the order in which they run.
type Check string

const (
	CheckPin      Check = "pin"
	CheckPolicy   Check = "policy"
	CheckBudget   Check = "budget"
	CheckPath     Check = "path"
	CheckPattern  Check = "pattern"
	CheckFlow     Check = "flow"
	CheckRate     Check = "rate"
	CheckApproval Check = "approval"
	// CheckAudit refuses a call whose verdict could not be recorded. The engine records
	// nothing: whoever does uses it.
	CheckAudit Check = "audit"
)

// DecisionID names a decision within its session. The zero ID is none.
type DecisionID uint64

// Decision is a verdict and everything that a person needs to check it.
type Decision struct {
	ID      DecisionID
	Call    uint64 // number of the call in its session, from 1
	Verdict Verdict
	Check   Check  // the check that refused or asked; "" when allowed
	Rule    string // the policy rule that decided, "" for the default
	// Reason is one short text that the agent can act on. It quotes the call's own values
	// only, bounded and escaped.
	Reason    string
	Evidence  []Evidence
	Questions []Question // what a human is asked; set when Verdict is Ask
	// Writes says that the call's contract confines what it writes. Such calls run one
	// at a time per upstream, from Start until their answer.
	Writes bool
	// DryRun says that the verdict is not enforced: the call runs whatever it is. Either
	// the whole engine runs dry, or the policy does and nothing else refuses.
	DryRun bool
	// Retry is when to try again, for a refusal by CheckRate.
	Retry time.Duration
}

// Runs reports whether the call is to be forwarded.
func (d Decision) Runs() bool { return d.Verdict == Allow || d.DryRun }

// Question is one thing that a human would be asked before the call may run.
type Question struct {
	Check       Check
	Argument    string // place in the arguments, hostile text; "" when the whole call is meant
	Destination string // in canonical form; hostile text, escape before showing
	Text        string // the question, safe to show

	origin string // where the destination was known from when it was asked
}

// Evidence says where a destination is known from.
type Evidence struct {
	Argument    string // place in the arguments; hostile text, escape before showing
	Destination string // in canonical form; hostile text, escape before showing
	Origin      string
	Upstream    string
	Tool        string // the tool, or the method of what was no tool's output
	Call        uint64 // 0: no call
	Time        time.Time
	Place       string
	Partial     bool // only a part was seen, such as the domain of an address
}

// maxQuoted bounds a call's own value in a reason, in runes.
const maxQuoted = 120

func quoted(s string) string { return quote.Value(s, maxQuoted) }

// shown bounds and escapes a place in the arguments, which holds the call's own names.
func shown(place string) string { return quote.Text(place, maxQuoted) }

type decisionJSON struct {
	Verdict   string         `json:"verdict"`
	Check     Check          `json:"check,omitempty"`
	Rule      string         `json:"rule,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Evidence  []evidenceJSON `json:"evidence,omitempty"`
	Questions []questionJSON `json:"questions,omitempty"`
	Call      uint64         `json:"call,omitempty"`
	DryRun    bool           `json:"dryRun,omitempty"`
}

type evidenceJSON struct {
	Argument    string `json:"argument,omitempty"`
	Destination string `json:"destination,omitempty"`
	Origin      string `json:"origin,omitempty"`
	Upstream    string `json:"upstream,omitempty"`
	Tool        string `json:"tool,omitempty"`
	Call        uint64 `json:"call,omitempty"`
	Time        string `json:"time,omitempty"`
	Place       string `json:"place,omitempty"`
	Partial     bool   `json:"partial,omitempty"`
}

type questionJSON struct {
	Check       Check  `json:"check"`
	Argument    string `json:"argument,omitempty"`
	Destination string `json:"destination,omitempty"`
	Text        string `json:"text"`
}

// MarshalJSON gives the decision as the data that goes with a refusal. Values that came
// from outside are bounded and escaped as in Reason.
func (d Decision) MarshalJSON() ([]byte, error) {
	j := decisionJSON{Verdict: d.Verdict.String(), Check: d.Check, Rule: d.Rule, Reason: d.Reason, Call: d.Call, DryRun: d.DryRun}
	for _, e := range d.Evidence {
		ev := evidenceJSON{
			Argument: shown(e.Argument), Destination: quote.Text(e.Destination, maxQuoted), Origin: e.Origin, Upstream: e.Upstream,
			Tool: quote.Text(e.Tool, maxQuoted), Call: e.Call, Place: e.Place, Partial: e.Partial,
		}
		if !e.Time.IsZero() {
			ev.Time = e.Time.UTC().Format(time.RFC3339)
		}
		j.Evidence = append(j.Evidence, ev)
	}
	for _, q := range d.Questions {
		j.Questions = append(j.Questions, questionJSON{q.Check, shown(q.Argument), quote.Text(q.Destination, maxQuoted), q.Text})
	}
	return json.Marshal(j)
}
