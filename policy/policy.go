package policy

import (
	"crypto/sha256"
	"slices"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// Effect of a rule.
type Effect uint8

const (
	Deny Effect = iota // the zero value refuses
	Ask
	Allow
)

// String is deny, ask or allow.
func (e Effect) String() string {
	switch e {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	}
	return "deny"
}

// Subject is what a rule can name.
type Subject uint8

const (
	Tool     Subject = iota
	Resource         // by URI
	Prompt
	subjects // how many there are
)

// String is tool, resource or prompt.
func (s Subject) String() string {
	switch s {
	case Tool:
		return "tool"
	case Resource:
		return "resource"
	case Prompt:
		return "prompt"
	}
	return "unknown subject"
}

// Target is one thing that a caller wants.
type Target struct {
	Subject  Subject
	Upstream string
	Name     string    // the tool's or prompt's name as the client sees it, or the resource's URI
	Caller   string    // who wants it; "" is nobody known, and no constraint on the caller passes
	Args     doc.Value // an object; absent counts as {}
}

// Mode is whether a policy is enforced.
type Mode uint8

const (
	Inherit Mode = iota // as the gateway
	Enforce
	DryRun // decide, enforce nothing of what the policy's rules and rate limits say
)

// String is inherit, enforce or dry-run.
func (m Mode) String() string {
	switch m {
	case Enforce:
		return "enforce"
	case DryRun:
		return "dry-run"
	}
	return "inherit"
}

// Rule is one compiled rule; its fields are for explanation. Read only.
type Rule struct {
	Name       string // as written, or "#3" by position (from 1)
	Effect     Effect
	Reason     string
	RateLimits []string         // names, in order; whether they exist is for who has them
	Source     string           // file:line:column, or "" when it comes from no file
	Node       *strictyaml.Node // where it is written, nil when it comes from no file

	shown     string // the name for messages
	upstreams []Glob // nil: every upstream
	globs     [subjects][]Glob
	when      []Constraint
	digest    [sha256.Size]byte
}

// When are the constraints, in the order of the file but those that ask the outside
// last. The slice is the caller's, the constraints are read only.
func (r *Rule) When() []*Constraint {
	all := make([]*Constraint, len(r.when))
	for i := range r.when {
		all[i] = &r.when[i]
	}
	return all
}

// Globs are the names that the rule covers; nil when it covers none of that subject. A
// rule without any list covers every tool.
func (r *Rule) Globs(s Subject) []Glob {
	if s >= subjects {
		return nil
	}
	return slices.Clone(r.globs[s])
}

// Upstreams are the upstreams that the rule covers, nil when it covers all.
func (r *Rule) Upstreams() []Glob { return slices.Clone(r.upstreams) }

// Policy is a compiled, ordered list of rules. Safe for concurrent use.
type Policy struct {
	name     string
	fallback Effect
	mode     Mode
	hides    [subjects]bool
	reasons  [subjects]string // of the default
	rules    []*Rule
	index    [subjects]index
	digest   string
}

// Result of an evaluation. Rule is nil when the default decided.
type Result struct {
	Effect Effect
	Rule   *Rule
	Reason string // the rule's reason, which may be "", or what the default says; safe to show
}

// Evaluate finds the first rule that names t and whose constraints hold, else the
// default. A constraint that cannot be evaluated makes an allow rule not match and a
// deny or ask rule match. Resources and prompts are denied unless a rule names them,
// whatever the default. Names compare byte for byte. f may be nil.
//
// A resource's URI is looked at as written, in its plain form (file:///a/%2e%2e/b is
// file:///b), and, where no network fetches it, with its query as a part of the path; the
// strictest result holds: no spelling leaves a directory that a rule allows, or slips past
// a rule that denies.
//
// Its time does not depend on the number of rules that are for other names, as far as
// the first 24 bytes before a wildcard tell. It does not allocate, but for the text of a
// refusal and for what within, host, domain and origin need.
func (p *Policy) Evaluate(t Target, f *Facts) Result {
	if t.Subject >= subjects {
		return Result{Effect: Deny, Reason: "no rule can name this"}
	}
	r, _ := p.strictest(t, f)
	return r
}

// strictest evaluates t as written and, if it is a resource, in its other forms. It
// returns the form that decides, too.
func (p *Policy) strictest(t Target, f *Facts) (Result, Target) {
	r := p.evaluate(t, f)
	if t.Subject != Resource || r.Effect == Deny {
		return r, t
	}
	plain := plainURI(t.Name)
	for _, form := range [...]string{plain, wholePath(plain)} {
		if form == t.Name {
			continue
		}
		as := t
		as.Name = form
		if s := p.evaluate(as, f); s.Effect < r.Effect {
			r, t = s, as
		}
	}
	return r, t
}

func (p *Policy) evaluate(t Target, f *Facts) Result {
	var c candidates
	p.index[t.Subject].candidates(t.Name, &c)
	e := evaluator{target: t, facts: f}
	var m missed
	for n, ok := c.next(); ok; n, ok = c.next() {
		r := p.rules[n]
		if !r.names(&t) {
			continue
		}
		matched, decisive := e.rule(r)
		switch {
		case !matched && r.Effect != Deny && m.rule == nil:
			m = missed{r, decisive}
		case matched && decisive != nil:
			return Result{r.Effect, r, r.matchedReason(decisive, e.why)}
		case matched:
			return Result{r.Effect, r, r.Reason}
		}
	}
	if t.Subject != Tool {
		return Result{Effect: Deny, Reason: p.defaultReason(t.Subject, m)}
	}
	return Result{Effect: p.fallback, Reason: p.defaultReason(Tool, m)}
}

// names reports whether the rule names the target and its upstream.
func (r *Rule) names(t *Target) bool {
	return t.Subject < subjects && matchAny(r.globs[t.Subject], t.Name) && r.CoversUpstream(t.Upstream)
}

// Denies reports that t is denied whatever its arguments are: for leaving it out of
// lists. It is false when that is not certain. t.Args is not looked at.
func (p *Policy) Denies(t Target) bool {
	if t.Subject >= subjects || p.denies(t) {
		return true
	}
	if t.Subject != Resource {
		return false
	}
	plain := plainURI(t.Name)
	for _, form := range [...]string{plain, wholePath(plain)} {
		if as := (Target{Subject: t.Subject, Upstream: t.Upstream, Name: form, Caller: t.Caller}); form != t.Name && p.denies(as) {
			return true
		}
	}
	return false
}

func (p *Policy) denies(t Target) bool {
	var c candidates
	p.index[t.Subject].candidates(t.Name, &c)
	e := evaluator{target: t}
	for n, ok := c.next(); ok; n, ok = c.next() {
		r := p.rules[n]
		if !r.names(&t) {
			continue
		}
		out := e.withoutArguments(r)
		switch {
		case out == Fail:
		case r.Effect != Deny:
			return false
		case out == Pass:
			return true
		}
	}
	return t.Subject != Tool || p.fallback == Deny
}

// withoutArguments is Pass when the rule surely matches, whatever the arguments, Fail
// when it surely does not, else Cannot.
func (e *evaluator) withoutArguments(r *Rule) Outcome {
	out := Pass
	for i := range r.when {
		c := &r.when[i]
		got := Cannot
		if c.root != argsRoot && !c.outside {
			if got = e.constraint(c); got == Cannot && r.Effect == Allow {
				got = Fail
			} else if got == Cannot {
				got = Pass
			}
		}
		if out = min(out, got); out == Fail {
			break
		}
	}
	return out
}

// CoversUpstream reports whether the rule applies to an upstream of that name. A start
// says which rules never will: a deny rule with a misspelt upstream denies nothing.
func (r *Rule) CoversUpstream(name string) bool {
	return r.upstreams == nil || matchAny(r.upstreams, name)
}

// MatchesNothing returns the globs for tools that match none of an upstream's tools, as
// written, in rules that cover the upstream: a deny rule with a misspelt tool denies
// nothing. names are all its tools.
func (p *Policy) MatchesNothing(upstream string, names []string) (found []UnusedGlob) {
	listed := make(map[string]bool, len(names))
	for _, n := range names {
		listed[n] = true
	}
	for _, r := range p.rules {
		if !r.CoversUpstream(upstream) {
			continue
		}
		for _, g := range r.globs[Tool] {
			if listed[g.source] || !g.literal && slices.ContainsFunc(names, g.Match) {
				continue
			}
			found = append(found, UnusedGlob{r, g})
		}
	}
	return found
}

// UnusedGlob is a glob of a rule that matches nothing.
type UnusedGlob struct {
	Rule *Rule
	Glob Glob
}

func matchAny(globs []Glob, s string) bool {
	for i := range globs {
		if globs[i].Match(s) {
			return true
		}
	}
	return false
}

// Name of the policy.
func (p *Policy) Name() string { return p.name }

// Mode is the policy's own mode.
func (p *Policy) Mode() Mode { return p.mode }

// Hides reports whether what the policy surely denies is left out of lists of that
// subject, see [Policy.Denies].
func (p *Policy) Hides(s Subject) bool { return s < subjects && p.hides[s] }

// Default is the effect for a tool that no rule covers.
func (p *Policy) Default() Effect { return p.fallback }

// Rules in order. The slice is the caller's, the rules are read only.
func (p *Policy) Rules() []*Rule { return slices.Clone(p.rules) }

// Digest is the hex SHA-256 of a canonical form: two policies with the same digest
// have the same name and decide and explain the same. Descriptions, places in the
// file and the order of globs within a rule do not count.
func (p *Policy) Digest() string { return p.digest }
