package sallyport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/policy"
)

// Named is one tool or prompt behind a gateway.
type Named struct {
	Subject  policy.Subject // policy.Tool or policy.Prompt
	Upstream string
	Name     string // as the upstream knows it
	Shown    string // as the client sees it; "" is Name
}

// Misnamed is a name in the configuration that nothing has, and that something has with a
// prefix or without one.
type Misnamed struct {
	Place string // file:line:column; "" when it comes from no file
	Text  string // what is wrong and what to write; safe to show
}

// String is the place and the text.
func (m Misnamed) String() string {
	if m.Place == "" {
		return m.Text
	}
	return m.Place + ": " + m.Text
}

// Misnamed returns what is written for one way of naming while clients are shown the other:
// a rule for send where they see crm__send, because a second upstream was added, a rule for
// crm__send where they see send, a contract for crm__send, which is about what the
// server calls send. Such a rule refuses nothing, so it is an error and no notice. all are
// the tools and prompts of all upstreams whose lists are known, separator is what stands
// between an upstream's name and a tool's. Globs are not looked at.
func (e *Engine) Misnamed(all []Named, separator string) []Misnamed {
	n := naming{all: all, separator: separator}
	for _, r := range e.opt.Policy.Rules() {
		n.rule(r)
	}
	for _, c := range e.opt.Contracts.Entries() {
		n.contract(c.Upstream, c.Tool, c.Source)
	}
	return n.found
}

type naming struct {
	all       []Named
	separator string
	found     []Misnamed
}

func (n *naming) rule(r *policy.Rule) {
	for _, of := range []struct {
		subject policy.Subject
		key     string
	}{{policy.Tool, "tools"}, {policy.Prompt, "prompts"}} {
		for i, g := range r.Globs(of.subject) {
			if !g.Literal() {
				continue
			}
			place := r.Source
			if written := r.Node.Get(of.key).Items(); i < len(written) && written[i].Text() == g.String() {
				place = written[i].Place()
			}
			n.shown(r, of.subject, g.String(), place)
		}
	}
	for _, c := range r.When() {
		subject := policy.Tool
		switch c.Root() {
		case policy.Tool.String():
		case policy.Prompt.String():
			subject = policy.Prompt
		default:
			continue
		}
		for _, o := range c.Operations() {
			switch o.Operator {
			case policy.Eq, policy.Ne, policy.In, policy.NotIn:
				for _, v := range o.Operands() {
					n.shown(r, subject, v.String(), o.Place)
				}
			}
		}
	}
}

// shown looks at a name that has to be one that clients see.
func (n *naming) shown(r *policy.Rule, s policy.Subject, name, place string) {
	var seen []string
	for _, t := range n.all {
		if t.Subject != s || !r.CoversUpstream(t.Upstream) {
			continue
		}
		switch shown := t.shown(); {
		case shown == name:
			return
		case t.Name == name, t.Upstream+n.separator+t.Name == name:
			seen = append(seen, shown)
		}
	}
	if len(seen) > 0 {
		n.add(place, "rule %s names the %s %s, which the client sees as %s: a rule is about what the client sees", quoted(r.Name), s, quoted(name), either(seen))
	}
}

// contract looks at a name that has to be one of the server's own.
func (n *naming) contract(upstream, tool, place string) {
	var own []string
	for _, t := range n.all {
		if t.Subject != policy.Tool || upstream != "" && upstream != t.Upstream {
			continue
		}
		switch {
		case t.Name == tool:
			return
		case t.shown() == tool, t.Upstream+n.separator+t.Name == tool:
			own = append(own, t.Upstream+"/"+t.Name)
		}
	}
	if len(own) > 0 {
		n.add(place, "the entry names the tool %s, which its server calls something else: write %s", quoted(tool), either(own))
	}
}

func (t Named) shown() string {
	return Call{Name: t.Name, Shown: t.Shown}.shown()
}

func (n *naming) add(place, format string, args ...any) {
	n.found = append(n.found, Misnamed{quote.Text(place, maxQuoted), fmt.Sprintf(format, args...)})
}

// either lists some names.
func either(names []string) string {
	const most = 3
	slices.Sort(names)
	names = slices.Compact(names)
	more := ""
	if len(names) > most {
		names, more = names[:most], ", or others"
	}
	for i, name := range names {
		names[i] = quoted(name)
	}
	return strings.Join(names, " or ") + more
}
