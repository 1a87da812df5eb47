package explain

import (
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/policy"
)

// Question is what was asked.
type Question struct {
	Call   sallyport.Call
	Caller string
	Policy *policy.Policy
	Limits map[string]RateLimit // by name, for the report
	// Listed says that the tool list was not given, so that the tool was taken as listed
	// without a schema.
	Assumed bool
	// Unlisted says that the list does not have the tool, or that it is refused there.
	Unlisted bool
	Notes    []string // what else a reader has to know; not escaped yet
}

// Report is the answer. Its JSON form is stable: members are added, not renamed. Every
// text in it is escaped and bounded.
type Report struct {
	Version int    `json:"version"` // of this form: 1
	Verdict string `json:"verdict"` // allow, ask, deny
	Runs    bool   `json:"runs"`    // the call would be forwarded: it is allowed, or nothing is enforced. What is asked does not run before somebody says yes
	DryRun  bool   `json:"dry_run"` // the verdict is not enforced
	Check   string `json:"check"`   // the check that refused or asked; "" when allowed
	Rule    string `json:"rule"`    // the rule that decided the policy; "" for its default, or if the policy was not reached
	Reason  string `json:"reason"`

	Call      Call        `json:"call"`
	Listed    Listed      `json:"listed"`
	Contract  string      `json:"contract"` // where it comes from; "" for none
	Consumes  Consumes    `json:"consumes"`
	Questions []string    `json:"questions"` // what a human would be asked
	Evidence  []Evidence  `json:"evidence"`
	Rules     []Rule      `json:"rules"`  // from the top to the one that decides
	Checks    []CheckStep `json:"checks"` // those that ran, in order
	Notes     []string    `json:"notes"`
}

// Call is what was asked about.
type Call struct {
	Subject  string `json:"subject"` // tool, resource, prompt
	Name     string `json:"name"`
	Upstream string `json:"upstream"`
	Caller   string `json:"caller"`
	Policy   string `json:"policy"`
}

// Listed says whether a client sees the name in a list.
type Listed struct {
	Listed  bool   `json:"listed"`
	Assumed bool   `json:"assumed"` // no list of tools was given
	Why     string `json:"why"`     // why not
}

// Consumes is what the call would use up.
type Consumes struct {
	Budget     *Budget     `json:"budget"`      // null: no max_calls
	RateLimits []RateLimit `json:"rate_limits"` // one token of each, when the call runs
}

// Budget is max_calls of the tool's contract.
type Budget struct {
	Max   int64 `json:"max"`
	Used  int64 `json:"used"`  // before this call
	Takes int64 `json:"takes"` // by this call: 0 when it is refused before it is counted
}

// RateLimit is one limit of the rule that allows.
type RateLimit struct {
	Name  string `json:"name"`
	Rate  int    `json:"rate"`
	Per   string `json:"per"`
	Burst int    `json:"burst"`
	Scope string `json:"scope"` // token, global
}

// Evidence says where a destination is known from.
type Evidence struct {
	Argument    string `json:"argument"`
	Destination string `json:"destination"`
	Origin      string `json:"origin"`
	Tool        string `json:"tool"`  // whose output showed it; "" for none
	Place       string `json:"place"` // in that output
	Partial     bool   `json:"partial"`
}

// Rule is what one rule made of the call.
type Rule struct {
	Name    string `json:"name"` // "default" with IsDefault: no rule matched
	Default bool   `json:"default"`
	Effect  string `json:"effect"`
	Place   string `json:"place"`
	// Covers is call when the rule names the call, name when it is for other names,
	// upstream when it is for other upstreams.
	Covers      string       `json:"covers"`
	Matched     bool         `json:"matched"` // it decides
	Constraints []Constraint `json:"constraints"`
}

// Constraint is what one constraint made of the call.
type Constraint struct {
	Selector string `json:"selector"`
	Outcome  string `json:"outcome"` // PASS, FAIL, CANNOT
	Detail   string `json:"detail"`
	Place    string `json:"place"`
}

// CheckStep is what one check found.
type CheckStep struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"`
	Detail  string `json:"detail"`
}

const (
	maxName = 300  // characters of a name that is shown
	maxText = 4000 // of a sentence
)

func name(s string) string { return quote.Text(s, maxName) }
func text(s string) string { return quote.Text(s, maxText) }

