package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

const (
	maxName   = 200  // bytes of a policy's or rule's name
	maxReason = 1000 // bytes
	maxShown  = 80   // characters of a value in an error
)

var everyName = Glob{source: "*", parts: []part{{kind: anyRun}}}

// Spec is a policy as a program writes it, without a file.
type Spec struct {
	Name    string // required
	Default Effect
	Mode    Mode
	Hide    []Subject // what is left out of lists when it is denied
	Rules   []RuleSpec
}

// RuleSpec is one rule of a [Spec]. Lists hold globs, see [ParseGlob]. With Tools,
// Resources and Prompts all empty the rule covers every tool; else it covers what it
// names. With Upstreams empty it covers every upstream.
type RuleSpec struct {
	Name      string // "": its position, "#1"
	Effect    Effect
	Tools     []string
	Upstreams []string
	Resources []string
	Prompts   []string
	// When maps selectors to what their value must be: a value that [doc.FromGo] takes, or
	// a map[string]any of operators and modifiers as in a file.
	When       map[string]any
	RateLimits []string
	Reason     string
}

// New compiles a policy. The error names the first rule or glob that is wrong. A list
// that is empty but not nil is an error: it would cover everything.
func New(s Spec) (*Policy, error) {
	if err := CheckName(s.Name); err != nil {
		return nil, fmt.Errorf("policy name %s: %w", quote.Value(s.Name, maxShown), err)
	}
	if s.Default > Allow {
		return nil, errors.New("the default is not an effect")
	}
	if s.Mode > DryRun {
		return nil, errors.New("not a mode")
	}
	b := builder{name: s.Name, fallback: s.Default, mode: s.Mode}
	for _, subject := range s.Hide {
		if subject >= subjects {
			return nil, errors.New("not a subject to hide")
		}
		b.hides[subject] = true
	}
	for i, spec := range s.Rules {
		if spec.Effect > Allow {
			return nil, fmt.Errorf("rule %d: not an effect", i+1)
		}
		r := &Rule{Name: position(i), Effect: spec.Effect, Reason: spec.Reason}
		if spec.Name != "" {
			r.Name = spec.Name
			if err := checkRuleName(spec.Name); err != nil {
				return nil, fmt.Errorf("rule %d: name %s: %w", i+1, quote.Value(spec.Name, maxShown), err)
			}
		}
		if len(spec.Reason) > maxReason {
			return nil, fmt.Errorf("rule %s: the reason is longer than %d bytes", quote.Value(r.Name, maxShown), maxReason)
		}
		g, err := spec.globs()
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", quote.Value(r.Name, maxShown), err)
		}
		if err := spec.constrain(r, g); err != nil {
			return nil, fmt.Errorf("rule %s: %w", quote.Value(r.Name, maxShown), err)
		}
		if !b.add(r, g) {
			return nil, fmt.Errorf("two rules are named %s", quote.Value(r.Name, maxShown))
		}
	}
	return b.build(), nil
}

func (spec RuleSpec) globs() (g ruleGlobs, err error) {
	if g.subject[Tool], err = compileGlobs("tools", spec.Tools); err != nil {
		return g, err
	}
	if g.subject[Resource], err = compileGlobs("resources", spec.Resources); err != nil {
		return g, err
	}
	if g.subject[Prompt], err = compileGlobs("prompts", spec.Prompts); err != nil {
		return g, err
	}
	g.upstreams, err = compileGlobs("upstreams", spec.Upstreams)
	return g, err
}

func compileGlobs(what string, list []string) ([]Glob, error) {
	if list == nil {
		return nil, nil
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s is an empty list; leave it out to cover every one", what)
	}
	globs := make([]Glob, len(list))
	for i, s := range list {
		var err error
		if globs[i], err = ParseGlob(s); err != nil {
			return nil, fmt.Errorf("%s: glob %s: %w", what, quote.Value(s, maxShown), err)
		}
	}
	return globs, nil
}

// position is the name of a rule that has none, from 1.
func position(i int) string { return "#" + strconv.Itoa(i+1) }

// CheckName refuses names that could pass for another one in a log: of policies, rules,
// rate limits and callers. The error goes on from the words "a name".
func CheckName(s string) error {
	switch {
	case s == "":
		return errors.New("must not be empty")
	case len(s) > maxName:
		return fmt.Errorf("must not be longer than %d bytes", maxName)
	case quote.Text(s, 0) != s || strings.TrimSpace(s) != s:
		return errors.New("must have no white space at its ends and no characters that cannot be seen")
	}
	return nil
}

func checkRuleName(s string) error {
	if strings.HasPrefix(s, "#") {
		return errors.New("must not start with #, which stands for a rule's position")
	}
	return CheckName(s)
}

// ruleGlobs is what one rule names; nil lists are the ones left out.
type ruleGlobs struct {
	subject   [subjects][]Glob
	upstreams []Glob
}

// builder collects rules and builds the index.
type builder struct {
	name     string
	fallback Effect
	mode     Mode
	hides    [subjects]bool
	rules    []*Rule
	names    map[string]bool
	index    [subjects]index
}

// add compiles one rule; false if its name is taken.
func (b *builder) add(r *Rule, g ruleGlobs) bool {
	if b.names == nil {
		b.names = map[string]bool{}
	}
	if b.names[r.Name] {
		return false
	}
	b.names[r.Name] = true
	if g.subject[Tool] == nil && g.subject[Resource] == nil && g.subject[Prompt] == nil {
		g.subject[Tool] = []Glob{everyName}
	}
	r.upstreams, r.globs = g.upstreams, g.subject
	r.shown = quote.Value(r.Name, maxShown)
	r.digest = ruleDigest(r)
	slices.SortStableFunc(r.when, byCost)
	at := len(b.rules)
	b.rules = append(b.rules, r)
	for s := range subjects {
		for _, glob := range g.subject[s] {
			b.index[s].add(at, glob)
		}
	}
	return true
}

// byCost puts constraints that ask the outside last.
func byCost(x, y Constraint) int {
	switch {
	case x.outside == y.outside:
		return 0
	case x.outside:
		return 1
	}
	return -1
}

func (b *builder) build() *Policy {
	p := &Policy{name: b.name, fallback: b.fallback, mode: b.mode, hides: b.hides, rules: b.rules, index: b.index}
	p.reasons[Tool] = "no rule matches this call, and the policy's default is " + b.fallback.String()
	p.reasons[Resource] = "no rule names this resource, and resources are denied unless one does"
	p.reasons[Prompt] = "no rule names this prompt, and prompts are denied unless one does"
	h := sha256.New()
	writeFields(h, "sallyport policy 2", b.name, b.fallback.String(), b.mode.String(), fmt.Sprint(b.hides))
	for _, r := range b.rules {
		h.Write(r.digest[:])
	}
	p.digest = hex.EncodeToString(h.Sum(nil))
	return p
}

// BuiltInName is the name of the policy that [BuiltIn] returns. No other has it.
const BuiltInName = "built-in"

// BuiltIn is the policy without a policy file: it allows all tools, resources and
// prompts; packs, the fallback and the flow are what guards.
func BuiltIn() *Policy {
	every := []string{"*"}
	p, err := New(Spec{Name: BuiltInName, Rules: []RuleSpec{{
		Name: "everything", Effect: Allow, Tools: every, Resources: every, Prompts: every,
		Reason: "no policy is configured; contracts and the flow are what guards",
	}}})
	if err != nil {
		panic(err) // constant input
	}
	return p
}
