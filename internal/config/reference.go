package config

import (
	"maps"
	"slices"

	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// checkReferences finds names that stand for nothing. Each section has been read; what
// is wrong inside one is already said.
func (c *Config) checkReferences(root *strictyaml.Node, p *strictyaml.Problems) {
	for _, item := range root.Get("tokens").Items() {
		c.checkTokenPolicy(item.Get("policy"), p)
	}
	for _, pol := range root.Get("policies").Pairs() {
		for _, rule := range pol.Value.Get("rules").Items() {
			c.checkLimits(rule.Get("rate_limits"), p)
			c.checkUpstreams(rule.Get("upstreams"), p)
		}
	}
	if len(c.Upstreams) > 0 {
		c.checkContracts(root.Get("tools"), p)
	}
}

func (c *Config) checkTokenPolicy(n *strictyaml.Node, p *strictyaml.Problems) {
	if n == nil || !n.IsText() || c.Policies[n.Text()] != nil {
		return
	}
	if len(c.Policies) == 0 && n.Text() == policy.BuiltInName {
		return
	}
	p.Add(n, "there is no policy %s%s", strictyaml.Quote(n.Text()), strictyaml.Hint(n.Text(), slices.Sorted(maps.Keys(c.Policies))))
}

func (c *Config) checkLimits(n *strictyaml.Node, p *strictyaml.Problems) {
	for _, item := range n.Items() {
		if item.IsText() && c.RateLimits[item.Text()] == nil {
			p.Add(item, "there is no rate limit %s%s", strictyaml.Quote(item.Text()),
				strictyaml.Hint(item.Text(), slices.Sorted(maps.Keys(c.RateLimits))))
		}
	}
}

// checkUpstreams finds globs of a rule that match no upstream: a deny rule with a
// misspelt one would deny nothing. Without upstreams the names are not known.
func (c *Config) checkUpstreams(n *strictyaml.Node, p *strictyaml.Problems) {
	if len(c.Upstreams) == 0 {
		return
	}
	for _, item := range n.Items() {
		g, err := policy.ParseGlob(item.Text())
		if err != nil || !item.IsText() {
			continue // said by the policy's own reader
		}
		if !slices.ContainsFunc(c.Upstreams, func(u *Upstream) bool { return g.Match(u.Name) }) {
			p.Add(item, "no upstream matches %s%s", strictyaml.Quote(item.Text()), strictyaml.Hint(item.Text(), c.upstreamNames()))
		}
	}
}

// checkContracts finds contracts for an upstream that is not there.
func (c *Config) checkContracts(tools *strictyaml.Node, p *strictyaml.Problems) {
	names := c.upstreamNames()
	for _, e := range c.Contracts {
		if e.Upstream != "" && !slices.Contains(names, e.Upstream) {
			p.Add(tools.Key(e.Upstream+"/"+e.Tool), "there is no upstream %s%s", strictyaml.Quote(e.Upstream), strictyaml.Hint(e.Upstream, names))
		}
	}
}

func (c *Config) upstreamNames() []string {
	names := make([]string, len(c.Upstreams))
	for i, u := range c.Upstreams {
		names[i] = u.Name
	}
	return names
}
