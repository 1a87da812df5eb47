package lint

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// pattern looks at a regular expression that has to match a whole value.
func (k *check) pattern(n *strictyaml.Node, s string) {
	re, err := syntax.Parse(s, syntax.Perl|syntax.DotNL)
	if err != nil {
		return // does not load
	}
	switch {
	case matchesAll(re):
		k.add(n, "SP201", "say what is allowed, or remove it", "the pattern "+show(s)+" matches every text, so it narrows nothing")
	case globLike.MatchString(s):
		k.add(n, "SP204", "in a pattern, any text is .* and tools take globs", "the pattern "+show(s)+" looks like a glob: * repeats the character before it")
	}
	if anchored(re) {
		k.add(n, "SP202", "", "the pattern "+show(s)+" has an anchor: it has to match the whole value anyway")
	}
	if looseDot.MatchString(s) {
		k.add(n, "SP205", `write \.`, "the pattern "+show(s)+" has a dot that is not escaped before the end of a host name: it matches any character")
	}
}

// matchesAll reports that re matches every text, or every text that is not empty.
func matchesAll(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpStar, syntax.OpPlus:
		return anyRune(re.Sub[0]) || matchesAll(re.Sub[0])
	case syntax.OpRepeat:
		return re.Max < 0 && re.Min <= 1 && (anyRune(re.Sub[0]) || matchesAll(re.Sub[0]))
	case syntax.OpQuest, syntax.OpCapture:
		return matchesAll(re.Sub[0])
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, matchesAll)
	case syntax.OpConcat:
		return oneMatchesAll(re.Sub)
	}
	return false
}

// oneMatchesAll reports a row of which one part matches all and the others can stay away.
// Anchors do no harm at the ends.
func oneMatchesAll(row []*syntax.Regexp) bool {
	for len(row) > 0 && row[0].Op == syntax.OpBeginText {
		row = row[1:]
	}
	for len(row) > 0 && row[len(row)-1].Op == syntax.OpEndText {
		row = row[:len(row)-1]
	}
	for i, sub := range row {
		if matchesAll(sub) {
			needed := func(r *syntax.Regexp) bool { return !takesNothing(r) }
			return !slices.ContainsFunc(row[:i], needed) && !slices.ContainsFunc(row[i+1:], needed) ||
				i+1 < len(row) && oneMatchesAll(row[i+1:]) && !slices.ContainsFunc(row[:i+1], needed)
		}
	}
	return false
}

// takesNothing reports what can match nothing at any place.
func takesNothing(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpRepeat:
		return re.Min == 0
	case syntax.OpCapture, syntax.OpPlus:
		return takesNothing(re.Sub[0])
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(r *syntax.Regexp) bool { return !takesNothing(r) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, takesNothing)
	}
	return false
}

func anyRune(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpCapture:
		return anyRune(re.Sub[0])
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, anyRune)
	case syntax.OpCharClass:
		return len(re.Rune) == 2 && re.Rune[0] == 0 && re.Rune[1] == unicode.MaxRune
	}
	return false
}

// anchored reports an anchor at an end of the text.
func anchored(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText || slices.ContainsFunc(re.Sub, anchored)
}

var (
	// globLike is a * after a character that hardly ever repeats.
	globLike = regexp.MustCompile(`(^|[^\\])[_/]\*`)
	// looseDot is an unescaped dot before a common top-level domain.
	looseDot = regexp.MustCompile(`(?i)(?:^|[a-z0-9)\]}*+?])\.(?:com|org|net|io|dev|app|edu|gov|ai|co|eu|de|uk|example|test|local|internal|corp|lan)(?:$|[^a-z0-9*+?{])`)
	// regexLike is what only a regular expression would write. A backslash and braces do
	// not load in a glob.
	regexLike = regexp.MustCompile(`^\^|\$$|\.\*|\.\+|\||^\(.*\)$|\]\+`)
	// regexLikeURI is the same for URIs, where a dot before * is common.
	regexLikeURI = regexp.MustCompile(`^\^|\$$|\.\+|\||\.\*\$|^\.\*|\][+]`)
)

// glob looks at a glob on names, or on URIs.
func (k *check) glob(n *strictyaml.Node, uri bool) {
	s, like := n.Text(), regexLike
	if uri {
		like = regexLikeURI
	}
	if like.MatchString(s) {
		k.add(n, "SP203", "in a glob, * is any text and ? is one character", "the glob "+show(s)+" looks like a regular expression: . ^ $ | + stand for themselves in a glob")
	}
}

// everything reports a glob that covers every name.
func everything(s string) bool { return strings.Trim(s, "*") == "" && s != "" }

// vacuous reports a pattern that every text matches.
func vacuous(s string) bool {
	re, err := syntax.Parse(s, syntax.Perl|syntax.DotNL)
	return err == nil && matchesAll(re)
}
