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
	hex := true
	for i := range len(s) {
		c := s[i]
		switch {
		case alnum(c):
			hex = hex && hexDigit(c)
		case strings.IndexByte("+/-_=\r\n", c) >= 0:
			hex = hex && (c == '\r' || c == '\n')
		default:
			return "", false, false
		}
	}
	if hex {
		return "", false, false // it may be text in hexadecimal
	}
	plain := strings.NewReplacer("\r", "", "\n", "", "-", "+", "_", "/").Replace(s)
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(plain, "="))
	if err != nil {
		return "", false, false
	}
	return string(b), looksLikeText(b), true
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
