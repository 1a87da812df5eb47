package lint

import (
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// policyView is one policy and where it is written.
type policyView struct {
	name   string
	key    *strictyaml.Node
	node   *strictyaml.Node
	policy *policy.Policy
	rules  []*ruleView // all of them, in order
}

// ruleView is one rule and where it is written.
type ruleView struct {
	*policy.Rule
	node *strictyaml.Node
	when []*policy.Constraint
}

func (k *check) readPolicies() []*policyView {
	var l []*policyView
	for _, e := range k.root.Get("policies").Pairs() {
		p := k.config.Policies[e.Name]
		if p == nil {
			continue
		}
		v := &policyView{name: e.Name, key: e.Key, node: e.Value, policy: p}
		for _, r := range p.Rules() {
			v.rules = append(v.rules, &ruleView{Rule: r, node: r.Node, when: r.When()})
		}
		l = append(l, v)
	}
	return l
}

func (k *check) policy(p *policyView) {
	if d := p.node.Get("default"); d != nil && d.Text() == "allow" {
		k.add(d, "SP107", "write default: deny and allow what is needed",
			"the policy "+show(p.name)+" allows what no rule covers: a tool that its server adds tomorrow is allowed")
	}
	if m := p.node.Get("mode"); m != nil && m.Text() == "dry-run" {
		k.add(m, "SP501", "", "the policy "+show(p.name)+" is not enforced: its verdicts are only recorded")
	}
	for _, r := range p.rules {
		k.names(r)
		k.breadth(r)
		k.constraints(r)
		k.lettingUnknown(r)
		k.againstTools(r)
	}
	k.unreachable(p)
	k.sinksWithoutContract(p)
	k.unnamed(p)
}

// names looks at the globs of a rule.
func (k *check) names(r *ruleView) {
	for _, key := range []string{"tools", "upstreams", "prompts", "resources"} {
		for _, n := range r.node.Get(key).Items() {
			k.glob(n, key == "resources")
		}
	}
}

// breadth looks for an allow rule that narrows nothing.
func (k *check) breadth(r *ruleView) {
	tools := r.Globs(policy.Tool)
	if r.Effect != policy.Allow || !slices.ContainsFunc(tools, func(g policy.Glob) bool { return everything(g.String()) }) {
		return
	}
	if slices.ContainsFunc(r.when, narrows) {
		return
	}
	where := ""
	if r.Upstreams() != nil {
		where = " of these upstreams"
	}
	k.add(r.node, "SP106", "name the tools, or constrain their arguments with when",
		"the rule "+show(r.Name)+" allows every tool"+where+" with every argument, also those that a server adds tomorrow")
}

// narrows reports a constraint that a call could fail.
func narrows(c *policy.Constraint) bool {
	if c.Optional && c.Root() == "args" && allOptional([]*policy.Constraint{c}) {
		// Whoever leaves the argument out escapes it, but not who needs it.
		return true
	}
	return slices.ContainsFunc(c.Operations(), func(o policy.Operation) bool {
		return o.Operator != policy.Matches || !vacuous(o.Pattern())
	})
}

func allOptional(l []*policy.Constraint) bool {
	return len(l) > 0 && !slices.ContainsFunc(l, func(c *policy.Constraint) bool { return !c.Optional })
}

// constraints looks at what a rule demands.
func (k *check) constraints(r *ruleView) {
	if r.Effect == policy.Allow && allOptional(r.when) {
		k.add(r.node.Key("when"), "SP206", "leave optional out of one of them, or write a second rule for calls without the argument",
			"every constraint of the rule "+show(r.Name)+" is optional: a call that leaves the arguments out is allowed")
	}
	for _, c := range r.when {
		if r.Effect == policy.Allow {
			k.loosened(r, c)
			k.oneElement(r, c)
		} else if c.Wildcard() && c.Quantifier == policy.All && !onlyPresence(c) {
			k.add(c.Key, "SP209", "write quantifier: any", "the rule "+show(r.Name)+" matches only when every element of "+show(c.Selector)+
				" is as it says: one good element lets the bad ones through")
		}
		k.never(r, c)
		for _, o := range c.Operations() {
			k.operation(r, o)
			k.wrongTool(r, c, o)
		}
	}
}

// loosened looks at the modifiers of a constraint in an allow rule.
func (k *check) loosened(r *ruleView, c *policy.Constraint) {
	if c.Optional && !allOptional(r.when) {
		k.add(at(c.Node.Key("optional"), c.Key), "SP207", "", "the constraint on "+show(c.Selector)+" does not hold for a call that leaves it out")
	}
	if c.Wildcard() && c.Quantifier == policy.Any {
		k.add(at(c.Node.Key("quantifier"), c.Key), "SP208", "leave quantifier out: then every element has to pass",
			"quantifier: any in an allow rule: one good element of "+show(c.Selector)+" lets the others through")
	}
}

func onlyPresence(c *policy.Constraint) bool {
	return !slices.ContainsFunc(c.Operations(), func(o policy.Operation) bool { return o.Operator != policy.Present && o.Operator != policy.Absent })
}

// at is the first node that there is.
func at(nodes ...*strictyaml.Node) *strictyaml.Node {
	for _, n := range nodes {
		if n != nil {
			return n
		}
	}
	return nil
}

// operands are the nodes of an operand: the elements of a list, or the one value.
func operands(n *strictyaml.Node) []*strictyaml.Node {
	if n == nil {
		return nil
	}
	if n.IsList() {
		return n.Items()
	}
	return []*strictyaml.Node{n}
}

func (k *check) operation(r *ruleView, o policy.Operation) {
	switch o.Operator {
	case policy.Matches, policy.NotMatches:
		if o.Node != nil {
			k.pattern(o.Node, o.Pattern())
		}
	case policy.Within:
		if r.Effect != policy.Deny {
			for _, n := range operands(o.Node) {
				k.prefix(n)
			}
		}
	case policy.Host, policy.Domain:
		if r.Effect != policy.Allow {
			return
		}
		for _, n := range operands(o.Node) {
			k.broadHost(n, strings.TrimPrefix(n.Text(), "*."), "this rule allows all of it", false)
		}
	}
}

// lettingUnknown looks for allow rules that pass destinations nobody vouched for.
func (k *check) lettingUnknown(r *ruleView) {
	if r.Effect != policy.Allow {
		return
	}
	constrained := false
	for _, c := range r.when {
		for _, o := range c.Operations() {
			if o.Operator != policy.Origin {
				continue
			}
			constrained = true
			for _, n := range operands(o.Node) {
				switch n.Text() {
				case "unknown":
					k.add(n, "SP305", "leave unknown out", "the rule "+show(r.Name)+" allows destinations that nobody vouched for")
				case "untrusted":
					k.addAs(n, "SP305", Error, "leave untrusted out", "the rule "+show(r.Name)+" allows destinations that stand in untrusted output")
				}
			}
		}
	}
	if constrained || k.config.Flow.Unknown != sallyport.Allow {
		return
	}
	if tool := k.sinkOf(r); tool != "" {
		k.add(r.node, "SP305", "add a constraint on the origin of the destination, or set flow.unknown to ask",
			"the rule "+show(r.Name)+" allows "+show(tool)+", which sends, and flow.unknown: allow lets every destination through that nobody vouched for")
	}
}

// sinkOf is a tool that sends and that the rule names, "" if none is known.
func (k *check) sinkOf(r *ruleView) string {
	for _, s := range k.known.sinks {
		if r.names(k, s.upstream, s.tool) {
			return s.tool
		}
	}
	own := func(tool string) bool {
		return slices.ContainsFunc(k.config.Contracts, func(c *contract.Contract) bool { return c.Tool == tool })
	}
	for _, n := range r.node.Get("tools").Items() {
		tool := n.Text()
		if own(tool) || strings.ContainsAny(tool, "*?[") {
			continue
		}
		shipped := contract.Shipped(tool, k.config.Packs)
		if slices.ContainsFunc(shipped, func(c *contract.Contract) bool { return c.Exfiltrating }) || k.sendsByName("", tool) {
			return tool
		}
	}
	return ""
}

// names reports whether a rule names a tool of an upstream, by either of the names that
// clients may see. upstream "" is not known.
func (r *ruleView) names(k *check, upstream, tool string) bool {
	if upstream != "" && !r.CoversUpstream(upstream) {
		return false
	}
	prefixed := upstream + k.config.Server.Separator + tool
	return slices.ContainsFunc(r.Globs(policy.Tool), func(g policy.Glob) bool {
		return g.Match(tool) || upstream != "" && g.Match(prefixed)
	})
}
