package flow

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// minBinary is the length from which a string that is base64 as a whole is decoded at once,
// instead of being searched for runs of it: images, sounds, files.
const minBinary = 32 << 10

// wholeBase64 decodes a long string that is base64 and nothing else. text is false if what
// it holds is no text, as of an image: there is nothing in it to read.
func wholeBase64(s string) (decoded string, text, ok bool) {
	if len(s) < minBinary {
		return "", false, false
	}
	upper, lower, digits := 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= '0' && c <= '9':
			digits++
		case strings.IndexByte("+/-_=\r\n", c) < 0:
			return "", false, false
		}
	}
	// Names and hexadecimal are of the same letters, and do not use them alike.
	if most := len(s) / 25; upper < 2*most || lower < 2*most || digits < most || !evenLines(s) {
		return "", false, false
	}
	plain := strings.NewReplacer("\r", "", "\n", "", "-", "+", "_", "/").Replace(s)
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(plain, "="))
	if err != nil {
		return "", false, false
	}
	return string(b), looksLikeText(b), true
}

// evenLines reports text of one line, or of lines of one length, as encoders write them: a
// list of names is none.
func evenLines(s string) bool {
	first := strings.IndexByte(s, '\n')
	for s = strings.TrimRight(s, "\r\n"); first >= 0 && len(s) > first; {
		if s[first] != '\n' {
			return false
		}
		s = s[first+1:]
		if i := strings.IndexByte(s, '\n'); i >= 0 && i != first {
			return false
		}
	}
	return first < 0 || first >= 40
}

// looksLikeText reports text: nearly all of what it starts with is printable UTF-8.
func looksLikeText(b []byte) bool {
	b = b[:min(len(b), 4096)]
	odd := 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 || r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			odd++
		}
		i += n
	}
	return odd*20 < len(b)
}
