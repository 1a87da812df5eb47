package flow

import (
	"html"
	"strings"
	"unicode/utf8"
)

// unfoldLine decodes what it finds; ok is false if it found nothing.
func unfoldLine(line string) (_ string, ok bool) {
	for range 3 { // JSON in a string in JSON
		d, found := jsonUnescape(line)
		if !found {
			break
		}
		line, ok = d, true
	}
	for range 2 {
		if !someEntity(line) {
			break
		}
		if d := html.UnescapeString(line); d != line {
			line, ok = d, true
		}
	}
	for range 3 {
		if strings.IndexByte(line, '%') < 0 {
			break
		}
		if d, found := percentDecode(nil, line); found {
			line, ok = string(d), true
		}
	}
	if d, found := joinTags(line); found {
		line, ok = d, true
	}
	return line, ok
}

// someEntity reports that an HTML entity may stand in s.
func someEntity(s string) bool {
	for {
		i := strings.IndexByte(s, '&')
		if i < 0 || i+1 == len(s) {
			return false
		}
		if s = s[i+1:]; s[0] == '#' || alnum(s[0]) {
			return true
		}
	}
}

// percentDecode appends s with %XX and %uXXXX decoded; found is false if there was none.
func percentDecode(dst []byte, s string) (_ []byte, found bool) {
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 || i+2 >= len(s) {
			return append(dst, s...), found
		}
		if s[i+1]|0x20 == 'u' {
			if r, ok := hexRune(s, i+2, 4); ok {
				dst = utf8.AppendRune(append(dst, s[:i]...), r)
				s, found = s[i+6:], true
				continue
			}
		}
		if !hexDigit(s[i+1]) || !hexDigit(s[i+2]) {
			dst = append(dst, s[:i+1]...)
			s = s[i+1:]
			continue
		}
		dst = append(dst, s[:i]...)
		dst = append(dst, unhex(s[i+1])<<4|unhex(s[i+2]))
		s, found = s[i+3:], true
	}
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// jsonUnescape decodes the escapes of JSON strings, and \xXX and \UXXXXXXXX of other
// notations; what is no escape stays.
func jsonUnescape(s string) (_ string, found bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, false
	}
	b := make([]byte, 0, len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 == len(s) {
			return string(append(b, s...)), found
		}
		b = append(b, s[:i]...)
		s = s[i:]
		switch s[1] {
		case 'n', 'r', 't', 'f', 'b':
			b, s, found = append(b, ' '), s[2:], true
		case '"', '\\', '/', '\'', '@', '.', '-', '_', ':', '#', '+', '*', '[', ']', '(', ')': // Markdown escapes some of these
			b, s, found = append(b, s[1]), s[2:], true
		case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			c, n := numberEscape(s)
			if n == 0 {
				b, s = append(b, s[:2]...), s[2:]
				continue
			}
			b, s, found = append(b, c), s[n:], true
		case 'u', 'x', 'U':
			r, n := hexEscape(s)
			if n == 0 {
				b, s = append(b, s[:2]...), s[2:]
				continue
			}
			b, s, found = utf8.AppendRune(b, r), s[n:], true
		default:
			b, s = append(b, s[0]), s[1:]
		}
	}
}

// numberEscape reads an octal escape of C and shells (\100) or a hexadecimal one of CSS
// (\40 and a space, \000040) that stands for a visible ASCII character.
func numberEscape(s string) (c byte, size int) {
	octal, n := 0, 1
	for ; n < len(s) && n < 4 && s[n] >= '0' && s[n] <= '7'; n++ {
		octal = octal<<3 | int(s[n]-'0')
	}
	if n == 4 && octal > ' ' && octal < 0x7F {
		return byte(octal), n
	}
	code := 0
	for n = 1; n < len(s) && n < 7 && hexDigit(s[n]); n++ {
		code = code<<4 | int(unhex(s[n]))
	}
	if code <= ' ' || code >= 0x7F || n < 7 && (n == len(s) || s[n] != ' ') {
		return 0, 0
	}
	if n < len(s) && s[n] == ' ' {
		n++
	}
	return byte(code), n
}

// hexEscape reads \xXX, \uXXXX (a surrogate pair too) or \UXXXXXXXX at the start of s.
func hexEscape(s string) (r rune, size int) {
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[1]]
	if s[1] == 'u' && strings.HasPrefix(s[2:], "{") {
		end := strings.IndexByte(s[:min(len(s), 12)], '}')
		if end < 4 {
			return 0, 0
		}
		r, ok := hexRune(s, 3, end-3)
		if !ok {
			return 0, 0
		}
		return r, end + 1
	}
	r, ok := hexRune(s, 2, digits)
	if !ok {
		return 0, 0
	}
	if size = 2 + digits; r < 0xD800 || r > 0xDBFF {
		return r, size
	}
	if strings.HasPrefix(s[size:], `\u`) {
		if low, ok := hexRune(s, size+2, 4); ok && low >= 0xDC00 && low <= 0xDFFF {
			return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00), size + 6
		}
	}
	return utf8.RuneError, size
}

func hexRune(s string, from, digits int) (r rune, ok bool) {
	if from+digits > len(s) {
		return 0, false
	}
	for i := from; i < from+digits; i++ {
		if !hexDigit(s[i]) || r > 0x0FFFFFF {
			return 0, false
		}
		r = r<<4 | rune(unhex(s[i]))
	}
	return r, true
}

// maxTag bounds what is taken for a tag or comment inside a word.
const maxTag = 512

// joinTags removes tags and comments that stand inside a word or an address, as in
// eve<b></b>@x.example, which a reader of the page does not see.
func joinTags(s string) (_ string, found bool) {
	var b []byte
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '<')
		if i < 0 {
			break
		}
		i += from
		end := tagsEnd(s, i)
		if i == 0 || end == i || end == len(s) || !inToken(s[i-1]) || !inToken(s[end]) {
			from = max(end, i+1)
			continue
		}
		if !found {
			b, found = make([]byte, 0, len(s)), true
		}
		b = append(b, s[:i]...)
		s, from = s[end:], 0
	}
	if !found {
		return s, false
	}
	return string(append(b, s...)), true
}

// tagsEnd returns where the tags and comments that start at s[i] end.
func tagsEnd(s string, i int) int {
	for i+1 < len(s) && s[i] == '<' && (alnum(s[i+1]) || s[i+1] == '/' || s[i+1] == '!') {
		rest, n := s[i:min(len(s), i+maxTag)], 0
		if strings.HasPrefix(rest, "<!--") {
			n = strings.Index(rest, "-->") + 2
		} else {
			n = strings.IndexByte(rest, '>')
		}
		if n < 2 {
			break
		}
		i += n + 1
	}
	return i
}

func inToken(c byte) bool {
	return chars[c]&chrToken != 0
}
