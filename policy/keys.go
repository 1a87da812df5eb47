package policy

import "slices"

// Keys lists the keys that a policy, a rule and a constraint may have: of a constraint,
// the operators and then the modifiers.
func Keys() (policy, rule, constraint []string) {
	return slices.Clone(policyKeys), slices.Clone(ruleKeys), append(Operators(), optionalKey, quantifierKey)
}
