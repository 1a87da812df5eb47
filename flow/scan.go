package flow

import (
	"encoding/binary"
	"math/bits"
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
	keys *[factKinds]sipKey
	take func(kind, uint64) // takes the facts of a lookup; nil when observing

	batch       // facts of an output
	recentPairs *[32 << 10]uint64
	recent      *recent // facts emitted lately; nil for a lookup
	filled      func()  // empties the batch when it is full
	copies      bool    // runs are wanted
	pairFacts   bool    // see there

	hosts *[4 << 10]uint64 // names looked at lately; nil for a lookup

	buf   []byte    // folded text, and scanAhead zero bytes
	name  []byte    // scratch for one key
	count uint64    // how many the text had so far
	prev  uint64    // hash of the word before
	chain [4]uint64 // of the pairs that ended at the last words, by the number of the word
	v6    int       // no IPv6 address is tried before this offset
}

// recent remembers facts by their low bits, so that common ones are not merged again
// and again.
type recent [8 << 10]uint64

// runWords is how long a run of words is.
const runWords = 5

// scanAhead is how far text is read at a time.
const scanAhead = 8

const (
	window  = 64 << 10 // bytes folded and scanned at a time
	overlap = 17 << 10 // more than MaxDestination: what a cut inside a token repeats
)

// class of a byte in folded text.
const (
	clsSep = iota
	clsAt
	clsColon
	clsJoin // may join words to a host name
	clsWord
	clsWide // first byte of a longer character
)

