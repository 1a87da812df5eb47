package lint

import (
	"strings"

	"github.com/sallyport-dev/sallyport"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

const (
	maxSinks   = 5  // of one rule, each with a finding of its own
	maxUnnamed = 10 // of one policy
)

// sinksWithoutContract looks for allow rules on tools that send by what their schema says,
// and that nobody wrote a contract for. Where flow.unknown is allow, SP305 says more.
func (k *check) sinksWithoutContract(p *policyView) {
	effect := map[sallyport.Verdict]string{sallyport.Ask: "asked about", sallyport.Deny: "refused"}[k.config.Flow.Unknown]
	if effect == "" {
		return
	}
	count := make([]int, len(p.rules))
	for _, t := range k.known.tools {
		if t.owned || t.shipped.Source != "fallback" || !t.shipped.Exfiltrating {
			continue
		}
		for i, r := range p.rules {
			if !r.names(k, t.upstream, t.name) {
				continue
			}
			if r.Effect == policy.Allow && !r.excludes(t) {
				if count[i]++; count[i] <= maxSinks {
					k.sinkWithoutContract(r, t, effect)
				}
			}
			if len(r.when) == 0 && (t.upstream != "" || r.Upstreams() == nil) {
				break // no later rule decides
			}
		}
	}
	for i, r := range p.rules {
		if more := count[i] - maxSinks; more > 0 {
			k.add(at(r.node.Key("tools"), r.node), "SP311", "", "the rule "+show(r.Name)+" allows "+itoa(more)+" more tools that send by their schemas and have no contract")
		}
	}
}

// excludes reports a constraint on the tool's name that neither of its names passes.
func (r *ruleView) excludes(t knownTool) bool {
	for _, c := range r.when {
		if c.Root() != "tool" {
			continue
		}
		for _, o := range c.Operations() {
			passes, ok := judge(o, 1)
			if ok && !passesName(passes, t.name) && !passesName(passes, t.prefixed) {
				return true
			}
		}
	}
	return false
}

func passesName(passes func(doc.Value) bool, name string) bool {
	v, ok := doc.Text(name)
	return !ok || passes(v)
}

func (k *check) sinkWithoutContract(r *ruleView, t knownTool, effect string) {
	where := "by its schema it sends to what stands in " + sinkNames(t.shipped) + ", so destinations that nobody vouched for are " + effect
	if len(t.shipped.SinkParams) == 0 {
		where = "by its name or description it sends, and no argument says where, so every call is " + effect
	}
	k.add(k.naming(r, t), "SP311", "write a contract for it under tools",
		"the rule "+show(r.Name)+" allows "+show(t.name)+", which has no contract; "+where)
}

// naming is where a rule names a tool.
func (k *check) naming(r *ruleView, t knownTool) *strictyaml.Node {
	for _, n := range r.node.Get("tools").Items() {
		if g, err := policy.ParseGlob(n.Text()); err == nil && (g.Match(t.name) || t.upstream != "" && g.Match(t.prefixed)) {
			return n
		}
	}
	return r.node
}

// unnamed lists the tools that a policy does not mention.
func (k *check) unnamed(p *policyView) {
	var l []string
	for _, t := range k.known.tools {
		if !p.mentions(k, t) {
			l = append(l, t.name)
		}
	}
	l = uniq(l)
	if len(l) == 0 {
		return
	}
	var shown []string
	for _, name := range l[:min(len(l), maxUnnamed)] {
		shown = append(shown, strictyaml.Quote(name))
	}
	text := strings.Join(shown, ", ")
	if more := len(l) - len(shown); more > 0 {
		text += " and " + itoa(more) + " more"
	}
	k.add(p.key, "SP110", "the default, or a rule for *, decides about them", "no rule of the policy "+show(p.name)+" names "+text)
}

// mentions reports a rule that names a tool by more than *.
func (p *policyView) mentions(k *check, t knownTool) bool {
	for _, r := range p.rules {
		if t.upstream != "" && !r.CoversUpstream(t.upstream) {
			continue
		}
		for _, g := range r.Globs(policy.Tool) {
			if !everything(g.String()) && (g.Match(t.name) || t.upstream != "" && g.Match(t.prefixed)) {
				return true
			}
		}
	}
	return false
}
