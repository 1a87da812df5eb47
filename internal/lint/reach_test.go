package lint

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/policy"
)

// The sample is only good for telling rules apart if the glob matches it.
func TestPropertySampleIsMatched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "read_", "é", "*", "**", "?", "[abc]", "[a-z]", "[]x]", "[!a]", "[!]]", "[!0-9A-Za-z]", "[é-ü]", "[!x]", ".", "-", "[[]", "[-a]",
		}), 1, 8).Draw(t, "parts")
		text := strings.Join(parts, "")
		g, err := policy.ParseGlob(text)
		if err != nil {
			t.Skip("no glob")
		}
		if s := sampleName(text); !g.Match(s) {
			t.Errorf("%q does not match its sample %q", text, s)
		}
	})
}

// Looking at fewer pairs finds as much as the policy's own search.
func TestReachFindsWhatThePolicyFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("version: 1\npolicies:\n  p:\n    rules:\n")
		glob := rapid.SampledFrom([]string{"a", "ab", "b", `"*"`, `"a*"`, `"*b"`, `"a?"`, `"[ab]"`, `"[!b]"`, `"?"`})
		when := rapid.SampledFrom([]string{"", ", when: {args.x: 1}", ", when: {args.x: {in: [1, 2]}}", ", when: {args.y: {present: true}}"})
		for range rapid.IntRange(1, 8).Draw(t, "rules") {
			key := rapid.SampledFrom([]string{"tools", "resources", "prompts"}).Draw(t, "key")
			b.WriteString("      - {effect: " + rapid.SampledFrom([]string{"allow", "deny", "ask"}).Draw(t, "effect") + ", " +
				key + ": [" + strings.Join(rapid.SliceOfNDistinct(glob, 1, 3, rapid.ID[string]).Draw(t, "globs"), ", ") + "]")
			if key == "tools" && rapid.Bool().Draw(t, "both") {
				b.WriteString(", resources: [" + glob.Draw(t, "resource") + "]")
			}
			if key == "tools" {
				b.WriteString(when.Draw(t, "when"))
			}
			b.WriteString("}\n")
		}
		c := mustLoad(t, b.String())
		want := map[int]bool{}
		p := c.Policies["p"]
		for i, r := range p.Rules() {
			passed := slices.ContainsFunc(p.Rules()[:i], func(e *policy.Rule) bool { return e.Effect > r.Effect && e.CoversPassing(r) })
			if passed || p.Shadowed(i) != nil {
				want[r.Node.Line()] = true
			}
		}
		for _, f := range Check(c, Options{}).Findings {
			if f.Code == "SP101" {
				if !want[f.Line] {
					t.Errorf("line %d is found and not covered:\n%s", f.Line, b.String())
				}
				delete(want, f.Line)
			}
		}
		if len(want) > 0 {
			t.Errorf("not found: %v\n%s", want, b.String())
		}
	})
}

func mustLoad(t *rapid.T, text string) *config.Config {
	c, err := config.Load("r.yaml", []byte(text), config.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

func maybeLoad(text string) (*config.Config, bool) {
	c, err := config.Load("r.yaml", []byte(text), config.Options{})
	return c, err == nil
}
