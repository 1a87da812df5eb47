package lint

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/policy"
)

// never looks for operators of one constraint that no value can pass together.
func (k *check) never(r *ruleView, c *policy.Constraint) {
	ops := c.Operations()
	allow := r.Effect == policy.Allow
	if len(ops) < 2 || !(allow && noKind(ops)) && !emptyRange(ops) && !noCandidate(ops, allow) {
		return
	}
	effect := ", so the rule " + show(r.Name) + " refuses only what cannot be checked"
	switch {
	case allow && c.Optional:
		effect = ", so the rule " + show(r.Name) + " allows only calls that leave it out"
	case allow:
		effect = ", so the rule " + show(r.Name) + " allows nothing"
	}
	words := make([]string, len(ops))
	for i, o := range ops {
		words[i] = inWords(o)
	}
	k.add(c.Key, "SP108", "write two rules if either is meant",
		"the constraint on "+show(c.Selector)+" is never true: no value passes "+strings.Join(words, " and ")+effect)
}

// inWords is an operator with its operand, of a long list the start.
func inWords(o policy.Operation) string {
	const shown = 3
	var l []string
	for i, v := range o.Operands() {
		if i == shown {
			l = append(l, "…")
			break
		}
		l = append(l, string(v.AppendJSON(nil)))
	}
	return o.Operator.String() + " " + strings.Join(l, ", ")
}

// emptyRange reports a lower bound that is not below the upper one.
func emptyRange(ops []policy.Operation) bool {
	for _, low := range ops {
		if low.Operator != policy.Gt && low.Operator != policy.Gte {
			continue
		}
		for _, high := range ops {
			if high.Operator != policy.Lt && high.Operator != policy.Lte {
				continue
			}
			order, ok := doc.CompareNumbers(low.Operands()[0], high.Operands()[0])
			both := low.Operator == policy.Gte && high.Operator == policy.Lte
			if ok && (order > 0 || order == 0 && !both) {
				return true
			}
		}
	}
	return false
}

// kinds are the JSON types that an operator can pass; nil: not known.
func kinds(o policy.Operation) []doc.Kind {
	switch o.Operator {
	case policy.Eq, policy.Ne, policy.In, policy.NotIn:
		var l []doc.Kind
		for _, v := range o.Operands() {
			if !slices.Contains(l, v.Kind()) {
				l = append(l, v.Kind())
			}
		}
		return l
	case policy.Gt, policy.Gte, policy.Lt, policy.Lte:
		return []doc.Kind{doc.Number}
	case policy.Matches, policy.NotMatches, policy.Within:
		return []doc.Kind{doc.String}
	case policy.Host, policy.Domain, policy.Contains, policy.MaxLength, policy.Origin:
		return []doc.Kind{doc.String, doc.List}
	}
	return nil
}

// noKind reports operators that have no type in common.
func noKind(ops []policy.Operation) bool {
	var left []doc.Kind
	for _, o := range ops {
		own := kinds(o)
		switch {
		case own == nil:
		case left == nil:
			left = own
		default:
			left = slices.DeleteFunc(slices.Clone(left), func(kind doc.Kind) bool { return !slices.Contains(own, kind) })
			if len(left) == 0 {
				return true
			}
		}
	}
	return false
}

// maxCompared bounds how many values are compared for one constraint.
const maxCompared = 1_000_000

// noCandidate reports eq or in of which the other operators let no value through. What
// cannot be evaluated passes no allow rule, and helps no call past the others.
func noCandidate(ops []policy.Operation, allow bool) bool {
	at := slices.IndexFunc(ops, func(o policy.Operation) bool { return o.Operator == policy.Eq || o.Operator == policy.In })
	if at < 0 {
		return slices.ContainsFunc(ops, func(o policy.Operation) bool {
			return o.Operator == policy.Matches && slices.ContainsFunc(ops, func(p policy.Operation) bool {
				return p.Operator == policy.NotMatches && p.Pattern() == o.Pattern()
			})
		})
	}
	left := ops[at].Operands()
	for i, o := range ops {
		if i == at || len(left) == 0 {
			continue
		}
		passes, ok := judge(o, len(left))
		if !ok {
			continue
		}
		left = slices.DeleteFunc(left, func(v doc.Value) bool {
			if own := kinds(o); own != nil && !slices.Contains(own, v.Kind()) {
				return allow
			}
			return !passes(v)
		})
	}
	return len(left) == 0
}

// judge is an operator as a function of values of its types, where that is simple enough
// to be done here. n is how many values it is for.
func judge(o policy.Operation, n int) (passes func(doc.Value) bool, ok bool) {
	operands := o.Operands()
	if n*len(operands) > maxCompared {
		return nil, false
	}
	holds := func(v doc.Value) bool {
		return slices.ContainsFunc(operands, func(e doc.Value) bool { return doc.Equal(e, v) })
	}
	switch o.Operator {
	case policy.Eq, policy.In:
		return holds, true
	case policy.Ne, policy.NotIn:
		return func(v doc.Value) bool { return !holds(v) }, true
	case policy.Gt, policy.Gte, policy.Lt, policy.Lte:
		return func(v doc.Value) bool { return ordered(o.Operator, v, operands[0]) }, true
	case policy.Matches, policy.NotMatches:
		re := fullMatch(o.Pattern())
		return func(v doc.Value) bool { return re.MatchString(v.String()) == (o.Operator == policy.Matches) }, re != nil
	case policy.MaxLength:
		limit, err := strconv.Atoi(operands[0].Number())
		return func(v doc.Value) bool { return length(v) <= limit }, err == nil
	case policy.Contains:
		return func(v doc.Value) bool {
			return v.Kind() != doc.String || operands[0].Kind() != doc.String || strings.Contains(v.String(), operands[0].String())
		}, true
	}
	return nil, false
}

func length(v doc.Value) int {
	if v.Kind() == doc.String {
		return utf8.RuneCountInString(v.String())
	}
	return v.Len()
}

func ordered(op policy.Operator, a, b doc.Value) bool {
	order, ok := doc.CompareNumbers(a, b)
	switch op {
	case policy.Gt:
		return !ok || order > 0
	case policy.Gte:
		return !ok || order >= 0
	case policy.Lt:
		return !ok || order < 0
	}
	return !ok || order <= 0
}

// fullMatch compiles a pattern as rules apply it, nil if it does not compile.
func fullMatch(pattern string) *regexp.Regexp {
	re, err := regexp.Compile(`\A(?s:` + pattern + `)\z`)
	if err != nil {
		return nil
	}
	return re
}