var class = func() (t [256]uint8) {
	for i := range t {
		switch c := byte(i); {
		case c >= utf8.RuneSelf:
			t[i] = clsWide
		case alnum(c):
			t[i] = clsWord
		case c == '.', c == '-', c == '_':
			t[i] = clsJoin
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
	s.count = 0
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

// changed returns the part of to that reads otherwise than from, and what stands round
// it as far as a fact can reach: the rest of its token, and a run of tokens with words in
// them on each side.
// What is further away was scanned in from.
func changed(from, to string) string {
	most := min(len(from), len(to))
	start, end := 0, 0
	for start < most && from[start] == to[start] {
		start++
	}
	for end < most-start && from[len(from)-1-end] == to[len(to)-1-end] {
		end++
	}
	end = len(to) - end
	for tokens, word := 0, true; start > 0 && tokens <= runWords; start-- {
		c := to[start-1]
		if asciiSpace[c] && word {
			tokens++
		}
		word = class[c] >= clsWord || word && !asciiSpace[c]
	}
	for tokens, word := 0, true; end < len(to) && tokens <= runWords; end++ {
		c := to[end]
		if asciiSpace[c] && word {
			tokens++
		}
		word = class[c] >= clsWord || word && !asciiSpace[c]
	}
	return to[start:end]
}

func (s *scanner) folded(str string) {
	b := appendFold(s.buf[:0], str)
	n := len(b)
	s.buf = append(b, make([]byte, scanAhead)...)
	s.scan(s.buf[:n])
}

// scan walks folded text, behind which there must be scanAhead zero bytes.
func (s *scanner) scan(b []byte) {
	s.v6 = 0
	ahead := b[:len(b)+scanAhead]
	for i := 0; i < len(b); {
		switch class[b[i]] {
		case clsWord:
			end := wordEnd(ahead, i)
			next := class[ahead[end]]
			if next == clsJoin {
				next = class[ahead[end+1]]
			}
			if next >= clsJoin { // perhaps a host name, or a script without spaces
				i = s.run(b, i)
				continue
			}
			if end-i < 8 {
				w := binary.LittleEndian.Uint64(ahead[i:]) & (1<<(8*uint(end-i)) - 1)
				s.wordHash(s.keys[factWord].short(w, end-i))
			} else {
				s.wordHash(s.keys[factWord].sip(b[i:end]))
			}
			i = end
		case clsSep, clsJoin:
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

// wordEnd returns where the letters and digits from i on end. ahead must go on for
// scanAhead bytes behind the text, with zeros. It reads eight bytes at a time, and stops
// at capitals, which folded text does not have.
func wordEnd(ahead []byte, i int) int {
	const rep, high = 0x0101010101010101, 0x8080808080808080
	for {
		w := binary.LittleEndian.Uint64(ahead[i:])
		low := w &^ high
		letter := (low + (128-'a')*rep) &^ (low + (127-'z')*rep)
		digit := (low + (128-'0')*rep) &^ (low + (127-'9')*rep)
		if other := ^(letter|digit)&high | w&high; other != 0 {
			return i + bits.TrailingZeros64(other)/8
		}
		i += 8
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
		w := foldedRuneOf(r).width()
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
	if s.take != nil {
		s.take(k, h)
		return
	}
	slot := &s.recent[h%uint64(len(s.recent))]
	if *slot == h {
		return
	}
	*slot = h
	s.facts = append(s.facts, h)
	if len(s.facts) == cap(s.facts) {
		s.filled()
	}
}

// remember makes s remember nothing of what it took.
func (s *scanner) remember() {
	s.recent, s.recentPairs, s.hosts = new(recent), new([32 << 10]uint64), new([4 << 10]uint64)
}

func (s *scanner) word(w []byte) { s.wordHash(s.keys[factWord].sip(w)) }

// wordHash takes a word, the pair that it makes with the word before it, and the run.
func (s *scanner) wordHash(h uint64) {
	s.fact(factWord, h)
	s.count++
	if s.count > 1 {
		p := s.keys[factPair].pair(s.prev, h)
		s.chain[s.count%4] = p
		if s.take != nil || s.pairFacts {
			s.fact(factPair, p)
		} else if slot := &s.recentPairs[p%uint64(len(s.recentPairs))]; *slot != p {
			*slot = p
			s.pairs = append(s.pairs, p)
		}
		if s.copies && s.count >= runWords {
			s.run5(h)
		}
		if (len(s.pairs) == cap(s.pairs) || len(s.runs) == cap(s.runs)) && s.take == nil {
			s.filled()
		}
	}
	s.prev = h
}

// run5 takes the run that ends with the word h: two pairs and the word.
func (s *scanner) run5(h uint64) {
	k := &s.keys[factRun]
	run := k.pair(k.pair(s.chain[(s.count-3)%4], s.chain[(s.count-1)%4]), h)
	if s.take != nil || sampled(run) {
		s.fact(factRun, run)
		return
	}
	s.runs = append(s.runs, run)
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
	var known *uint64
	k := uint64(0)
	if n := behind(b[end:]); s.take == nil && n < maxPath {
		k = s.keys[factHost].sip(b[start : end+n])
		if known = &s.hosts[k%uint64(len(s.hosts))]; *known == k {
			return
		}
	}
	h := string(b[start:end])
	switch {
	case !endsInNumber(h):
		s.host(h, b[end:])
		if !plainASCII(h) {
			s.latin(h)
		}
	case looksNumeric(h):
		if a, ok := numericIPv4(h); ok {
			s.emit(factHost, a.String())
		}
	}
	if known != nil {
		*known = k
	}
}

// behind is the length of a port and path, or more, of what follows a host.
func behind(rest []byte) int {
	i := 0
	if len(rest) == 0 || rest[0] != ':' && !slash(rest[0]) {
		return 0
	}
	for i < len(rest) && i < maxPath && rest[i] > ' ' && strings.IndexByte("?#\"<>()[]{}|^`", rest[i]) < 0 {
		i++
	}
	return i
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
	if top := strings.LastIndexByte(h, '.'); top > 0 && strings.IndexByte(h[:top], '.') > 0 && !knownTop(h) {
		s.names(h[:top], nil) // glued to the next sentence: x.example.They
	}
}

func (s *scanner) names(h string, rest []byte) {
	if s.take == nil {
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
		s.emit(factHost, a.Unmap().String())
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
		s.emit(factHost, h)
	default:
		s.host(h, b[end:])
	}
}

func authorityByte(c byte) bool {
	return alnum(c) || c >= utf8.RuneSelf || strings.IndexByte("-._~%!$&*+=:@[]", c) >= 0
}
