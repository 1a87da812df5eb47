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

// beyondCut is how many bytes after the limit are looked at for a credential that begins
// before it.
const beyondCut = 4 << 10

// write appends s as a JSON string of at most limit bytes of s, with a marker in place of
// each credential and, if bytes were left out, one with their number. Every text of a
// record that can come from outside passes here.
func (e *encoder) write(s string, limit int) {
	var hits []hit
	if len(s) >= minCredential {
		hits = e.finder.find(s[:min(len(s), limit+beyondCut)])
	}
	e.writeWithout(s, hits, limit)
}

func (e *encoder) writeWithout(s string, hits []hit, limit int) {
	e.buf = append(e.buf, '"')
	at := 0
	for i := range hits {
		h := &hits[i]
		if h.from >= limit {
			break
		}
		e.buf = appendEscaped(e.buf, s[at:h.from])
		e.buf = appendEscaped(e.buf, h.marker())
		at = h.to
	}
	kept, left := "", len(s)-at
	if at < limit {
		kept, left = cut(s[at:], limit-at)
	}
	e.buf = appendEscaped(e.buf, kept)
	if left > 0 {
		e.buf = append(e.buf, "…(+"...)
		e.buf = strconv.AppendInt(e.buf, int64(left), 10)
		e.buf = append(e.buf, " bytes)"...)
	}
	e.buf = append(e.buf, '"')
}
