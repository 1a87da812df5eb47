package lint

import "github.com/sallyport-dev/sallyport/policy"

// unreachable looks for rules that an earlier one covers.
func (k *check) unreachable(p *policyView) {
	views := make(map[*policy.Rule]*ruleView, len(p.rules))
	for i, r := range p.rules {
		views[r.Rule] = r
		if earlier := views[p.policy.Shadowed(i)]; earlier != nil {
			k.covered(earlier, r)
		}
	}
}

// covered notes a rule that is never reached. A stricter rule behind a looser one is a
// hole; a looser one behind a stricter one does nothing.
func (k *check) covered(earlier, later *ruleView) {
	severity, effect := Warning, "does nothing"
	if later.Effect != earlier.Effect {
		effect = "never " + map[policy.Effect]string{policy.Allow: "allows", policy.Deny: "denies", policy.Ask: "asks"}[later.Effect] + " anything"
	}
	if later.Effect < earlier.Effect {
		severity = Error
	}
	k.addAs(later.node, "SP101", severity, "move it above "+show(earlier.Name)+", or remove it",
		"the rule "+show(later.Name)+" "+effect+": the rule "+show(earlier.Name)+" in line "+itoa(earlier.node.Line())+" covers everything that it names")
}
