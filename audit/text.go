package audit

import (
	"strconv"
	"unicode"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString writes s as a JSON string in which only printable characters stand for
// themselves: a line can be shown on a terminal or in a page as it is. Bytes that are
// no UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	b = appendEscaped(b, s)
	return append(b, '"')
}

func appendEscaped(b []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if safeASCII[c] {
				i++
				continue
			}
			b = appendASCII(append(b, s[from:i]...), c)
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if shows(r) && (r != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		b = appendRune(append(b, s[from:i]...), r)
		i += size
		from = i
	}
	return append(b, s[from:]...)
}

// safeASCII says which ASCII characters stand for themselves.
var safeASCII = func() (t [utf8.RuneSelf]bool) {
	for c := byte(' '); c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return t
}()

func appendASCII(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	default:
		return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
}

func appendRune(b []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		return appendUnit(appendUnit(b, 0xd800+(r>>10)), 0xdc00+(r&0x3ff))
	}
	return appendUnit(b, r)
}

func appendUnit(b []byte, u rune) []byte {
	return append(b, '\\', 'u', hexDigits[u>>12&15], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}

// shows reports whether a character beyond ASCII is visible and cannot hide or turn
// others.
func shows(r rune) bool {
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// cut returns at most limit bytes of s, whole characters, and how many were left out.
func cut(s string, limit int) (kept string, left int) {
	if len(s) <= limit {
		return s, 0
	}
	end := limit
	for end > 0 && limit-end < utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end], len(s) - end
}

// appendCut writes s as a JSON string of at most limit bytes of s and, if some were left
// out, a marker with their number.
func appendCut(b []byte, s string, limit int) []byte {
	kept, left := cut(s, limit)
	b = append(b, '"')
	b = appendEscaped(b, kept)
	if left > 0 {
		b = append(b, "…(+"...)
		b = strconv.AppendInt(b, int64(left), 10)
		b = append(b, " bytes)"...)
	}
	return append(b, '"')
}
