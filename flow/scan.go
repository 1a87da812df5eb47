package flow

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A scanner cuts text into facts: words, pairs of neighbouring words, addresses, hosts.
//
// Words are runs of letters and digits in folded text; scripts written without spaces,
// and symbols, make a word of each character. A text of several words counts as seen
// when each pair of its neighbouring words was seen. That errs to taint: "a b" in one
// output and "b c" in another make "a b c" seen, and what separates words does not
// count.
type scanner struct {
	keys  *[factKinds]sipKey
	query *query // takes the facts of a lookup; nil when observing

	facts  []uint64             // facts of an output, in order
	recent *[recentFacts]uint64 // facts emitted lately, by their low bits
	filled func()               // empties facts when it is full

	buf    []byte // folded text
	name   []byte // scratch for one key
	prev   uint64 // hash of the word before
	inText bool   // prev is set
	v6     int    // no IPv6 address is tried before this offset
}

// recentFacts is how many facts are remembered, so that common words are not merged
// again and again.
const recentFacts = 8 << 10

const (
	window  = 64 << 10 // bytes folded and scanned at a time
	overlap = 17 << 10 // more than MaxDestination: what a cut inside a token repeats
)

// class of a byte in folded text.
const (
	clsSep = iota
	clsWord
	clsAt
	clsColon
	clsWide // first byte of a longer character
)

var class = func() (t [256]uint8) {
	for i := range t {
		switch c := byte(i); {
		case c >= utf8.RuneSelf:
			t[i] = clsWide
		case alnum(c):
			t[i] = clsWord
		case c == '@':
			t[i] = clsAt
		case c == ':':
			t[i] = clsColon
		}
	}
	return t
}()

// text scans one string, in windows so that memory stays small.
func (s *scanner) text(str string) {
	s.inText = false
	for len(str) > window {
		cut, next := cutAt(str)
		s.folded(str[:cut])
		str = str[next:]
	}
	s.folded(str)
}

// cutAt finds where the first window of a longer string ends and the next begins: at
// white space, or overlapping if there is none.
func cutAt(s string) (end, next int) {
	for i := window - 1; i > window-4096; i-- {
		if asciiSpace[s[i]] && s[i-1] != '@' && s[i+1] != '@' {
			return i, i
		}
	}
	end, next = window, window-overlap
	for end > next && !utf8.RuneStart(s[end]) {
		end--
	}
	for !utf8.RuneStart(s[next]) {
		next--
	}
	return end, next
}

func (s *scanner) folded(str string) {
	s.buf = appendFold(s.buf[:0], str)
	s.scan(s.buf)
}

// scan walks folded text.
func (s *scanner) scan(b []byte) {
	s.v6 = 0
	for i := 0; i < len(b); {
		switch class[b[i]] {
		case clsSep:
			i++
		case clsAt:
			s.at(b, i)
			i++
		case clsColon:
			s.colon(b, i)
			i++
		default:
			i = s.run(b, i)
		}
	}
}

// run scans words joined by ".", "-" or "_", which may be a host name, from i. It
// returns where to go on, always after i.
func (s *scanner) run(b []byte, i int) int {
	start, end, dotted := i, i, false
	for {
		j := s.words(b, i)
		if j == i {
			break
		}
		dotted = dotted || i > start && b[i-1] == '.'
		i, end = j, j
		for i < len(b) && (b[i] == '-' || b[i] == '_') {
			i++
		}
		if i == end && i < len(b) && b[i] == '.' {
			i++
		}
		if i == end || i >= len(b) || class[b[i]] != clsWord && class[b[i]] != clsWide {
			break
		}
	}
	if end == start { // a wide character that is no part of a word
		_, n := utf8.DecodeRune(b[start:])
		return start + n
	}
	if dotted {
		s.dotted(b, start, end)
	}
	return end
}

// words emits the words that follow each other from i without a separator: one, unless
// a script without spaces is among them. It returns where they end.
func (s *scanner) words(b []byte, i int) int {
	start := i
	for i < len(b) {
		if class[b[i]] == clsWord {
			i++
			continue
		}
		if b[i] < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeRune(b[i:])
		w := widthOf(r)
		if w == wideSep {
			break
		}
		if w == wideAlone {
			if i > start {
				s.word(b[start:i])
			}
			s.word(b[i : i+n])
			start = i + n
		}
		i += n
	}
	if i > start {
		s.word(b[start:i])
	}
	return i
}

// How a character beyond ASCII counts.
const (
	wideSep = iota
	wideLetter
	wideAlone // a word of its own
)

func widthOf(r rune) int {
	switch {
	case r == 0xB7: // stands inside Catalan words and names
		return wideLetter
	case r == 0x30FB: // and this in Japanese ones
		return wideAlone
	case r < 0x2000 && unicode.IsLetter(r):
		if unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan) {
			return wideAlone
		}
		return wideLetter
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return wideAlone
	case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsNumber(r):
		return wideLetter
	case unicode.IsSymbol(r):
		return wideAlone
	}
	return wideSep
}

// fact takes one fact, unless it was just taken.
func (s *scanner) fact(k kind, h uint64) {
	if s.query != nil {
		s.query.fact(k, h)
		return
	}
	slot := &s.recent[h%recentFacts]
	if *slot == h {
		return
	}
	*slot = h
	s.facts = append(s.facts, h)
	if len(s.facts) == cap(s.facts) {
		s.filled()
	}
}

func (s *scanner) word(w []byte) {
	h := s.keys[factWord].sip(w)
	s.fact(factWord, h)
	if s.inText {
		s.fact(factPair, s.keys[factPair].pair(s.prev, h))
	}
	s.prev, s.inText = h, true
}

