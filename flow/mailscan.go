package flow

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// at emits the mail addresses round the "@" at b[p].
func (s *scanner) at(b []byte, p int) {
	l, r := p, p+1
	for l > 0 && p-l < 2 && b[l-1] == ' ' {
		l--
	}
	for r < len(b) && r-p < 3 && b[r] == ' ' {
		r++
	}
	spaced := r-l > 1
	end := r
	for end < len(b) && end-r < maxHost && chars[b[end]]&chrName != 0 {
		end++
	}
	if end == len(b) || b[end] < utf8.RuneSelf {
		for end > r && !alnum(b[end-1]) {
			end--
		}
		if _, ok := s.unlisted(b, r, end); ok {
			s.locals(b[:l], b[r:end])
			return
		}
	}
	domain := s.domain(b, r, spaced)
	if domain == "" {
		return
	}
	s.locals(b[:l], []byte(domain))
	if short := asciiPrefix(b[r:]); len(short) > 2 && short != domain && validName(short) {
		s.locals(b[:l], []byte(short)) // written up against another script
	}
	if dot := strings.LastIndexByte(domain, '.'); dot > 0 && strings.IndexByte(domain[:dot], '.') > 0 && !isIP(domain) && !s.knownTop(domain) {
		s.locals(b[:l], []byte(domain[:dot]))
	}
}

// knownTop is knownTop for a valid name.
func (s *scanner) knownTop(domain string) bool { return !s.nameOf([]byte(domain)).glued }

// domain reads what follows "@" and emits it if run will not.
func (s *scanner) domain(b []byte, r int, spaced bool) string {
	if r < len(b) && b[r] == '[' {
		end := bytes.IndexByte(b[r:min(len(b), r+64)], ']')
		if end < 0 {
			return ""
		}
		h, why := canonicalHost("[" + strings.TrimPrefix(string(b[r+1:r+end]), "ipv6:") + "]")
		if why != "" {
			h, why = canonicalHost(string(b[r+1 : r+end]))
		}
		if why != "" {
			return ""
		}
		s.emit(factHost, h)
		return h
	}
	end := r
	for end < len(b) && end-r < 4*maxHost && (chars[b[end]]&chrName != 0 || b[end] >= utf8.RuneSelf && wideInName(b[end:])) {
		end++
	}
	h := strings.TrimRight(string(b[r:end]), ".-_")
	single := strings.IndexByte(h, '.') < 0
	if h == "" || spaced && single {
		return ""
	}
	if endsInNumber(h) {
		if a, ok := numericIPv4(h); ok && looksNumeric(h) {
			return a.String()
		}
		return ""
	}
	if h = taintName(h); !validName(h) {
		return ""
	}
	if single {
		s.emit(factHost, h)
	}
	return h
}

// wideInName lets bytes of letters beyond ASCII through; the rest of a character
// follows its first byte.
func wideInName(b []byte) bool {
	if !utf8.RuneStart(b[0]) {
		return true
	}
	r, _ := utf8.DecodeRune(b)
	return widthOf(r) != wideSep
}

// maxLocal bounds the local part (RFC 5321 section 4.5.3.1.1 allows 64).
const maxLocal = 256

// maxStarts bounds how many starts of one local part are recorded.
const maxStarts = 32

// locals emits the addresses that b, which ends where the local part ends, makes with
// the domain. Characters that are legal in a local part also surround addresses in
// prose and markup (quotes, "=", "/", "*"), so that every start that could be meant
// is recorded.
func (s *scanner) locals(b, domain []byte) {
	if n := len(b); n > 0 && b[n-1] == '"' {
		if open := bytes.LastIndexByte(b[max(0, n-1-maxLocal):n-1], '"'); open >= 0 {
			s.mailbox(b[max(0, n-1-maxLocal)+open+1:n-1], domain)
		}
		return
	}
	start, odd := len(b), false
	for start > 0 && len(b)-start < maxLocal {
		c := b[start-1]
		if chars[c]&chrAlnum == 0 {
			if chars[c]&chrLocal == 0 && c < utf8.RuneSelf {
				break
			}
			odd = odd || !inner(c)
		}
		start--
	}
	local := b[start:]
	s.starts(local, domain)
	if !odd {
		return
	}
	for end, n := len(local), 0; n < maxStarts; n++ {
		cut := bytes.LastIndexFunc(local[:end], surrounds)
		if cut < 0 {
			return
		}
		_, size := utf8.DecodeRune(local[cut:])
		s.starts(local[cut+size:], domain)
		end = cut
	}
}

// surrounds reports characters after which an address may start.
func surrounds(r rune) bool {
	if r < utf8.RuneSelf {
		return !alnum(byte(r)) && !inner(byte(r))
	}
	return widthOf(r) != wideLetter
}

// asciiPrefix reads the plain part of a domain that goes on in another script, "" if
// it does not.
func asciiPrefix(b []byte) string {
	i := 0
	for i < len(b) && i < maxHost && chars[b[i]]&chrName != 0 {
		i++
	}
	if i == len(b) || b[i] < utf8.RuneSelf {
		return ""
	}
	return strings.TrimRight(string(b[:i]), ".-_")
}

// starts emits an address as it stands and without punctuation before it.
func (s *scanner) starts(local, domain []byte) {
	s.mailbox(local, domain)
	if len(local) > 0 && inner(local[0]) {
		s.mailbox(bytes.TrimLeft(local, "._+-"), domain)
	}
}

func (s *scanner) address(local []byte, domain string) { s.mailbox(local, []byte(domain)) }

func (s *scanner) mailbox(local, domain []byte) {
	if len(local) == 0 {
		return
	}
	wide := false
	for _, c := range local {
		wide = wide || c >= utf8.RuneSelf
	}
	if wide {
		local = []byte(skeleton(string(local)))
	}
	s.name = appendMailbox(s.name[:0], local)
	s.name = append(s.name, '@')
	s.name = append(s.name, domain...)
	s.fact(factAddress, s.keys[factAddress].sip(s.name))
}

// appendMailbox appends a folded local part without its tag and dots, which many
// providers ignore.
func appendMailbox[T string | []byte](dst []byte, local T) []byte {
	n := len(dst)
	for i := range len(local) {
		c := local[i]
		if c == '+' && len(dst) > n {
			break
		}
		if c != '.' {
			dst = append(dst, c)
		}
	}
	if len(dst) == n {
		dst = append(dst, local...)
	}
	return dst
}

// atext reports characters other than letters and digits that a local part may hold
// unquoted, RFC 5322 section 3.2.3, and the dot.
func atext(c byte) bool { return chars[c]&chrLocal != 0 }

// inner reports those of them that join rather than surround.
func inner(c byte) bool { return c == '.' || c == '_' || c == '+' || c == '-' }
