package lint

import (
	"strings"

	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// Prefixed reports whether clients of the gateway see names with their upstream's in front.
func Prefixed(c *config.Config) bool {
	switch c.Server.Namespace {
	case config.NamespaceAlways:
		return len(c.Upstreams) > 0
	case config.NamespaceNever:
		return false
	default:
		return len(c.Upstreams) > 1
	}
}

// prefixes looks for names that are written as the server has them, where clients see them
// with a prefix, and the other way round. A second upstream makes them so.
func (k *check) prefixes() {
	if !Prefixed(k.config) {
		return
	}
	sep := k.config.Server.Separator
	for _, p := range k.policies {
		for _, r := range p.rules {
			for _, key := range []string{"tools", "prompts"} {
				for _, n := range r.node.Get(key).Items() {
					k.unprefixed(r, n, sep)
				}
			}
		}
	}
	for _, e := range k.root.Get("tools").Pairs() {
		for _, u := range k.config.Upstreams {
			if rest, ok := strings.CutPrefix(e.Name, u.Name+sep); ok && rest != "" {
				k.add(e.Key, "SP111", "write "+show(u.Name+"/"+rest), "contracts name a tool as its server does, and "+show(e.Name)+" is how clients see it")
			}
		}
	}
}

// unprefixed looks at one glob of a rule.
func (k *check) unprefixed(r *ruleView, n *strictyaml.Node, sep string) {
	text := n.Text()
	start := text
	if i := strings.IndexAny(text, "*?["); i >= 0 {
		start = text[:i]
	}
	hint := ""
	for _, u := range k.config.Upstreams {
		if !r.CoversUpstream(u.Name) {
			continue
		}
		if strings.HasPrefix(start, u.Name+sep) || start != text && strings.HasPrefix(u.Name+sep, start) {
			return
		}
		if hint == "" {
			hint = "write " + show(u.Name+sep+text) + ", or give the server section namespace: never"
		}
	}
	severity := Error // a deny that matches nothing lets through what it is there to stop
	if r.Effect == policy.Allow {
		severity = Warning
	}
	k.addAs(n, "SP111", severity, hint, "clients see names with their upstream's in front, so "+show(text)+" in the rule "+show(r.Name)+" matches nothing")
}
