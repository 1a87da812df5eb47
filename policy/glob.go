package policy

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxGlob bounds a pattern, in bytes.
const maxGlob = 4096

// Glob is a compiled pattern for a whole name: * is any run of characters, also
// none, also "/" and line ends; ? is one character; [abc], [a-z] and [!abc] are one
// character of, or not of, a set. Everything else stands for itself, byte for byte,
// with case. The time to match is at most the length of the pattern times that of
// the name. The zero Glob matches only the empty name. Safe for concurrent use.
type Glob struct {
	source  string
	parts   []part
	literal bool // no wildcard: source is the name
}

// part is one step of a pattern.
type part struct {
	kind partKind
	text string // of a literal
	set  []runeRange
	not  bool
}

type partKind uint8

const (
	literalPart partKind = iota
	anyRun               // *
	anyOne               // ?
	oneOf                // [set]
)

type runeRange struct{ low, high rune }

// ParseGlob compiles s. What other glob languages give another meaning (a backslash,
// braces, [^…], a leading !) is an error that says what to write, because a rule that
// silently never matches is worse than none. So are an empty pattern, invalid UTF-8,
// white space at an end, and characters that no name may have.
func ParseGlob(s string) (Glob, error) {
	if err := checkGlobText(s); err != nil {
		return Glob{}, err
	}
	g := Glob{source: s, literal: true}
	for rest := s; rest != ""; {
		n := strings.IndexAny(rest, `*?[\{`)
		if n < 0 {
			n = len(rest)
		}
		if n > 0 {
			g.parts = append(g.parts, part{kind: literalPart, text: rest[:n]})
			rest = rest[n:]
			continue
		}
		g.literal = false
		switch rest[0] {
		case '*':
			rest = strings.TrimLeft(rest, "*")
			g.parts = append(g.parts, part{kind: anyRun})
		case '?':
			rest = rest[1:]
			g.parts = append(g.parts, part{kind: anyOne})
		case '[':
			p, after, err := parseSet(rest)
			if err != nil {
				return Glob{}, err
			}
			rest = after
			g.parts = append(g.parts, p)
		case '\\':
			return Glob{}, errors.New(`\ escapes nothing in a glob; write [*] for the character * itself`)
		case '{':
			return Glob{}, errors.New("{…} has no meaning in a glob; write each name as its own list entry, or [{] for the character itself")
		}
	}
	return g, nil
}

func checkGlobText(s string) error {
	switch {
	case s == "":
		return errors.New("an empty glob matches no name; write * for every name")
	case len(s) > maxGlob:
		return fmt.Errorf("longer than %d bytes", maxGlob)
	case !utf8.ValidString(s):
		return errors.New("not valid UTF-8")
	case strings.TrimSpace(s) != s:
		return errors.New("white space at the start or end, so it would match no name")
	case s[0] == '!':
		return errors.New("a leading ! does not negate; write a rule with the other effect")
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("the character %U cannot be seen and is in no name", r)
		}
	}
	return nil
}

// parseSet reads [abc], [a-z] or [!abc] at the start of s. A ] that comes first
// stands for itself.
func parseSet(s string) (p part, rest string, err error) {
	p = part{kind: oneOf}
	body := s[1:]
	if strings.HasPrefix(body, "^") {
		return p, "", errors.New("[^…] means different things to different readers; write [!…] for any other character")
	}
	if strings.HasPrefix(body, "!") {
		p.not, body = true, body[1:]
	}
	for first := true; ; first = false {
		if body == "" {
			return p, "", errors.New("[ is not closed; write [[] for the character itself")
		}
		low, size := utf8.DecodeRuneInString(body)
		body = body[size:]
		if low == ']' && !first {
			return p, body, nil
		}
		if low == '\\' {
			return p, "", errors.New(`\ escapes nothing in a glob; inside [ ] every character stands for itself`)
		}
		high := low
		if len(body) > 1 && body[0] == '-' && body[1] != ']' {
			high, size = utf8.DecodeRuneInString(body[1:])
			body = body[1+size:]
			if high < low {
				return p, "", fmt.Errorf("the range %c-%c is empty", low, high)
			}
		}
		p.set = append(p.set, runeRange{low, high})
	}
}

// String is the pattern as written.
func (g Glob) String() string { return g.source }

// Match reports whether g covers the whole of s. It does not allocate.
func (g Glob) Match(s string) bool {
	if g.literal || len(g.parts) == 0 {
		return s == g.source
	}
	i, at := 0, 0         // the next part, and where it starts in s
	star, starAt := -1, 0 // the last *, and how far it reaches
	for i < len(g.parts) || at < len(s) {
		if i < len(g.parts) {
			if g.parts[i].kind == anyRun {
				star, starAt = i, at
				i++
				continue
			}
			if n := g.parts[i].match(s[at:]); n > 0 {
				i, at = i+1, at+n
				continue
			}
		}
		// No match here: let the last * take one character more. No earlier one ever
		// needs to, so the time stays bounded.
		if star < 0 || starAt >= len(s) {
			return false
		}
		_, size := utf8.DecodeRuneInString(s[starAt:])
		starAt += size
		i, at = star+1, starAt
		if i == len(g.parts) {
			return true
		}
	}
	return true
}

// match returns how many bytes of s the part takes; 0 for no match.
func (p part) match(s string) int {
	if p.kind == literalPart {
		if strings.HasPrefix(s, p.text) {
			return len(p.text)
		}
		return 0
	}
	if s == "" {
		return 0
	}
	r, size := utf8.DecodeRuneInString(s)
	if p.kind == anyOne {
		return size
	}
	in := false
	if r != utf8.RuneError || size > 1 { // a broken byte is in no set
		for _, q := range p.set {
			if q.low <= r && r <= q.high {
				in = true
				break
			}
		}
	}
	if in == p.not {
		return 0
	}
	return size
}
