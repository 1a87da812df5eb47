package policy

import (
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// RuleTrace is what one rule made of a call.
type RuleTrace struct {
	Rule        *Rule // nil: the default
	Named       bool  // it names the tool, resource or prompt, and the upstream
	Matched     bool  // it decides
	Constraints []ConstraintTrace
}

// ConstraintTrace is what one constraint made of a call. Only rules that name the call
// have them.
type ConstraintTrace struct {
	Constraint *Constraint
	Outcome    Outcome
	Detail     string // one line, bounded and escaped
}

// Trace judges a call as [Policy.Evaluate] does, and returns every rule from the top to
// the one that decides, with all constraints of those that name the call. The last entry
// is the one that decides; its Rule is nil if it is the default.
func (p *Policy) Trace(t Target, f *Facts) []RuleTrace {
	var result Result
	if t.Subject < subjects {
		result, t = p.strictest(t, f)
	}
	var trace []RuleTrace
	for _, r := range p.rules {
		rt := RuleTrace{Rule: r, Named: r.names(&t)}
		if rt.Named {
			rt.Constraints = r.trace(&t, f)
		}
		rt.Matched = r == result.Rule
		trace = append(trace, rt)
		if rt.Matched {
			return trace
		}
	}
	return append(trace, RuleTrace{Matched: true})
}

func (r *Rule) trace(t *Target, f *Facts) []ConstraintTrace {
	all := make([]ConstraintTrace, len(r.when))
	for i := range r.when {
		c := &r.when[i]
		e := evaluator{target: *t, facts: f, note: &note{}}
		out := e.constraint(c)
		all[i] = ConstraintTrace{c, out, e.detail(c, out)}
	}
	return all
}

// note keeps the first value of each outcome.
type note [Pass + 1]struct {
	set   bool
	place string
	op    *Operation // nil: none was reached, or all passed
	value doc.Value
	words string
}

// noted keeps what led to an outcome, if somebody wants to know.
func (e *evaluator) noted(out Outcome, op *Operation, v doc.Value, words string) Outcome {
	if e.note != nil {
		n := &e.note[out]
		switch {
		case !n.set:
			n.set, n.place, n.op, n.value, n.words = true, string(e.place), op, v, words
		case out == Cannot && n.op == nil && n.place == string(e.place):
			n.op, n.value = op, v
		}
	}
	return out
}

const maxDetail = 400 // characters

// detail says in one line what led to the outcome.
func (e *evaluator) detail(c *Constraint, out Outcome) string {
	n := &e.note[out]
	place, shown := n.place, ""
	if place == "" {
		place = c.Selector
	}
	place = quote.Text(place, maxOperand)
	if n.value.Kind() != doc.Absent {
		shown = " = " + showValue(n.value)
	}
	switch {
	case out == Cannot:
		return quote.Text(place+shown+" cannot be checked: "+e.why.String(), maxDetail)
	case n.words != "":
		return quote.Text(place+": "+n.words, maxDetail)
	case n.value.Kind() == doc.Absent:
		return quote.Text(missingWords(c, place, out), maxDetail)
	case out == Pass:
		return quote.Text(place+shown+": "+c.text, maxDetail)
	}
	words := place + shown + " fails " + n.op.Operator.String()
	if n.op.text != "" {
		words += " " + n.op.text
	}
	return quote.Text(words, maxDetail)
}

func missingWords(c *Constraint, place string, out Outcome) string {
	switch {
	case out == Pass && c.Optional:
		return c.text + ": missing, and optional"
	case out == Pass:
		return c.text + ": missing"
	case c.wild && place != c.Root():
		return c.text + ": missing below " + place
	}
	return c.text + ": missing"
}
