package doc

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// MaxPattern is how long a pattern may be, in bytes.
const MaxPattern = 4096

// CompilePattern compiles a full match in RE2 syntax. The pattern must be valid alone:
// otherwise "a)|(b" would end the group that makes it a full match. Constructs that RE2
// reads as plain text, and other dialects do not, are errors too.
func CompilePattern(s string) (*regexp.Regexp, error) {
	switch {
	case s == "":
		return nil, errors.New(`an empty pattern matches only empty text; write eq: "" if that is meant`)
	case len(s) > MaxPattern:
		return nil, fmt.Errorf("the pattern has %d bytes; at most %d are read", len(s), MaxPattern)
	}
	hint, silent := foreignSyntax(s)
	_, err := syntax.Parse(s, syntax.Perl)
	switch {
	case hint != "" && (silent || err != nil):
		return nil, errors.New(hint)
	case err != nil:
		return nil, fmt.Errorf("not an RE2 pattern: %w", unprefixed(err))
	}
	re, err := regexp.Compile(`\A(?s:` + s + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("not an RE2 pattern: %w", unprefixed(err))
	}
	return re, nil
}

// unprefixed drops the standard library's own introduction.
func unprefixed(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
}

// foreign lists what other dialects have and RE2 refuses, longest first where one starts
// with another.
var foreign = []struct{ start, hint string }{
	{"(?<=", "look-behind (?<=…) is not supported (RE2, linear time); write a second constraint, or say what the whole value may be"},
	{"(?<!", "look-behind (?<!…) is not supported (RE2, linear time); add not_matches to the same constraint"},
	{"(?=", "look-ahead (?=…) is not supported (RE2, linear time); write both patterns, one with each selector or operator"},
	{"(?!", "look-ahead (?!…) is not supported (RE2, linear time); add not_matches to the same constraint"},
	{"(?>", "atomic groups (?>…) are not supported; RE2 never backtracks, so write (?:…)"},
	{"(?P=", "back-references are not supported (RE2, linear time)"},
	{"(?P>", "recursion is not supported (RE2, linear time)"},
	{"(?R)", "recursion is not supported (RE2, linear time)"},
	{"(?(", "conditional groups are not supported (RE2, linear time); write the alternatives out"},
	{"(?#", "comments in a pattern are not supported; write a YAML comment"},
	{"(?|", "branch reset is not supported; write (?:…)"},
	{`\k`, "back-references are not supported (RE2, linear time)"},
	{`\g`, "back-references are not supported (RE2, linear time)"},
	{`\Z`, `\Z is not known to RE2; the whole value is matched anyway, so leave it out`},
	{`\G`, `\G is not known to RE2; the whole value is matched anyway, so leave it out`},
	{`\K`, `\K is not known to RE2`},
	{`\R`, `\R is not known to RE2; write (?:\r\n|\n)`},
	{`\h`, `\h is not known to RE2; write [ \t]`},
	{`\X`, `\X is not known to RE2`},
	{`\e`, `\e is not known to RE2; write \x1b`},
	{`\u`, `\u is not known to RE2; write \x{…}`},
	{`\U`, `\U is not known to RE2; write \x{…}`},
	{`\N`, `\N is not known to RE2`},
	{"*+", possessive},
	{"++", possessive},
	{"?+", possessive},
	{"}+", possessive},
}

const possessive = "possessive repetition (*+ ++ ?+) is not supported; RE2 never backtracks, so leave the second + out"

// upTo is what other dialects read as "at most n", and RE2 as plain text.
var upTo = regexp.MustCompile(`^\{,[0-9]+\}`)

// foreignSyntax says what of another dialect stands in a pattern, "" if nothing does. It
// is silent when RE2 takes the pattern and gives it another meaning.
func foreignSyntax(s string) (hint string, silent bool) {
	for i := 0; i < len(s); i++ {
		rest := s[i:]
		switch {
		case strings.HasPrefix(rest, `\Q`):
			end := strings.Index(rest, `\E`)
			if end < 0 {
				return `\Q is not closed; write \E behind the quoted text`, true
			}
			i += end + 1
			continue
		case upTo.MatchString(rest):
			return `{,n} is plain text in RE2; write {0,n}, or \{, for the characters`, true
		case rest[0] == '[':
			i += classLen(rest) - 1
			continue
		}
		for _, f := range foreign {
			if strings.HasPrefix(rest, f.start) {
				return f.hint, false
			}
		}
		if rest[0] != '\\' {
			continue
		}
		if len(rest) > 1 && rest[1] >= '1' && rest[1] <= '9' {
			return `back-references are not supported (RE2, linear time); for a character by its number write \x{…}`, false
		}
		i++
	}
	return "", false
}

// classLen is the length of the character class at the start of s.
func classLen(s string) int {
	i := 1
	if strings.HasPrefix(s[i:], "^") {
		i++
	}
	if strings.HasPrefix(s[i:], "]") { // the first one stands for itself
		i++
	}
	for i < len(s) && s[i] != ']' {
		switch {
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], "[:"):
			if end := strings.Index(s[i:], ":]"); end > 0 {
				i += end + 1
			}
		}
		i++
	}
	return min(i+1, len(s))
}
