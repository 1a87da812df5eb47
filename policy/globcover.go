package policy

import (
	"slices"
	"strings"
)

// Literal reports a glob without wildcards: it stands for one name.
func (g Glob) Literal() bool { return g.literal || len(g.parts) == 0 }

// Covers reports that g matches every name that other matches. It is false when that is
// not certain.
func (g Glob) Covers(other Glob) bool {
	switch {
	case other.Literal():
		return g.Match(other.source)
	case len(g.parts) == 1 && g.parts[0].kind == anyRun:
		return true
	case g.Literal():
		return false
	}
	if a, b := g.start(), other.start(); len(b) < len(a) || b[:len(a)] != a {
		return false
	}
	if a, b := g.end(), other.end(); !strings.HasSuffix(b, a) {
		return false
	}
	return coversTokens(g.tokens(), other.tokens())
}

// end is what every name that a glob covers ends with.
func (g Glob) end() string {
	if p := g.parts[len(g.parts)-1]; p.kind == literalPart {
		return p.text
	}
	return ""
}

// maxCover bounds the work of one comparison.
const maxCover = 1 << 16

// coversTokens compares from the end: next[j] says whether a from i+1 on covers b from j
// on.
func coversTokens(a, b []part) bool {
	if (len(a)+1)*(len(b)+1) > maxCover {
		return false
	}
	next, here := make([]bool, len(b)+1), make([]bool, len(b)+1)
	next[len(b)] = true
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b); j >= 0; j-- {
			switch {
			case a[i].kind == anyRun:
				here[j] = next[j] || j < len(b) && here[j+1]
			case j == len(b) || b[j].kind == anyRun:
				here[j] = false
			default:
				here[j] = next[j+1] && a[i].coversOne(b[j])
			}
		}
		next, here = here, next
	}
	return next[0]
}

// tokens cuts a pattern into parts that each stand for one character or for any run. In
// a row of * and ?, the single characters come first.
func (g Glob) tokens() []part {
	var all []part
	for _, p := range g.parts {
		switch {
		case p.kind == literalPart:
			for _, r := range p.text {
				all = append(all, part{kind: oneOf, set: []runeRange{{r, r}}})
			}
			continue
		case p.kind == anyOne:
			// Before a run that stands directly in front.
			if n := len(all); n > 0 && all[n-1].kind == anyRun {
				all = slices.Insert(all, n-1, p)
				continue
			}
		case p.kind == anyRun && len(all) > 0 && all[len(all)-1].kind == anyRun:
			continue
		}
		all = append(all, p)
	}
	return all
}

// coversOne reports that p takes every character that q takes. Neither is a run.
func (p part) coversOne(q part) bool {
	switch {
	case p.kind == anyOne:
		return true
	case q.kind == anyOne:
		return false
	case p.not && q.not:
		return containsRanges(q.set, p.set)
	case q.not:
		return false
	case p.not:
		return !slices.ContainsFunc(q.set, func(r runeRange) bool { return overlaps(p.set, r) })
	}
	return containsRanges(p.set, q.set)
}

// containsRanges reports that each range of b lies in one range of a.
func containsRanges(a, b []runeRange) bool {
	return !slices.ContainsFunc(b, func(r runeRange) bool {
		return !slices.ContainsFunc(a, func(s runeRange) bool { return s.low <= r.low && r.high <= s.high })
	})
}

func overlaps(set []runeRange, r runeRange) bool {
	return slices.ContainsFunc(set, func(s runeRange) bool { return s.low <= r.high && r.low <= s.high })
}

// coverNames reports that one of a covers each of b.
func coverNames(a, b []Glob) bool {
	for i := range b {
		if !slices.ContainsFunc(a, func(g Glob) bool { return g.Covers(b[i]) }) {
			return false
		}
	}
	return true
}
