package policy

import (
	"slices"

	"github.com/sallyport-dev/sallyport/doc"
)

// Covers reports that r matches every call that other matches, whatever the facts are: a
// rule behind r that r covers never decides. It is false when that is not certain.
func (r *Rule) Covers(other *Rule) bool {
	return r.covers(other, other.Effect != Allow)
}

// CoversPassing reports that r matches every call for which all constraints of other pass.
// A deny or ask rule behind r then decides nothing but what cannot be checked.
func (r *Rule) CoversPassing(other *Rule) bool { return r.covers(other, false) || r.Covers(other) }

// covers is Covers. When lenient, other also matches what nobody can judge.
func (r *Rule) covers(other *Rule, lenient bool) bool {
	// Constraints tell most rules for one tool apart, and are cheaper than patterns.
	if !r.constraintsCover(other, lenient) {
		return false
	}
	for s := range subjects {
		if !coverNames(r.globs[s], other.globs[s]) {
			return false
		}
	}
	upstreams := other.upstreams
	if upstreams == nil {
		upstreams = everyUpstream
	}
	return r.upstreams == nil || coverNames(r.upstreams, upstreams)
}

var everyUpstream = []Glob{everyName}

// Shadowed returns the first rule before rule number i (from 0) that covers it, nil if
// none surely does. It looks only at rules that name what rule i names.
func (p *Policy) Shadowed(i int) *Rule {
	r := p.rules[i]
	for s := range subjects {
		if len(r.globs[s]) == 0 {
			continue
		}
		var c candidates
		if g := r.globs[s][0]; g.Literal() {
			p.index[s].candidates(g.source, &c)
		} else {
			p.index[s].below(g.start(), &c)
		}
		for n, ok := c.next(); ok && n < i; n, ok = c.next() {
			if p.rules[n].Covers(r) {
				return p.rules[n]
			}
		}
		return nil
	}
	return nil
}

// below finds the rules with a glob that may cover every name with that start.
func (ix *index) below(start string, c *candidates) {
	for _, n := range ix.lengths {
		if n > len(start) {
			break
		}
		c.add(ix.starts[n][start[:n]])
	}
}

// constraintsCover compares what the rules demand. An allow rule matches when all its
// constraints pass; the others match when none fails. So with other an allow rule, that
// other's pass means that r's do, and otherwise, that where r's fails, one of other's
// does. What makes other match though nobody can judge it, r must not demand.
func (r *Rule) constraintsCover(other *Rule, lenient bool) bool {
	if lenient && r.Effect == Allow && len(r.when) > 0 {
		return false
	}
	for i := range r.when {
		c := &r.when[i]
		if !c.followsOne(other.when, lenient) {
			return false
		}
	}
	return true
}

func (c *Constraint) followsOne(all []Constraint, lenient bool) bool {
	for i := range all {
		if c.follows(&all[i], lenient) {
			return true
		}
	}
	return false
}

// follows reports that c passes where o passes; when lenient, that o fails where c fails.
func (c *Constraint) follows(o *Constraint, lenient bool) bool {
	switch {
	case c.Selector != o.Selector, o.Optional && !c.Optional:
		return false
	case c.wild && c.Quantifier == All && o.Quantifier == Any:
		return false
	}
	absent := o.ops[0].Operator == Absent
	for i := range c.ops {
		op := &c.ops[i]
		if absent {
			if op.Operator != Absent && !c.Optional {
				return false
			}
			if op.Operator != Absent && lenient {
				return false // o cannot judge null, and c may fail on it
			}
			continue
		}
		if !op.followsOne(o.ops, lenient) {
			return false
		}
	}
	return true
}

func (o *Operation) followsOne(all []Operation, lenient bool) bool {
	for i := range all {
		if o.follows(&all[i], lenient) {
			return true
		}
	}
	return false
}

// follows is [Constraint.follows] for operators on one value that is there.
func (o *Operation) follows(p *Operation, lenient bool) bool {
	if p.Operator == Eq || p.Operator == In {
		return o.followsValues(p, lenient)
	}
	switch o.Operator {
	case Present:
		return true // what passes any operator but eq and in is there, and not null
	case Ne, NotIn:
		return (p.Operator == Ne || p.Operator == NotIn) && p.holdsAll(o.operands) && (lenient || o.kinds == p.kinds)
	case Gt, Gte, Lt, Lte:
		return o.followsRange(p)
	case MaxLength:
		return p.Operator == MaxLength && p.length <= o.length
	case Matches, NotMatches:
		return p.Operator == o.Operator && p.Pattern() == o.Pattern()
	case Contains:
		return p.Operator == Contains && doc.Equal(o.operands[0], p.operands[0])
	case Host, Domain:
		return (p.Operator == Host || p.Operator == Domain) && coverHosts(o.hosts, p.hosts)
	case Within:
		return p.Operator == Within && o.holdsAll(p.operands)
	case Origin:
		return p.Operator == Origin && p.origins&^o.origins == 0
	}
	return false
}

// followsValues is follows when p passes on a few known values only.
func (o *Operation) followsValues(p *Operation, lenient bool) bool {
	if lenient && o.failing()&^p.kinds != 0 {
		return false // p cannot judge what o fails on
	}
	for _, v := range p.operands {
		e := evaluator{} // without facts: what depends on them cannot pass
		if e.apply(o, v) != Pass {
			return false
		}
	}
	return true
}

// failing are the types of values that the operator can fail on.
func (o *Operation) failing() kindSet {
	const text, list, number = kindSet(1 << doc.String), kindSet(1 << doc.List), kindSet(1 << doc.Number)
	switch o.Operator {
	case Eq, Ne, In, NotIn:
		return o.kinds
	case Matches, NotMatches, Host, Domain, Within:
		return text
	case Contains, MaxLength:
		return text | list
	case Gt, Gte, Lt, Lte:
		return number
	case Present:
		return 0
	}
	return ^kindSet(0)
}

func (o *Operation) followsRange(p *Operation) bool {
	var up bool
	switch o.Operator {
	case Gt, Gte:
		up = true
		if p.Operator != Gt && p.Operator != Gte {
			return false
		}
	default:
		if p.Operator != Lt && p.Operator != Lte {
			return false
		}
	}
	order, ok := doc.CompareNumbers(p.operands[0], o.operands[0])
	if !up {
		order = -order
	}
	// The same bound is enough, unless p lets the bound itself pass and o does not.
	strict := (o.Operator == Gt || o.Operator == Lt) && (p.Operator == Gte || p.Operator == Lte)
	return ok && (order > 0 || order == 0 && !strict)
}

// holdsAll reports that every value is one of the operands.
func (o *Operation) holdsAll(values []doc.Value) bool {
	return !slices.ContainsFunc(values, func(v doc.Value) bool { return !o.holds(v) })
}

func coverHosts(a, b []hostPattern) bool {
	for _, h := range b {
		if !slices.ContainsFunc(a, func(g hostPattern) bool { return g.covers(h) }) {
			return false
		}
	}
	return true
}
