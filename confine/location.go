package confine

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// location is an absolute path in parts.
type location struct {
	style  Style
	volume string // "C:" on Windows, upper case; "" elsewhere
	parts  []string
}

// String writes the location as its style does.
func (l location) String() string {
	sep := "/"
	if l.style == Windows {
		sep = `\`
	}
	return l.volume + sep + strings.Join(l.parts, sep)
}

func (l location) join(parts []string) location {
	all := make([]string, 0, len(l.parts)+len(parts))
	return location{l.style, l.volume, append(append(all, l.parts...), parts...)}
}

// collapse removes ".." together with the part before it; at the top it stays there.
func (l location) collapse() location {
	parts := make([]string, 0, len(l.parts))
	for _, p := range l.parts {
		if p == ".." {
			parts = parts[:max(0, len(parts)-1)]
			continue
		}
		parts = append(parts, p)
	}
	return location{l.style, l.volume, parts}
}

// within reports whether l is dir or below it, part by part.
func (l location) within(dir location, same func(Style, string, string) bool) bool {
	if l.volume != dir.volume || len(l.parts) < len(dir.parts) {
		return false
	}
	for i, p := range dir.parts {
		if !same(l.style, p, l.parts[i]) {
			return false
		}
	}
	return true
}

// strict takes two names for one only where the file system surely does: it decides
// what is inside.
func strict(style Style, a, b string) bool {
	switch {
	case a == b:
		return true
	case style == POSIX:
		return false
	case style == Darwin:
		a, b = norm.NFD.String(a), norm.NFD.String(b)
	}
	return strings.EqualFold(a, b)
}

// loose takes two names for one where a file system might: it decides what is refused.
func loose(style Style, a, b string) bool {
	if a == b {
		return true
	}
	return style != POSIX && foldName(a) == foldName(b)
}

func foldName(s string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

// split reads an absolute path that needs no judging: what a resolver returned, or one
// of the program's own.
func (s Style) split(path string) (location, error) {
	loc := location{style: s}
	if s == Windows {
		if !hasDrive(path) || len(path) < 3 || !isSeparator(s, path[2]) {
			return location{}, errNotAbsolute
		}
		loc.volume, path = strings.ToUpper(path[:2]), path[2:]
	} else if !strings.HasPrefix(path, "/") {
		return location{}, errNotAbsolute
	}
	loc.parts = s.parts(path)
	return loc.collapse(), nil
}

var errNotAbsolute = errors.New("it is not an absolute path")

// parts splits at separators and drops empty parts and ".".
func (s Style) parts(path string) []string {
	parts := strings.FieldsFunc(path, func(r rune) bool {
		return r < utf8.RuneSelf && isSeparator(s, byte(r))
	})
	out := parts[:0]
	for _, p := range parts {
		if p != "." {
			out = append(out, p)
		}
	}
	return out
}

func isSeparator(s Style, c byte) bool { return c == '/' || c == '\\' && s == Windows }

func hasDrive(path string) bool {
	return len(path) >= 2 && path[1] == ':' && unicode.IsLetter(rune(path[0])) && path[0] < utf8.RuneSelf
}
