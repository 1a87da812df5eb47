package policytest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/policy"
)

// Coverage counts how often each rule of some policies decided the policy step of a
// call. What a later check made of the call does not matter.
type Coverage struct {
	policies []*policy.Policy
	decided  map[decider]int
}

// decider is a rule of a policy, both by name; "" is the policy's default.
type decider struct{ policy, rule string }

// NewCoverage counts for the policies, which are listed by name.
func NewCoverage(policies []*policy.Policy) *Coverage {
	c := &Coverage{policies: slices.Clone(policies), decided: make(map[decider]int)}
	slices.SortFunc(c.policies, func(a, b *policy.Policy) int { return strings.Compare(a.Name(), b.Name()) })
	return c
}

func (c *Coverage) note(p *policy.Policy, x sallyport.Explanation) {
	if c == nil || !judged(x) {
		return
	}
	for _, t := range x.Rules {
		switch {
		case !t.Matched:
		case t.Rule == nil:
			c.decided[decider{p.Name(), ""}]++
		default:
			c.decided[decider{p.Name(), t.Rule.Name}]++
		}
	}
}

// WriteText lists each policy's rules with how often each decided.
func (c *Coverage) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, p := range c.policies {
		rules, decided := p.Rules(), 0
		for _, r := range rules {
			if c.decided[decider{p.Name(), r.Name}] > 0 {
				decided++
			}
		}
		fmt.Fprintf(&b, "coverage: policy %s: %d of %s decided a call\n", show(p.Name()), decided, plural(len(rules), "rule"))
		for _, r := range rules {
			n, note := c.decided[decider{p.Name(), r.Name}], ""
			if n == 0 {
				note = "  never decided"
				if r.Source != "" {
					note += " (" + show(r.Source) + ")"
				}
			}
			fmt.Fprintf(&b, "%8d  %s%s\n", n, show(r.Name), note)
		}
		fmt.Fprintf(&b, "%8d  %s\n", c.decided[decider{p.Name(), ""}], defaultRule)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
