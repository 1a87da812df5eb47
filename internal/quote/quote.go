// Package quote shows hostile text to a person or an agent: one line, bounded, every
// control, invisible and bidirectional character made visible.
//
// It is the only place that decides how such text looks in reasons, errors, logs and on
// a terminal. It must never let a byte through that could move a cursor, end a line or
// hide another character.
package quote

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s in a form that is safe to print: printable characters as they are,
// everything else as \n, \t, \xNN or \u{NNNN}, at most max runes of s (max <= 0: no
// limit) and then "…" with the number of bytes left out. Quotes are not added.
func Text(s string, max int) string {
	if plain(s, max) {
		return s
	}
	return escape(s, max, "")
}

// Value is [Text] within single quotes; a quote or backslash inside is escaped, so the
// end of the value is certain.
func Value(s string, max int) string {
	if plain(s, max) && !strings.ContainsAny(s, `'\`) {
		return "'" + s + "'"
	}
	return "'" + escape(s, max, `'\`) + "'"
}

// escape puts a backslash before every character of also.
func escape(s string, max int, also string) string {
	var b strings.Builder
	for i, n := 0, 0; i < len(s); n++ {
		if max > 0 && n == max {
			b.WriteString("…(+")
			b.WriteString(strconv.Itoa(len(s) - i))
			b.WriteString(" bytes)")
			break
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if strings.ContainsRune(also, r) {
			b.WriteByte('\\')
		}
		writeRune(&b, r, s[i:i+size])
		i += size
	}
	return b.String()
}

func plain(s string, max int) bool {
	n := 0
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return false
			}
		}
		if !visible(r) {
			return false
		}
		n++
	}
	return max <= 0 || n <= max
}

// visible reports whether r shows as itself. Spaces other than U+0020 do not: they
// can pass for it.
func visible(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r != 0x7f
	}
	return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.In(r, unicode.Zs, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func writeRune(b *strings.Builder, r rune, raw string) {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		b.WriteString(`\x`)
		b.WriteString(hex(uint32(raw[0]), 2))
	case visible(r):
		b.WriteString(raw)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	default:
		b.WriteString(`\u{`)
		b.WriteString(hex(uint32(r), 4))
		b.WriteByte('}')
	}
}

func hex(v uint32, width int) string {
	h := strconv.FormatUint(uint64(v), 16)
	for len(h) < width {
		h = "0" + h
	}
	return h
}
