package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// newConstraint compiles a selector for a rule. Errors quote nothing that is not
// escaped.
func newConstraint(selector string) (Constraint, error) {
	sel, err := doc.ParseSelector(selector)
	if err != nil {
		var se *doc.SelectorError
		if errors.As(err, &se) {
			return Constraint{}, fmt.Errorf("at byte %d: %s", se.Offset, se.Want)
		}
		return Constraint{}, err
	}
	steps := sel.Steps()
	if len(steps) == 0 || steps[0].Kind != doc.StepName {
		return Constraint{}, fmt.Errorf("a selector starts with one of %s", strings.Join(rootNames[:], ", "))
	}
	i := slices.Index(rootNames[:], steps[0].Name)
	if i < 0 {
		return Constraint{}, fmt.Errorf("a selector starts with one of %s%s", strings.Join(rootNames[:], ", "), rootHint(steps[0].Name, sel))
	}
	c := Constraint{Selector: sel.String(), root: root(i), steps: steps[1:]}
	if c.root != argsRoot && len(c.steps) > 0 {
		return Constraint{}, fmt.Errorf("%s is text and holds nothing more; write %s alone", c.Root(), c.Root())
	}
	for _, st := range c.steps {
		switch st.Kind {
		case doc.StepAll:
			c.wild = true
		case doc.StepPosition:
			return Constraint{}, errors.New("[#n] depends on the order in which the client writes; name the member or index the list")
		}
	}
	return c, nil
}

func rootHint(name string, sel doc.Selector) string {
	switch name {
	case "arg", "argument", "arguments", "params", "input", "inputs", "parameters":
		return "; did you mean " + strictyaml.Quote("args"+strings.TrimPrefix(sel.String(), name)) + "?"
	case "server":
		return "; did you mean 'upstream'?"
	case "user", "token", "client":
		return "; did you mean 'caller'?"
	}
	if hint := strictyaml.Hint(name, rootNames[:]); strings.Contains(hint, "did you mean") {
		return hint
	}
	rest := sel.String()
	if !strings.HasPrefix(rest, "[") {
		rest = "." + rest
	}
	return "; did you mean " + strictyaml.Quote("args"+rest) + "?"
}

// complete checks a constraint as a whole, when its operators are set.
func (c *Constraint) complete() error {
	if len(c.ops) == 0 {
		return errors.New("no operator; write one, such as eq, in or matches")
	}
	seen := map[Operator]bool{}
	for i := range c.ops {
		op := c.ops[i].Operator
		if seen[op] {
			return fmt.Errorf("%s is set twice", op)
		}
		seen[op] = true
		switch {
		case (op == Absent || op == Present) && c.Optional:
			return fmt.Errorf("%s and optional contradict each other; leave one out", op)
		case op == Absent && len(c.ops) > 1:
			return errors.New("an argument that must be absent has no value to compare; leave the other operators out")
		case c.root != argsRoot && !textOperator(op):
			return fmt.Errorf("%s is always text, and %s does not compare text", c.Root(), op)
		case c.root != argsRoot && c.root != resourceRoot && (op == Origin || op == Within):
			return fmt.Errorf("%s looks at arguments and resources, and %s is a name", op, c.Root())
		case c.root != argsRoot && c.ops[i].kinds != 0 && !c.ops[i].kinds.has(doc.String):
			return fmt.Errorf("%s is always text; write the operand of %s in quotes", c.Root(), op)
		}
		c.placing = c.placing || op == Origin
		c.outside = c.outside || op == Origin || op == Within
	}
	c.text = c.describe()
	return nil
}

func textOperator(o Operator) bool { return o < Gt || o > Lte }

const (
	maxOperands = 5   // shown of a list
	maxOperand  = 60  // characters shown of each
	maxText     = 300 // characters of a constraint in words
)

// describe puts the constraint in words.
func (c *Constraint) describe() string {
	var b strings.Builder
	b.WriteString(quote.Text(c.Selector, maxOperand))
	if c.wild && c.Quantifier == Any {
		b.WriteString(" (any)")
	}
	for i := range c.ops {
		if i > 0 {
			b.WriteString(" and")
		}
		b.WriteByte(' ')
		b.WriteString(c.ops[i].Operator.String())
		if t := c.ops[i].text; t != "" {
			b.WriteByte(' ')
			b.WriteString(t)
		}
	}
	if c.Optional {
		b.WriteString(" (optional)")
	}
	return quote.Text(b.String(), maxText)
}

// showValue writes a value for a person: bounded, escaped.
func showValue(v doc.Value) string {
	switch v.Kind() {
	case doc.Absent:
		return "missing"
	case doc.String:
		return quote.Value(v.String(), maxOperand)
	case doc.List, doc.Object:
		return fmt.Sprintf("%s of %d", an(v.Kind()), v.Len())
	}
	return quote.Text(string(v.AppendJSON(nil)), maxOperand)
}

func showOperand(op Operator, v doc.Value, list []doc.Value) string {
	switch op {
	case Present, Absent:
		return ""
	case In, NotIn, Host, Domain, Within, Origin:
	default:
		return showValue(v)
	}
	var b strings.Builder
	b.WriteByte('[')
	for i, e := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == maxOperands {
			fmt.Fprintf(&b, "and %d more", len(list)-i)
			break
		}
		b.WriteString(showValue(e))
	}
	b.WriteByte(']')
	return b.String()
}
