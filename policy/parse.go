package policy

import (
	"strings"

	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

var (
	policyKeys = []string{"description", "default", "mode", "hide_denied_tools", "hide_denied_resources", "hide_denied_prompts", "rules"}
	ruleKeys   = []string{"name", "effect", "tools", "upstreams", "resources", "prompts", "when", "rate_limits", "reason"}
)

// hideKeys are the keys of a policy that leave what it denies out of lists.
var hideKeys = [subjects]string{"hide_denied_tools", "hide_denied_resources", "hide_denied_prompts"}

// Parse reads the policies: mapping of a configuration. Problems go to p; when there
// are any, nothing of what is returned may be used.
func Parse(n *strictyaml.Node, p *strictyaml.Problems) map[string]*Policy {
	entries, ok := n.Entries(p)
	if !ok {
		return nil
	}
	if len(entries) == 0 {
		p.Add(n, "no policy is defined here; write one, or leave policies out to allow every tool")
	}
	policies := make(map[string]*Policy, len(entries))
	for _, e := range entries {
		if err := CheckName(e.Name); err != nil {
			p.Add(e.Key, "a policy's name %v", err)
		}
		if e.Name == BuiltInName {
			p.Add(e.Key, "the name %s is taken by the policy that is used without a file; choose another", BuiltInName)
		}
		policies[e.Name] = parsePolicy(e.Name, e.Value, p)
	}
	return policies
}

func parsePolicy(name string, n *strictyaml.Node, p *strictyaml.Problems) *Policy {
	b := builder{name: name}
	fields, ok := n.Fields(p, policyKeys, nil)
	if !ok {
		return b.build()
	}
	if d := fields["description"]; d != nil {
		d.Str(p)
	}
	if d := fields["default"]; d != nil {
		b.fallback, _ = parseEffect(d, p)
	}
	if d := fields["mode"]; d != nil {
		switch s, _ := d.OneOf(p, Enforce.String(), DryRun.String()); s {
		case Enforce.String():
			b.mode = Enforce
		case DryRun.String():
			b.mode = DryRun
		}
	}
	for s, key := range hideKeys {
		if d := fields[key]; d != nil {
			b.hides[s], _ = d.Bool(p)
		}
	}
	if rules := fields["rules"]; rules != nil {
		items, _ := rules.List(p)
		for i, item := range items {
			parseRule(&b, i, item, p)
		}
	}
	return b.build()
}

func parseEffect(n *strictyaml.Node, p *strictyaml.Problems) (Effect, bool) {
	s, ok := n.OneOf(p, "allow", "deny", "ask")
	switch s {
	case "allow":
		return Allow, ok
	case "ask":
		return Ask, ok
	}
	return Deny, ok
}

func parseRule(b *builder, i int, n *strictyaml.Node, p *strictyaml.Problems) {
	fields, ok := n.Fields(p, ruleKeys, nil)
	if !ok {
		return
	}
	r := &Rule{Name: position(i), Source: n.Place(), Node: n}
	at := n
	if f := fields["name"]; f != nil {
		at = f
		if s, ok := f.Str(p); ok {
			r.Name = s
			if err := checkRuleName(s); err != nil {
				p.Add(f, "a rule's name %v", err)
			}
		}
	}
	if f := fields["effect"]; f != nil {
		r.Effect, _ = parseEffect(f, p)
	} else {
		p.Add(n, "the rule %s has no effect; write effect: allow, deny or ask", strictyaml.Quote(r.Name))
	}
	if f := fields["reason"]; f != nil {
		s, _ := f.Str(p)
		if r.Reason = strings.TrimSpace(s); len(r.Reason) > maxReason {
			p.Add(f, "the reason has %d bytes; at most %d are shown to an agent", len(r.Reason), maxReason)
		}
	}
	parseWhen(fields["when"], r, p)
	parseRateLimits(fields["rate_limits"], r, p)
	g := ruleGlobs{upstreams: parseGlobs(fields["upstreams"], p)}
	g.subject[Tool] = parseGlobs(fields["tools"], p)
	g.subject[Resource] = parseGlobs(fields["resources"], p)
	g.subject[Prompt] = parseGlobs(fields["prompts"], p)
	for i := range r.when {
		if err := r.when[i].fits(g); err != nil {
			p.Add(r.when[i].Key, "%v", err)
		}
	}
	if !b.add(r, g) {
		p.Add(at, "another rule of this policy is already named %s", strictyaml.Quote(r.Name))
	}
}

// parseGlobs returns nil when n is left out.
func parseGlobs(n *strictyaml.Node, p *strictyaml.Problems) []Glob {
	if n == nil {
		return nil
	}
	items, ok := n.Strs(p)
	if !ok {
		return nil
	}
	if len(items) == 0 {
		p.Add(n, "an empty list covers nothing; leave the key out to cover every one")
	}
	globs := make([]Glob, 0, len(items))
	for _, item := range items {
		g, err := ParseGlob(item.Text())
		if err != nil {
			p.Add(item, "the glob %s: %v", strictyaml.Quote(item.Text()), err)
		}
		globs = append(globs, g)
	}
	return globs
}
