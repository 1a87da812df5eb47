package lint

import (
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/policy"
)

// unreachable looks for rules that an earlier one covers. A rule that covers another
// matches every name that the other matches, so one such name is tried first: it tells
// nearly all pairs apart without comparing patterns and constraints.
func (k *check) unreachable(p *policyView) {
	names := make([][]policy.Glob, len(p.rules)) // of one subject
	done := make([]bool, len(p.rules))
	for _, s := range []policy.Subject{policy.Tool, policy.Resource, policy.Prompt} {
		for i, r := range p.rules {
			names[i] = r.Globs(s)
		}
		for j, later := range p.rules {
			if len(names[j]) == 0 || done[j] {
				continue
			}
			done[j] = true
			sample := sampleName(names[j][0].String())
			for i, earlier := range p.rules[:j] {
				if !matchesAny(names[i], sample) {
					continue
				}
				if earlier.Covers(later.Rule) {
					k.covered(earlier, later)
					break
				}
				if later.Effect < earlier.Effect && earlier.CoversPassing(later.Rule) {
					k.passed(earlier, later)
					break
				}
			}
		}
	}
}

func matchesAny(globs []policy.Glob, name string) bool {
	for i := range globs {
		if globs[i].Match(name) {
			return true
		}
	}
	return false
}

// sampleName is a name that a glob matches: any text is none at all, any character is x,
// and of a set it is one that is in it.
func sampleName(glob string) string {
	if !strings.ContainsAny(glob, "*?[") {
		return glob
	}
	var b strings.Builder
	for rest := glob; rest != ""; {
		switch rest[0] {
		case '*':
			rest = rest[1:]
		case '?':
			b.WriteByte('x')
			rest = rest[1:]
		case '[':
			end := strings.IndexByte(rest[2:], ']') + 2 // a ] that comes first stands for itself
			if strings.HasPrefix(rest, "[!") {
				end = strings.IndexByte(rest[3:], ']') + 3
			}
			b.WriteString(oneOf(rest[:end+1]))
			rest = rest[end+1:]
		default:
			b.WriteByte(rest[0])
			rest = rest[1:]
		}
	}
	return b.String()
}

// oneOf is a character that a set of a glob takes.
func oneOf(set string) string {
	if !strings.HasPrefix(set, "[!") {
		_, size := utf8.DecodeRuneInString(set[1:])
		return set[1 : 1+size]
	}
	g, err := policy.ParseGlob(set)
	for r := rune('0'); err == nil && r < 0x3000; r++ {
		if g.Match(string(r)) {
			return string(r)
		}
	}
	return "x"
}

// passed notes a rule that is reached by nothing but what cannot be checked, and is
// stricter than the rule that takes the rest.
func (k *check) passed(earlier, later *ruleView) {
	effect := map[policy.Effect]string{policy.Deny: "denies only", policy.Ask: "asks only about"}[later.Effect]
	k.addAs(later.node, "SP101", Error, "move it above "+show(earlier.Name)+", or remove it",
		"the rule "+show(later.Name)+" "+effect+" what cannot be checked: all that its constraints hold for the rule "+show(earlier.Name)+" in line "+itoa(earlier.node.Line())+" lets through first")
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
