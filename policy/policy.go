package policy

import (
	"crypto/sha256"
	"slices"
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
	Name     string // the tool's or prompt's name as the client sees it, or the resource's URI
}

// Rule is one compiled rule; its fields are for explanation. Read only.
type Rule struct {
	Name   string // as written, or "#3" by position (from 1)
	Effect Effect
	Reason string
	Source string // file:line:column, or "" when it comes from no file

	upstreams []Glob           // nil: every upstream
	globs     [subjects][]Glob // with wildcards; literal names are in the index only
	tools     []Glob           // every one for tools, as written
	digest    [sha256.Size]byte
}

// Policy is a compiled, ordered list of rules. Safe for concurrent use.
type Policy struct {
	name     string
	fallback Effect
	reasons  [subjects]string // of the default
	rules    []*Rule
	index    [subjects]index
	digest   string
}

// index finds the rules that may cover a name. Both lists of rule numbers are in
// order; a name's rules are the two merged.
type index struct {
	literal map[string][]int
	general []int // rules with wildcards
}

// Result of an evaluation. Rule is nil when the default decided.
type Result struct {
	Effect Effect
	Rule   *Rule
	Reason string // the rule's reason, which may be "", or what the default says
}

// Evaluate finds the first rule that covers t, else the default. Resources and
// prompts are denied unless a rule names them, whatever the default. Names compare
// byte for byte. A resource's URI is looked at as written and in its plain form
// (file:///a/%2e%2e/b is file:///b), and the stricter result holds: no spelling leaves a
// directory that a rule allows, or slips past a rule that denies. It does not allocate
// for names and plain URIs. Its time does not depend on the number of
// rules that hold only literal names; each rule with wildcards costs its patterns.
func (p *Policy) Evaluate(t Target) Result {
	if t.Subject >= subjects {
		return Result{Effect: Deny, Reason: "no rule can name this"}
	}
	r := p.evaluate(t)
	if t.Subject != Resource || r.Effect == Deny {
		return r
	}
	if plain := plainURI(t.Name); plain != t.Name {
		t.Name = plain
		if strict := p.evaluate(t); strict.Effect < r.Effect {
			return strict
		}
	}
	return r
}

func (p *Policy) evaluate(t Target) Result {
	ix := &p.index[t.Subject]
	exact, general := ix.literal[t.Name], ix.general
	for len(exact) > 0 || len(general) > 0 {
		var r *Rule
		if len(general) == 0 || len(exact) > 0 && exact[0] <= general[0] {
			r, exact = p.rules[exact[0]], exact[1:]
		} else {
			r, general = p.rules[general[0]], general[1:]
			if !matchAny(r.globs[t.Subject], t.Name) {
				continue
			}
		}
		if r.CoversUpstream(t.Upstream) {
			return Result{Effect: r.Effect, Rule: r, Reason: r.Reason}
		}
	}
	if t.Subject != Tool {
		return Result{Effect: Deny, Reason: p.reasons[t.Subject]}
	}
	return Result{Effect: p.fallback, Reason: p.reasons[Tool]}
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
		for _, g := range r.tools {
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

// Default is the effect for a tool that no rule covers.
func (p *Policy) Default() Effect { return p.fallback }

// Rules in order. The slice is the caller's, the rules are read only.
func (p *Policy) Rules() []*Rule { return slices.Clone(p.rules) }

// Digest is the hex SHA-256 of a canonical form: two policies with the same digest
// have the same name and decide and explain the same. Descriptions, places in the
// file and the order of globs within a rule do not count.
func (p *Policy) Digest() string { return p.digest }
