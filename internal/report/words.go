package report

import (
	"strings"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/explain"
	"github.com/sallyport-dev/sallyport/policy"
)

const (
	maxRules   = 300 // of one policy
	maxOperand = 12  // values of one list
)

// dry reports that a policy is not enforced.
func (b *builder) dry(p *policy.Policy) bool {
	return p.Mode() == policy.DryRun || b.in.Config.Mode == config.DryRun && p.Mode() != policy.Enforce
}

func (b *builder) showPolicies() []block {
	blocks := []block{paragraph(say("Rules are tried from the top; the first that matches decides. What cannot be checked (a value of another type, or too long) never helps a call: an allow rule then does not match, a deny or ask rule does."))}
	for _, p := range b.in.Policies {
		blocks = append(blocks, block{sub: "Policy " + p.Name()})
		if p.Name() == policy.BuiltInName {
			blocks = append(blocks, block{note: &note{caution, say("The configuration defines no policy, so the built-in one is used: it allows every tool, resource and prompt, and contracts and the flow check are what guards.")}})
		}
		if b.dry(p) {
			blocks = append(blocks, block{note: &note{caution, say("This policy runs dry: what its rules and rate limits say is recorded and not enforced.")}})
		}
		t := &table{head: []string{"Rule", "What it does", "Decided in the log"}}
		for _, r := range p.Rules() {
			t.rows = append(t.rows, []line{val(r.Name), b.ruleWords(r), b.ruleCount(p, r.Name)})
		}
		t = t.capped(maxRules)
		t.rows = append(t.rows, []line{say("default"), b.defaultWords(p), say("")})
		blocks = append(blocks, block{table: t})
	}
	return blocks
}

func (b *builder) ruleCount(p *policy.Policy, rule string) line {
	if b.in.Log == nil {
		return say("no log")
	}
	for _, row := range b.log.Rules.Rows {
		if row.Policy == p.Name() && row.Rule == rule {
			return sayf("%d", row.Calls)
		}
	}
	return say("never")
}

func (b *builder) defaultWords(p *policy.Policy) line {
	l := join(mark(effectTone(p.Default()), p.Default().String()), say(" every tool that no rule covers. Resources and prompts that no rule names are refused."))
	if p.Hides(policy.Tool) {
		l = append(l, say(" Tools that are refused whatever their arguments are not listed to the agent.")...)
	}
	return l
}

// ruleWords is a rule as one sentence.
func (b *builder) ruleWords(r *policy.Rule) line {
	l := join(mark(effectTone(r.Effect), r.Effect.String()), say(" "))
	first := true
	for _, s := range []struct {
		subject policy.Subject
		every   string
		what    string
	}{{policy.Tool, "every tool", "calls of "}, {policy.Resource, "every resource", "resources "}, {policy.Prompt, "every prompt", "prompts "}} {
		globs := r.Globs(s.subject)
		if len(globs) == 0 {
			continue
		}
		if !first {
			l = append(l, say(" and ")...)
		}
		first = false
		if everything(globs) {
			l = append(l, say(s.every)...)
			continue
		}
		l = append(l, join(say(s.what), vals(texts(globs), 40))...)
	}
	if ups := r.Upstreams(); ups != nil {
		l = append(l, join(say(" of the upstreams "), vals(texts(ups), 12))...)
	}
	for i, c := range r.When() {
		if i == 0 {
			l = append(l, say(", if ")...)
		} else {
			l = append(l, say(" and ")...)
		}
		l = append(l, constraintWords(c)...)
	}
	l = append(l, b.rateWords(r.RateLimits)...)
	l = append(l, say(".")...)
	if r.Reason != "" {
		l = append(l, join(say(" Reason: "), long(r.Reason))...)
	}
	return l
}

func everything(globs []policy.Glob) bool {
	for _, g := range globs {
		if strings.Trim(g.String(), "*") == "" {
			return true
		}
	}
	return false
}

func (b *builder) rateWords(names []string) line {
	var l line
	for _, n := range names {
		l = append(l, join(say(", within the rate limit "), val(n))...)
		if r := b.in.Config.RateLimits[n]; r != nil {
			whose := "for each caller"
			if r.Global {
				whose = "for all callers together"
			}
			per := explain.Limit(r.Rate, r.Burst, r.Per, r.Global).Per
			l = append(l, sayf(" (%d in %s %s, at most %d at once)", r.Rate, per, whose, r.Burst)...)
		}
	}
	return l
}

// constraintWords puts one constraint into words.
func constraintWords(c *policy.Constraint) line {
	var l line
	if c.Wildcard() {
		l = say("every ")
		if c.Quantifier == policy.Any {
			l = say("any ")
		}
	}
	l = append(l, val(c.Selector)...)
	for i, o := range c.Operations() {
		if i > 0 {
			l = append(l, say(" and")...)
		}
		l = append(l, say(" "+operatorWords[o.Operator])...)
		if o.Operator == policy.Present || o.Operator == policy.Absent {
			continue
		}
		l = append(l, join(say(" "), operands(o))...)
		if o.Operator == policy.MaxLength {
			l = append(l, say(" characters or elements")...)
		}
	}
	if c.Optional {
		l = append(l, say(" (or is missing)")...)
	}
	return l
}

var operatorWords = map[policy.Operator]string{
	policy.Eq: "is", policy.Ne: "is not", policy.In: "is one of", policy.NotIn: "is none of",
	policy.Matches: "matches as a whole", policy.NotMatches: "does not match as a whole", policy.Contains: "contains",
	policy.Gt: "is more than", policy.Gte: "is at least", policy.Lt: "is less than", policy.Lte: "is at most",
	policy.MaxLength: "has at most", policy.Present: "is there", policy.Absent: "is not there",
	policy.Within: "lies within", policy.Host: "has the host", policy.Domain: "is in the domain", policy.Origin: "is known as",
}

func operands(o policy.Operation) line {
	var l []string
	for _, v := range o.Operands() {
		if v.Kind() == doc.String {
			l = append(l, audit.RedactText(v.String()))
			continue
		}
		l = append(l, string(v.AppendJSON(nil)))
	}
	return vals(l, maxOperand)
}
