package flow

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// equalSign reports "=" that quoted-printable or an encoded word may start with.
func equalSign(text string, at int) bool {
	s := text[at:]
	switch {
	case len(s) < 2:
		return false
	case s[1] == '?', s[1] == '\n', s[1] == '\r':
		return true
	}
	if len(s) < 3 || !hexDigit(s[1]) || !hexDigit(s[2]) || s[1] < '2' || s[1] > '7' && s[1] <= '9' {
		return false
	}
	if strings.IndexByte("@.-_:/+=", unhex(s[1])<<4|unhex(s[2])) >= 0 {
		return true
	}
	i := 3 // the value of id=6512 is a number, unless more encoding follows it
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i < len(s) && (alnum(s[i]) || strings.IndexByte("=@.-_", s[i]) >= 0) {
		return true
	}
	for i = at; i > 0 && at-i < maxLabel && inToken(text[i-1]); i-- {
		if text[i-1] == '@' || text[i-1] == '.' {
			return true // the end of an address
		}
	}
	return false
}

// soft takes apart what was encoded for transport, and joins what was cut.
func (r *reader) soft(s string) {
	if u, ok := quotedPrintable(s); ok {
		r.reading(u)
	}
	if strings.Contains(s, "=?") {
		r.encodedWords(s)
	}
	if strings.Contains(s, "+A") {
		if u, ok := utf7(s); ok {
			r.reading(u)
		}
	}
	if u, ok := joinStrings(s); ok {
		r.reading(u)
	}
	if u, ok := continued(s); ok {
		r.reading(u)
	}
}

// quotedPrintable decodes =XX and takes soft line breaks out, RFC 2045 section 6.7.
func quotedPrintable(s string) (_ string, found bool) {
	if strings.IndexByte(s, '=') < 0 {
		return s, false
	}
	b := make([]byte, 0, len(s))
	for {
		i := strings.IndexByte(s, '=')
		if i < 0 {
			return string(append(b, s...)), found
		}
		b = append(b, s[:i]...)
		switch s = s[i+1:]; {
		case len(s) > 1 && hexDigit(s[0]) && hexDigit(s[1]):
			b, s, found = append(b, unhex(s[0])<<4|unhex(s[1])), s[2:], true
		case len(s) > 1 && s[0] == '\r' && s[1] == '\n':
			s, found = s[2:], true
		case len(s) > 0 && (s[0] == '\n' || s[0] == '\r'):
			s, found = s[1:], true
		default:
			b = append(b, '=')
		}
	}
}

// encodedWords decodes =?charset?B?…?= and =?charset?Q?…?=, RFC 2047, whatever the
// character set: what destinations are made of is ASCII in all of them.
func (r *reader) encodedWords(s string) {
	var b strings.Builder
	for {
		head, rest, ok := strings.Cut(s, "=?")
		if !ok {
			break
		}
		if strings.TrimSpace(head) != "" {
			b.WriteString(head)
		}
		charset, rest, _ := strings.Cut(rest, "?")
		how, rest, _ := strings.Cut(rest, "?")
		body, after, ok := strings.Cut(rest, "?=")
		if !ok || len(charset) > 40 || len(how) != 1 {
			s = s[len(head)+2:]
			continue
		}
		switch how {
		case "q", "Q":
			d, _ := quotedPrintable(strings.ReplaceAll(body, "_", " "))
			b.WriteString(d)
		case "b", "B":
			b.Write(anyBase64(body))
		}
		s = after
	}
	b.WriteString(s)
	r.reading(b.String())
}

// anyBase64 decodes base64 however short, and whatever it holds.
func anyBase64(s string) []byte {
	var out []byte
	s = strings.TrimRight(s, "=")
	if len(s) >= 2 && plainBase64(s) {
		var w, bits uint32
		for i := range len(s) {
			w, bits = w<<6|uint32(sextet[s[i]]), bits+6
			if bits >= 8 {
				bits -= 8
				out = append(out, byte(w>>bits))
			}
		}
	}
	return out
}

func plainBase64(s string) bool {
	for i := range len(s) {
		if signs[s[i]]&runByte == 0 {
			return false
		}
	}
	return true
}

// utf7Sign reports "+A" and a character that UTF-7 has at the start of ASCII text.
func utf7Sign(s string) bool {
	return len(s) >= 4 && s[1] == 'A' && s[2] >= 'A' && s[2] <= 'H'
}

// utf7 decodes the shifted parts of UTF-7 that are ASCII, RFC 2152.
func utf7(s string) (_ string, found bool) {
	var b strings.Builder
	for {
		i := strings.Index(s, "+A")
		if i < 0 {
			break
		}
		end := i + 1
		for end < len(s) && (alnum(s[end]) || s[end] == '+' || s[end] == '/') {
			end++
		}
		text, ok := shifted(s[i+1 : end])
		if !ok {
			b.WriteString(s[:i+2])
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		b.WriteString(text)
		if found = true; end < len(s) && s[end] == '-' {
			end++
		}
		s = s[end:]
	}
	b.WriteString(s)
	return b.String(), found
}

func shifted(s string) (string, bool) {
	raw := anyBase64(s)
	if len(raw) < 2 {
		return "", false
	}
	units := make([]uint16, 0, len(raw)/2)
	for i := 0; i+1 < len(raw); i += 2 {
		units = append(units, uint16(raw[i])<<8|uint16(raw[i+1]))
	}
	text := string(utf16.Decode(units))
	return text, !strings.ContainsRune(text, utf8.RuneError)
}