func (s *scanner) emit(k kind, text string) {
	s.name = append(s.name[:0], text...)
	s.fact(k, s.keys[k].sip(s.name))
}

// dotted emits b[start:end] as a host if it can be one. The path that follows is
// looked at for many-tenant hosts only.
func (s *scanner) dotted(b []byte, start, end int) {
	if end-start > 4*maxHost {
		return
	}
	h := string(b[start:end])
	if endsInNumber(h) {
		if looksNumeric(h) {
			if a, ok := numericIPv4(h); ok {
				s.emit(factHost, a.String())
			}
		}
		return
	}
	s.host(h, b[end:])
	if !plainASCII(h) {
		s.latin(h)
	}
}

// latin emits the host names in plain ASCII that stand in h among other scripts, which
// write no space before and after them.
func (s *scanner) latin(h string) {
	for part := range strings.FieldsFuncSeq(h, func(r rune) bool { return r >= utf8.RuneSelf }) {
		if part = strings.Trim(part, ".-_"); strings.IndexByte(part, '.') >= 0 && !endsInNumber(part) {
			s.host(part, nil)
		}
	}
}

// host emits the keys of a host name that is followed by rest.
func (s *scanner) host(h string, rest []byte) {
	if h = taintName(h); !validName(h) {
		return
	}
	s.names(h, rest)
	if v4 := inner4(h); v4 != "" {
		s.emit(factHost, v4)
	}
	if top := strings.LastIndexByte(h, '.'); top > 0 && strings.IndexByte(h[:top], '.') > 0 && !knownTop(h) {
		s.names(h[:top], nil) // glued to the next sentence: x.example.They
	}
}

func (s *scanner) names(h string, rest []byte) {
	if s.query == nil {
		s.emit(factPlace, placeKey(h, pathBehind(rest)))
	}
	if !tenantHosts[h] {
		s.emit(hostKey(h, ""))
		return
	}
	s.emit(factHost, h)
	if seg := firstSegment(rest); seg != "" {
		s.emit(hostKey(h, seg))
	}
}

// firstSegment reads the first path segment of what follows a host, an optional port
// included; "" if there is none.
func firstSegment(rest []byte) string {
	i := 0
	if i < len(rest) && rest[i] == ':' {
		for i++; i < len(rest) && rest[i] >= '0' && rest[i] <= '9'; i++ {
		}
	}
	for i < len(rest) && (rest[i] == '/' || rest[i] == '\\') {
		i++
	}
	if i == 0 || rest[i-1] != '/' && rest[i-1] != '\\' {
		return ""
	}
	end := i
	for end < len(rest) && end-i < 256 && (alnum(rest[end]) || rest[end] >= utf8.RuneSelf || strings.IndexByte("-_.~%+@", rest[end]) >= 0) {
		end++
	}
	return segmentKey(string(rest[i:end]))
}

// segmentKey is the form in which a path segment is compared: decoded, folded, without
// the punctuation that prose puts after a link.
func segmentKey(seg string) string {
	if strings.IndexByte(seg, '%') >= 0 {
		if d, ok := percentDecode(nil, seg); ok {
			seg = Fold(string(d))
		}
	}
	return strings.TrimRight(seg, ".-_~%+@ ")
}

// colon looks at a colon for the authority of a URL and for IPv6 addresses.
func (s *scanner) colon(b []byte, i int) {
	if i+3 < len(b) && slash(b[i+1]) && slash(b[i+2]) {
		s.authority(b, i+3)
		return
	}
	if i < s.v6 {
		return
	}
	double := i+1 < len(b) && b[i+1] == ':'
	if !double && (i == 0 || !hexDigit(b[i-1]) || i+1 == len(b) || !hexDigit(b[i+1])) {
		return
	}
	start, end := i, i
	for start > 0 && i-start < 5 && hexDigit(b[start-1]) {
		start--
	}
	for end < len(b) && end-start < 46 && (hexDigit(b[end]) || b[end] == ':' || b[end] == '.') {
		end++
	}
	s.v6 = end
	tok := strings.TrimRight(string(b[start:end]), ".")
	if !strings.Contains(tok, "::") && strings.Count(tok, ":") < 6 {
		return
	}
	if a, err := netip.ParseAddr(tok); err == nil {
		s.ip(a.Unmap().String())
	}
}

func slash(c byte) bool { return c == '/' || c == '\\' }

// authority emits the host after "//". Plain dotted names are left to run.
func (s *scanner) authority(b []byte, i int) {
	end := i
	for end < len(b) && end-i < 1024 && authorityByte(b[end]) {
		end++
	}
	a := b[i:end]
	for j := len(a) - 1; j >= 0; j-- {
		if a[j] == '@' {
			a = a[j+1:]
			break
		}
	}
	if len(a) == 0 {
		return
	}
	h := string(a)
	if h[0] == '[' {
		if j := strings.IndexByte(h, ']'); j > 0 {
			h = h[:j+1]
		}
	} else if j := strings.IndexByte(h, ':'); j >= 0 {
		h = h[:j]
	}
	h = strings.TrimRight(h, ".")
	if validName(h) && strings.IndexByte(h, '.') >= 0 && !endsInNumber(h) {
		return
	}
	if strings.IndexByte(h, '%') >= 0 {
		d, _ := percentDecode(nil, h)
		h = Fold(string(d))
	}
	h, why := canonicalHost(h)
	switch {
	case why != "":
	case isIP(h):
		s.ip(h)
	default:
		s.host(h, b[end:])
	}
}

func authorityByte(c byte) bool {
	return alnum(c) || c >= utf8.RuneSelf || strings.IndexByte("-._~%!$&*+=:@[]", c) >= 0
}
