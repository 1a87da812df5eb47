package flow

import (
	"html"
	"strings"
	"unicode/utf8"
)

// unfolded calls use with every line of s that reads otherwise once JSON escapes, HTML
// entities, percent-encoding (twice) and tags inside words are taken away. Most text
// has none of them, and is only searched for four bytes.
func unfolded(s string, use func(string)) {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '&') < 0 && strings.IndexByte(s, '\\') < 0 && strings.IndexByte(s, '<') < 0 {
		return
	}
	for len(s) > 0 {
		i := strings.IndexAny(s, `%&\<`)
		if i < 0 {
			return
		}
		start := strings.LastIndexByte(s[:i], '\n') + 1
		end := len(s)
		if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
			end = i + n
		}
		if u, ok := unfoldLine(s[start:end]); ok {
			use(changed(s[start:end], u))
		}
		s = s[end:]
	}
}

// unfoldLine decodes what it finds; ok is false if it found nothing.
func unfoldLine(line string) (_ string, ok bool) {
	if strings.IndexByte(line, '\\') >= 0 {
		if d, found := jsonUnescape(line); found {
			line, ok = d, true
		}
	}
	if strings.IndexByte(line, '&') >= 0 {
		if d := html.UnescapeString(line); d != line {
			line, ok = d, true
		}
	}
	for range 2 {
		if d, found := percentDecode(nil, line); found {
			line, ok = string(d), true
		}
	}
	if d, found := joinTags(line); found {
		line, ok = d, true
	}
	return line, ok
}

// percentDecode appends s with %XX decoded; found is false if there was none.
func percentDecode(dst []byte, s string) (_ []byte, found bool) {
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 || i+2 >= len(s) {
			return append(dst, s...), found
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
		case '"', '\\', '/', '\'':
			b, s, found = append(b, s[1]), s[2:], true
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

// hexEscape reads \xXX, \uXXXX (a surrogate pair too) or \UXXXXXXXX at the start of s.
func hexEscape(s string) (r rune, size int) {
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[1]]
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
		b, found = append(b, s[:i]...), true
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
		closing := ">"
		if strings.HasPrefix(s[i:], "<!--") {
			closing = "-->"
		}
		n := strings.Index(s[i:min(len(s), i+maxTag)], closing)
		if n < 0 {
			break
		}
		i += n + len(closing)
	}
	return i
}

func inToken(c byte) bool {
	return alnum(c) || c == '@' || c == '.' || c == '-' || c == '_' || c >= utf8.RuneSelf
}
