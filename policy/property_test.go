package policy

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// specs draws policies over few names, so that rules overlap.
func specs(t *rapid.T) Spec {
	globs := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "a*", "*b", "?", "*", "[!a]"}), 1, 3)
	maybe := func(what string) []string {
		if rapid.Bool().Draw(t, what+"?") {
			return nil
		}
		return globs.Draw(t, what)
	}
	s := Spec{Name: "p", Default: Effect(rapid.IntRange(0, 2).Draw(t, "default"))}
	for range rapid.IntRange(0, 6).Draw(t, "rules") {
		s.Rules = append(s.Rules, RuleSpec{
			Effect: Effect(rapid.IntRange(0, 2).Draw(t, "effect")),
			Tools:  maybe("tools"), Resources: maybe("resources"), Prompts: maybe("prompts"), Upstreams: maybe("upstreams"),
		})
	}
	return s
}

func targets() []Target {
	var l []Target
	for s := range subjects {
		for _, u := range []string{"", "a", "b"} {
			for _, n := range []string{"", "a", "b", "ab", "abb", "c"} {
				l = append(l, Target{Subject: s, Upstream: u, Name: n})
			}
		}
	}
	return l
}

func compile(t *rapid.T, s Spec) *Policy {
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestIndexAgreesWithTheRules compares with a reading of the rules top to bottom.
func TestIndexAgreesWithTheRules(t *testing.T) {
	covers := func(globs []string, name string) bool {
		return slices.ContainsFunc(globs, func(s string) bool {
			g, err := ParseGlob(s)
			return err == nil && g.Match(name)
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		s := specs(t)
		p := compile(t, s)
		for _, target := range targets() {
			want, rule := s.Default, -1
			if target.Subject != Tool {
				want = Deny
			}
			for i, r := range s.Rules {
				named := [][]string{r.Tools, r.Resources, r.Prompts}
				every := target.Subject == Tool && r.Tools == nil && r.Resources == nil && r.Prompts == nil
				if (every || covers(named[target.Subject], target.Name)) && (r.Upstreams == nil || covers(r.Upstreams, target.Upstream)) {
					want, rule = r.Effect, i
					break
				}
			}
			got := p.Evaluate(target, nil)
			if got.Effect != want || (got.Rule == nil) != (rule < 0) || got.Rule != nil && got.Rule != p.rules[rule] {
				t.Fatalf("%v: got %v by %v, want %v by rule %d", target, got.Effect, got.Rule, want, rule+1)
			}
		}
	})
}

func TestRemovingAnAllowRuleNeverAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := specs(t)
		before := compile(t, s)
		for i, r := range s.Rules {
			if r.Effect != Allow {
				continue
			}
			less := s
			less.Rules = slices.Delete(slices.Clone(s.Rules), i, i+1)
			after := compile(t, less)
			for _, target := range targets() {
				if before.Evaluate(target, nil).Effect == Deny && after.Evaluate(target, nil).Effect != Deny {
					t.Fatalf("without rule %d, %v is no longer denied", i+1, target)
				}
			}
		}
	})
}

func TestDenyAllOnTopDeniesEverything(t *testing.T) {
	every := []string{"*"}
	rapid.Check(t, func(t *rapid.T) {
		s := specs(t)
		s.Rules = slices.Insert(s.Rules, 0, RuleSpec{Effect: Deny, Tools: every, Resources: every, Prompts: every})
		p := compile(t, s)
		for _, target := range targets() {
			if got := p.Evaluate(target, nil); got.Effect != Deny || got.Rule != p.rules[0] {
				t.Fatalf("%v is %v", target, got.Effect)
			}
		}
	})
}
