package policy

import (
	"errors"
	"slices"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// parseWhen reads the constraints of a rule.
func parseWhen(n *strictyaml.Node, r *Rule, p *strictyaml.Problems) {
	if n == nil {
		return
	}
	entries, ok := n.Entries(p)
	if !ok {
		return
	}
	if len(entries) == 0 {
		p.Add(n, "an empty when constrains nothing; leave it out")
	}
	seen := map[string]bool{}
	for _, e := range entries {
		c, err := newConstraint(e.Name)
		if err != nil {
			p.Add(e.Key, "the selector %s: %v", strictyaml.Quote(e.Name), err)
			// The operators are read all the same, to list their problems too.
			c = Constraint{Selector: e.Name}
		} else if seen[c.Selector] {
			p.Add(e.Key, "the selector %s is already constrained in this rule", strictyaml.Quote(c.Selector))
		}
		seen[c.Selector] = true
		c.Key, c.Node, c.Place = e.Key, e.Value, e.Key.Place()
		if !parseOperations(&c, e.Value, r.Effect, p) || err != nil {
			continue
		}
		if err := c.complete(); err != nil {
			p.Add(e.Value, "%v", err)
			continue
		}
		r.when = append(r.when, c)
	}
}

// parseOperations reads what a selector is set to; false after a problem.
func parseOperations(c *Constraint, n *strictyaml.Node, effect Effect, p *strictyaml.Problems) bool {
	switch {
	case n.IsNull():
		p.Add(n, "write what the value must be here; {present: true}, {absent: true} or {eq: null} if that is meant")
		return false
	case n.IsList():
		p.Add(n, "a list alone does not say how to compare; write {in: […]}")
		return false
	case !n.IsMapping():
		return parseOperation(c, Eq, n, effect, p)
	}
	entries, ok := n.Entries(p)
	for _, e := range entries {
		switch e.Name {
		case optionalKey:
			v, read := e.Value.Bool(p)
			c.Optional, ok = v, ok && read
		case quantifierKey:
			s, read := e.Value.OneOf(p, All.String(), Any.String())
			ok = ok && read
			if s == Any.String() {
				c.Quantifier = Any
			}
		default:
			op, known := parseOperator(e.Name)
			if !known {
				p.Add(e.Key, "unknown operator %s%s", strictyaml.Quote(e.Name), unknownOperator(e.Name))
				ok = false
				continue
			}
			ok = parseOperation(c, op, e.Value, effect, p) && ok
		}
	}
	return ok
}

// parseOperation reads one operand; false after a problem.
func parseOperation(c *Constraint, op Operator, n *strictyaml.Node, effect Effect, p *strictyaml.Problems) bool {
	raw, ok := n.Value(p)
	if !ok {
		return false
	}
	v, err := doc.FromGo(raw)
	if err != nil {
		p.Add(n, "%v", err)
		return false
	}
	o, err := newOperation(op, v, effect)
	if err != nil {
		at, say := n, err
		if ee, isElement := errors.AsType[*elementError](err); isElement {
			if items := n.Items(); ee.index < len(items) {
				at, say = items[ee.index], ee.err
			}
		}
		p.Add(at, "%s: %v", op, say)
		return false
	}
	o.Node, o.Place = n, n.Place()
	c.ops = append(c.ops, o)
	return true
}

// parseRateLimits reads the names of the limits of a rule. Whether they exist is for
// who knows the limits.
func parseRateLimits(n *strictyaml.Node, r *Rule, p *strictyaml.Problems) {
	if n == nil {
		return
	}
	items, ok := n.Strs(p)
	if !ok {
		return
	}
	switch {
	case len(items) == 0:
		p.Add(n, "an empty list limits nothing; leave it out")
	case r.Effect == Deny:
		p.Add(n, "a deny rule lets nothing through that a rate could limit; leave rate_limits out")
	}
	for _, item := range items {
		name := item.Text()
		switch {
		case CheckName(name) != nil:
			p.Add(item, "a rate limit's name %v", CheckName(name))
		case slices.Contains(r.RateLimits, name):
			p.Add(item, "the rate limit %s is already named", strictyaml.Quote(name))
		}
		r.RateLimits = append(r.RateLimits, name)
	}
}