// New makes a report.
func New(x sallyport.Explanation, q Question) Report {
	d := x.Decision
	r := Report{
		Version: 1, Verdict: d.Verdict.String(), Runs: d.Runs(), DryRun: d.DryRun, Check: string(d.Check),
		Rule: name(d.Rule), Reason: text(d.Reason),
		Call: Call{
			Subject: q.Call.Subject.String(), Name: name(q.Call.Name), Upstream: name(q.Call.Upstream),
			Caller: name(q.Caller), Policy: name(q.Policy.Name()),
		},
		Listed: listed(x, q), Contract: text(x.Contract), Consumes: consumes(x, q),
		Questions: []string{}, Evidence: []Evidence{}, Notes: []string{},
		Rules: Rules(x.Rules, q.Policy, q.Call), Checks: checks(x.Steps),
	}
	for _, question := range d.Questions {
		r.Questions = append(r.Questions, text(question.Text))
	}
	for _, e := range d.Evidence {
		r.Evidence = append(r.Evidence, Evidence{
			Argument: name(e.Argument), Destination: name(e.Destination), Origin: e.Origin,
			Tool: name(e.Tool), Place: name(e.Place), Partial: e.Partial,
		})
	}
	for _, n := range q.Notes {
		r.Notes = append(r.Notes, text(n))
	}
	return r
}

func listed(x sallyport.Explanation, q Question) Listed {
	l := Listed{Listed: !x.Hidden && !q.Unlisted, Assumed: q.Assumed}
	switch {
	case q.Unlisted:
		l.Why = "it is not in the list of tools, or is refused there"
	case x.Hidden:
		l.Why = "the policy denies it whatever its arguments, and hides what it denies"
	}
	return l
}

func consumes(x sallyport.Explanation, q Question) Consumes {
	c := Consumes{RateLimits: []RateLimit{}}
	if x.Budget != nil {
		c.Budget = &Budget{Max: *x.Budget, Used: x.Used}
		for _, s := range x.Steps {
			if s.Check == sallyport.CheckBudget && s.Verdict == sallyport.Allow {
				c.Budget.Takes = 1
			}
		}
	}
	if x.Decision.Verdict == sallyport.Deny && !x.Decision.Runs() {
		return c
	}
	for _, l := range x.Limits {
		limit := q.Limits[l]
		limit.Name = name(l)
		c.RateLimits = append(c.RateLimits, limit)
	}
	return c
}

// Rules puts a policy's trace into words.
func Rules(trace []policy.RuleTrace, pol *policy.Policy, call sallyport.Call) []Rule {
	rules := make([]Rule, 0, len(trace))
	for _, t := range trace {
		if t.Rule == nil {
			effect := pol.Default()
			if call.Subject != policy.Tool {
				effect = policy.Deny // no default reaches resources and prompts
			}
			rules = append(rules, Rule{
				Name: "default", Default: true, Effect: effect.String(), Covers: "call", Matched: t.Matched, Constraints: []Constraint{},
			})
			continue
		}
		r := Rule{
			Name: name(t.Rule.Name), Effect: t.Rule.Effect.String(), Place: text(t.Rule.Source),
			Covers: covers(t, call), Matched: t.Matched, Constraints: make([]Constraint, len(t.Constraints)),
		}
		for i, c := range t.Constraints {
			r.Constraints[i] = Constraint{
				Selector: name(c.Constraint.Selector), Outcome: c.Outcome.String(), Detail: text(c.Detail), Place: text(c.Constraint.Place),
			}
		}
		rules = append(rules, r)
	}
	return rules
}

func covers(t policy.RuleTrace, call sallyport.Call) string {
	switch {
	case t.Named:
		return "call"
	case !t.Rule.CoversUpstream(call.Upstream):
		return "upstream"
	}
	return "name"
}

func checks(steps []sallyport.Step) []CheckStep {
	all := make([]CheckStep, 0, len(steps))
	for i, s := range steps {
		// The first step judges the shape of the arguments under the name of a later one.
		if i == 0 && s.Verdict == sallyport.Allow {
			continue
		}
		all = append(all, CheckStep{Check: string(s.Check), Verdict: s.Verdict.String(), Detail: text(s.Detail)})
	}
	return all
}

// Limit describes a rate limit.
func Limit(rate, burst int, per time.Duration, global bool) RateLimit {
	l := RateLimit{Rate: rate, Per: short(per), Burst: burst, Scope: "token"}
	if global {
		l.Scope = "global"
	}
	return l
}

// short writes a duration without the parts that are nothing: 1m, not 1m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
