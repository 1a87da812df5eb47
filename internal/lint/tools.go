package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

func itoa(n int) string { return strconv.Itoa(n) }

// againstTools compares a rule with what servers list.
func (k *check) againstTools(r *ruleView) {
	globs := r.node.Get("tools").Items()
	if len(k.opt.Tools) == 0 || len(r.Globs(policy.Tool)) == 0 {
		return
	}
	all := k.complete(r.CoversUpstream)
	var tools []knownTool
	for _, t := range k.known.tools {
		if r.names(k, t.upstream, t.name) {
			tools = append(tools, t)
		}
	}
	if !all {
		return // a tool that is not listed may be meant
	}
	k.emptyGlobs(r, globs)
	if len(tools) == 0 {
		return
	}
	for _, c := range r.when {
		if c.Root() == "args" && !hasAbsent(c) {
			k.constraintFits(r, c, tools)
		}
	}
}

// emptyGlobs looks for names that no tool has.
func (k *check) emptyGlobs(r *ruleView, globs []*strictyaml.Node) {
	for _, n := range globs {
		g, err := policy.ParseGlob(n.Text())
		if err != nil || everything(n.Text()) {
			continue
		}
		if slices.ContainsFunc(k.known.tools, func(t knownTool) bool {
			return (t.upstream == "" || r.CoversUpstream(t.upstream)) && (g.Match(t.name) || t.upstream != "" && g.Match(t.prefixed))
		}) {
			continue
		}
		k.addAs(n, "SP102", missed(r, usual("SP102")), trimHint(strictyaml.Hint(n.Text(), k.known.names())),
			"no server lists a tool that "+show(n.Text())+" names"+consequence(r))
	}
}

// missed is the severity of a rule that matches nothing: one that refuses nothing is a
// hole.
func missed(r *ruleView, s Severity) Severity {
	if r.Effect != policy.Allow {
		return Error
	}
	return s
}

func consequence(r *ruleView) string {
	if r.Effect == policy.Allow {
		return ", so the rule " + show(r.Name) + " allows nothing there"
	}
	return ", so the rule " + show(r.Name) + " refuses nothing there"
}

// constraintFits compares one constraint with the schemas of the rule's tools.
func (k *check) constraintFits(r *ruleView, c *policy.Constraint, tools []knownTool) {
	steps := c.Steps()
	if len(steps) == 0 {
		return
	}
	var found answer
	for _, t := range tools {
		a := ask(t.schema, steps)
		if !a.known {
			return
		}
		found.merge(a)
	}
	if !found.found {
		if c.Optional && r.Effect == policy.Allow {
			k.add(c.Key, "SP103", k.argumentHint(c, tools), "no tool of the rule "+show(r.Name)+" has the argument "+show(c.Selector)+", so the constraint never holds anything back")
			return
		}
		k.addAs(c.Key, "SP103", missed(r, usual("SP103")), k.argumentHint(c, tools),
			"no tool of the rule "+show(r.Name)+" has the argument "+show(c.Selector)+consequence(r))
		return
	}
	for _, o := range c.Operations() {
		k.operandFits(c, o, found)
		k.patternFits(r, c, o, found)
	}
}

// patternFits looks for a pattern that none of the values in an enum matches.
func (k *check) patternFits(r *ruleView, c *policy.Constraint, o policy.Operation, a answer) {
	if o.Operator != policy.Matches || a.values == nil {
		return
	}
	re, texts := fullMatch(o.Pattern()), 0
	if re == nil {
		return
	}
	for _, v := range a.values {
		if v.Kind() != doc.String {
			continue
		}
		if texts++; re.MatchString(v.String()) {
			return
		}
	}
	if texts > 0 {
		k.addAs(at(o.Node, c.Key), "SP109", missed(r, usual("SP109")), "",
			"the pattern "+show(o.Pattern())+" matches none of the values that the tool's schema lets "+show(c.Selector)+" have"+consequence(r))
	}
}

// merge joins what several tools say of one place.
func (a *answer) merge(b answer) {
	if !b.found {
		return
	}
	if !a.found {
		*a = b
		a.open, a.unbound = b.types == nil, b.values == nil
		return
	}
	a.open = a.open || b.types == nil
	a.unbound = a.unbound || b.values == nil
	a.types, a.values = append(slices.Clone(a.types), b.types...), append(slices.Clone(a.values), b.values...)
	if a.open {
		a.types = nil
	}
	if a.unbound {
		a.values = nil
	}
}

func hasAbsent(c *policy.Constraint) bool {
	return slices.ContainsFunc(c.Operations(), func(o policy.Operation) bool { return o.Operator == policy.Absent })
}

func (k *check) argumentHint(c *policy.Constraint, tools []knownTool) string {
	var names []string
	for _, t := range tools {
		for _, n := range argumentNames(t.schema) {
			names = append(names, "args."+n)
		}
	}
	slices.Sort(names)
	return trimHint(strictyaml.Hint(c.Selector, slices.Compact(names)))
}

// operandFits compares an operator and its values with what can stand there.
func (k *check) operandFits(c *policy.Constraint, o policy.Operation, a answer) {
	switch o.Operator {
	case policy.Eq, policy.Ne, policy.In, policy.NotIn:
		values, nodes := o.Operands(), operands(o.Node)
		for i, v := range values {
			n := at(o.Node, c.Key)
			if len(nodes) == len(values) {
				n = nodes[i]
			}
			k.valueFits(n, c, v, a)
		}
	case policy.Matches, policy.NotMatches, policy.Host, policy.Domain, policy.Within:
		if a.only("integer", "number", "boolean", "null", "object", "array") {
			k.add(at(o.Node, c.Key), "SP105", "", o.Operator.String()+" looks at text, and "+show(c.Selector)+" is "+strings.Join(uniq(a.types), " or "))
		}
	case policy.MaxLength:
		if a.only("integer", "number", "boolean", "null", "object") {
			k.add(at(o.Node, c.Key), "SP105", "", "max_length counts characters or elements, and "+show(c.Selector)+" is "+strings.Join(uniq(a.types), " or "))
		}
	case policy.Gt, policy.Gte, policy.Lt, policy.Lte:
		if a.only("string", "boolean", "null", "object", "array") {
			k.add(at(o.Node, c.Key), "SP105", "", o.Operator.String()+" compares numbers, and "+show(c.Selector)+" is "+strings.Join(uniq(a.types), " or "))
		}
	}
}

func (k *check) valueFits(n *strictyaml.Node, c *policy.Constraint, v doc.Value, a answer) {
	switch {
	case !a.fits(v):
		k.add(n, "SP105", "", "the value of "+show(c.Selector)+" is "+strings.Join(uniq(a.types), " or ")+", and this is "+typeOf(v))
	case a.values != nil && !slices.ContainsFunc(a.values, func(e doc.Value) bool { return doc.Equal(e, v) }):
		var texts []string
		for _, e := range a.values {
			if e.Kind() == doc.String {
				texts = append(texts, e.String())
			}
		}
		k.add(n, "SP104", trimHint(strictyaml.Hint(v.String(), texts)), "the tool's schema does not let "+show(c.Selector)+" be "+show(n.Text()))
	}
}

func uniq(l []string) []string {
	l = slices.Clone(l)
	slices.Sort(l)
	return slices.Compact(l)
}
