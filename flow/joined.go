package flow

import (
	"math/bits"
	"strings"
)

// joint returns where a string goes on that ends with the quote at s[i]: behind the
// quote that follows, with nothing or what puts strings together in between. It is i
// if the string does not go on.
func joint(s string, i int) int {
	if i == 0 || !inToken(s[i-1]) {
		return i
	}
	j := skipBlank(s, i+1)
	for n := 0; n < 2 && j < len(s) && strings.IndexByte("+.&~|\\", s[j]) >= 0; n++ {
		j++
	}
	j = skipBlank(s, j)
	if j >= len(s) || signs[s[j]] != sgnQuote || j+1 >= len(s) || !inToken(s[j+1]) {
		return i
	}
	return j + 1
}

func skipBlank(s string, i int) int {
	for n := 0; n < 16 && i < len(s) && asciiSpace[s[i]]; n++ {
		i++
	}
	return i
}

// joinStrings puts "eve" + "@" + "x.example" together.
func joinStrings(s string) (_ string, found bool) {
	if strings.IndexByte(s, '"') < 0 && strings.IndexByte(s, '\'') < 0 && strings.IndexByte(s, '`') < 0 {
		return s, false
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if signs[s[i]] == sgnQuote {
			if end := joint(s, i); end > i {
				i, found = end, true
				continue
			}
		}
		b = append(b, s[i])
		i++
	}
	return string(b), found
}

// continued takes out a backslash at the end of a line, and what the next one is
// indented with, as YAML, C and shells do.
func continued(s string) (_ string, found bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, false
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (s[i+1] == '\n' || s[i+1] == '\r') {
			found = true
			for i+1 < len(s) && asciiSpace[s[i+1]] {
				i++
			}
			continue
		}
		b = append(b, s[i])
	}
	return string(b), found
}

// maxHead is how much of the word before a line break is looked at.
const maxHead = 256

// wrapEnd returns where an address or link goes on that the line break at s[i] cuts; i
// if it cuts none.
func wrapEnd(s string, i int) int {
	end := i
	if end > 0 && s[end-1] == '\r' {
		end--
	}
	if end == 0 || s[end-1] <= ' ' {
		return i
	}
	if end >= 8 && s[end-1] != '@' && s[end-1] != ':' && s[end-2] != 'w' && shortPlainWord(eight(s[end-8:end])) {
		if j := lineBreak(s, i); j >= len(s) || s[j] != '@' && s[j] != '.' {
			return i
		}
	}
	start := end
	for start > 0 && end-start < maxHead && s[start-1] > ' ' {
		start--
	}
	return wrapsAt(s[start:end], s, i)
}

// shortPlainWord reports that eight bytes end in a word that begins behind white space among
// them, and in which no dot, "@" or colon stands before the last byte.
func shortPlainWord(w uint64) bool {
	const high, rep = 0x8080808080808080, 0x0101010101010101
	blank := ^(w&^high + (128-'!')*rep | w) & high
	if blank == 0 {
		return false
	}
	word := w &^ (0xFF << 56) >> (64 - bits.LeadingZeros64(blank))
	return !anyByte(word, '.') && !anyByte(word, '@') && !anyByte(word, ':')
}

// anyByte reports that c, which is ASCII, is one of the bytes of w.
func anyByte(w uint64, c byte) bool {
	const high, rep = 0x8080808080808080, 0x0101010101010101
	x := w ^ uint64(c)*rep
	return (x-rep)&^x&high != 0
}

func wrapsAt(head, s string, i int) int {
	if head == "" {
		return i
	}
	j := lineBreak(s, i)
	if j >= len(s) || !inToken(s[j]) && strings.IndexByte("/?&=%", s[j]) < 0 {
		return i
	}
	if name := fieldName(s[j:]); name != "" && endsBefore(head, name) {
		return i
	}
	last := head[len(head)-1]
	if !inToken(last) && strings.IndexByte("/?&=%:", last) < 0 {
		return i
	}
	dot := strings.IndexByte(head, '.')
	switch {
	case s[j] == '@', s[j] == '.' && j+1 < len(s) && alnum(s[j+1]):
	case strings.IndexByte(head, '@') >= 0, strings.Contains(head, "://"), strings.HasPrefix(head, "www."):
	case last == '.' && dot > 0 && dot < len(head)-1:
	default:
		return i
	}
	return j
}

// mailFields are fields that mail shows behind others which end in an address.
var mailFields = set("bcc", "cc", "content-type", "date", "from", "importance", "in-reply-to", "message-id", "mime-version", "references",
	"reply-to", "return-path", "sender", "sent", "subject", "to")

// fieldName returns which of mailFields s begins with, "" if with none.
func fieldName(s string) string {
	var name [16]byte
	for i := 0; i <= len(name) && i+1 < len(s); i++ {
		c := lower[s[i]]
		if c == ':' {
			if (s[i+1] == ' ' || s[i+1] == '\t') && mailFields[string(name[:i])] {
				return string(name[:i])
			}
			return ""
		}
		if i == len(name) || !letter(c) && c != '-' {
			return ""
		}
		name[i] = c
	}
	return ""
}

// endsBefore reports that head ends in a whole mail address, which does not go on with the
// name of a field: neither "ann@acme." nor "ann@acme.au" is one before "to", and a link
// could go on with anything.
func endsBefore(head, name string) bool {
	at, dot := strings.LastIndexByte(head, '@'), strings.LastIndexByte(head, '.')
	if at < 0 || dot < at || strings.Contains(head, "://") {
		return false
	}
	top := lowerASCII(head[dot+1:])
	return knownTop(top) && !knownTop(top+name)
}

// unwrapped puts together what line breaks cut.
func unwrapped(s string) (_ string, found bool) {
	b := make([]byte, 0, len(s))
	word := 0 // where the word begins that b ends in
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == '\n' || c == '\r' {
			if end := wrapsAt(string(b[max(word, len(b)-maxHead):]), s, i); end > i {
				i, found = end-1, true
				continue
			}
		}
		if b = append(b, s[i]); s[i] <= ' ' {
			word = len(b)
		}
	}
	return string(b), found
}
