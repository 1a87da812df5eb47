package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// constrain compiles the constraints and rate limits of a rule that a program writes.
func (spec RuleSpec) constrain(r *Rule, g ruleGlobs) error {
	if spec.When != nil && len(spec.When) == 0 {
		return errors.New("an empty when constrains nothing; leave it out")
	}
	for _, selector := range slices.Sorted(maps.Keys(spec.When)) {
		c, err := specConstraint(selector, spec.When[selector], r.Effect)
		if err == nil {
			err = c.fits(g)
		}
		if err != nil {
			return fmt.Errorf("when %s: %w", quote.Value(selector, maxShown), err)
		}
		if slices.ContainsFunc(r.when, func(o Constraint) bool { return o.Selector == c.Selector }) {
			return fmt.Errorf("when %s: already constrained in this rule", quote.Value(selector, maxShown))
		}
		r.when = append(r.when, c)
	}
	return spec.limit(r)
}

func (spec RuleSpec) limit(r *Rule) error {
	switch {
	case spec.RateLimits == nil:
		return nil
	case len(spec.RateLimits) == 0:
		return errors.New("an empty list of rate limits limits nothing; leave it out")
	case r.Effect == Deny:
		return errors.New("a deny rule lets nothing through that a rate could limit")
	}
	for i, name := range spec.RateLimits {
		if err := CheckName(name); err != nil {
			return fmt.Errorf("rate limit %s: %w", quote.Value(name, maxShown), err)
		}
		if slices.Contains(spec.RateLimits[:i], name) {
			return fmt.Errorf("rate limit %s is named twice", quote.Value(name, maxShown))
		}
	}
	r.RateLimits = slices.Clone(spec.RateLimits)
	return nil
}

func specConstraint(selector string, value any, effect Effect) (Constraint, error) {
	c, err := newConstraint(selector)
	if err != nil {
		return c, err
	}
	operators, ok := value.(map[string]any)
	if !ok {
		operators = map[string]any{Eq.String(): value}
		if v, err := doc.FromGo(value); err == nil && (v.Kind() == doc.List || v.Kind() == doc.Null) {
			return c, fmt.Errorf("%s alone does not say how to compare; write the operator", an(v.Kind()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(operators)) {
		if err := c.set(name, operators[name], effect); err != nil {
			return c, fmt.Errorf("%s: %w", quote.Value(name, maxShown), err)
		}
	}
	return c, c.complete()
}

// set takes one operator or modifier.
func (c *Constraint) set(name string, operand any, effect Effect) error {
	v, err := doc.FromGo(operand)
	if err != nil {
		return err
	}
	switch name {
	case optionalKey:
		if v.Kind() != doc.Bool {
			return errors.New("takes true or false")
		}
		c.Optional = v.Bool()
		return nil
	case quantifierKey:
		switch v.String() {
		case All.String():
		case Any.String():
			c.Quantifier = Any
		default:
			return errors.New("takes all or any")
		}
		return nil
	}
	op, known := parseOperator(name)
	if !known {
		return fmt.Errorf("unknown operator%s", unknownOperator(name))
	}
	o, err := newOperation(op, v, effect)
	if err != nil {
		return err
	}
	c.ops = append(c.ops, o)
	return nil
}

// fits checks that a rule can name what the constraint looks at: else it would never
// hold, and a deny rule with it would never deny.
func (c *Constraint) fits(g ruleGlobs) error {
	subject := map[root]Subject{toolRoot: Tool, resourceRoot: Resource, promptRoot: Prompt}
	s, limited := subject[c.root]
	none := g.subject[Tool] == nil && g.subject[Resource] == nil && g.subject[Prompt] == nil
	if !limited || g.subject[s] != nil || s == Tool && none {
		return nil
	}
	return fmt.Errorf("the rule names no %s, so %s is always missing", s, c.Selector)
}
