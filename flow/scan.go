package flow

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"net/netip"
	"strings"
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
	recentPairs *recentPairs
	recent      *recent // facts emitted lately; nil for a lookup
	filled      func()  // empties the batch when it is full
	copies      bool    // runs are wanted
	pairFacts   bool    // see there

	hosts *[4 << 10]uint64 // places, and numbers, of which all was emitted; nil for a lookup
	seen  *seenNames       // nil for a lookup

	buf     []byte                  // folded text, and scanAhead zero bytes
	name    []byte                  // scratch for one key
	urlHost int                     // where the host of a URL with user information starts in the text
	count   uint64                  // how many the text had so far
	prev    uint64                  // hash of the word before
	chain   [4]uint64               // of the pairs that ended at the last words, by the number of the word
	past    [8]uint64               // the last words of a lookup, by their number
	takeRun func(entry, run uint64) // takes the entries of a lookup, and the runs that begin with their words; nil: not wanted
	ahead   ahead
	v6      int // no IPv6 address is tried before this offset
}

// recent remembers facts by their low bits, so that common ones are not merged again
// and again.
type recent [16 << 10]uint64

// recentPairs is recent for pairs, of which a set keeps 43 bits: the first 15 are the number
// of a slot, the others stand in it, above a one.
type recentPairs [1 << pairSlotBits]uint32

const pairSlotBits = 16

func (r *recentPairs) slot(h uint64) (slot *uint32, tag uint32) {
	return &r[h>>(64-pairSlotBits)], uint32(h>>(64-11-pairBits-1)) | 1
}

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
	if s.ahead.n > 0 {
		s.takeWords()
	}
	switch {
	case s.takeRun != nil:
		s.lastEntry()
	case s.take == nil && s.copies:
		s.takeLast()
	}
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
	b := appendFold(s.buf[:0], str)
	n := len(b)
	s.buf = append(b, make([]byte, scanAhead)...)
	s.scan(s.buf[:n])
}

// scan walks folded text, behind which there must be scanAhead zero bytes.
func (s *scanner) scan(b []byte) {
	s.v6, s.urlHost = 0, 0
	ahead := b[:len(b)+scanAhead]
	key := s.keys[factWord]
	for i := 0; i < len(b); {
		switch class[b[i]] {
		case clsWord:
			w := binary.LittleEndian.Uint64(ahead[i:])
			other := noLetters(w)
			end := i + bits.TrailingZeros64(other)/8
			if other == 0 {
				end = wordEnd(ahead, i+8)
			}
			behind, next := end, class[ahead[end]]
			if next == clsJoin {
				behind++
				next = class[ahead[behind]]
			}
			if next >= clsJoin { // perhaps a host name, or a script without spaces
				i = s.run(b, i)
				continue
			}
			var h uint64
			if other != 0 {
				h = key.short(w&(other&-other>>7-1), end-i)
			} else {
				h = key.sip(b[i:end])
			}
			if s.take == nil && !s.pairFacts {
				s.ahead.words[runWords+s.ahead.n%aheadWords] = h
				if s.ahead.n++; s.ahead.n == aheadWords {
					s.takeWords()
				}
			} else {
				s.wordHash(h)
			}
			if i = end; next == clsSep {
				i = behind + 1
			}
		case clsSep, clsJoin:
			i++
		case clsAt:
			s.at(b, i)
			i = s.afterAt(b, i+1)
		case clsColon:
			i = s.colon(b, i)
		default:
			i = s.run(b, i)
		}
	}
}

// colon looks at a colon for the authority of a URL and for IPv6 addresses. It returns
// where to go on.
func (s *scanner) colon(b []byte, i int) int {
	if i+3 < len(b) && slash(b[i+1]) && slash(b[i+2]) {
		return max(i+1, s.authority(b, i+3))
	}
	s.inner6(b, i)
	return i + 1
}

func (s *scanner) inner6(b []byte, i int) {
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
	if t := b[start:end]; !bytes.Contains(t, []byte("::")) && bytes.Count(t, []byte(":")) < 6 {
		return
	}
	tok := strings.TrimRight(string(b[start:end]), ".")
	if a, err := netip.ParseAddr(tok); err == nil {
		s.ip(a.Unmap().String())
	}
}

func slash(c byte) bool { return c == '/' || c == '\\' }

// authority emits the host after "//". It returns where the host ends if it is a plain name
// without user information before it: its labels are words of nobody's. Else it returns 0.
func (s *scanner) authority(b []byte, i int) (next int) {
	if stop := bareAuthority(b, i); s.urlHost <= i {
		if registered, ok := s.unlisted(b, i, stop); ok {
			s.site(b, i, stop, registered)
			return stop
		}
		if h := b[i:stop]; validName(h) && bytes.IndexByte(h, '.') >= 0 && !inNumber(h) {
			s.dotted(b, i, stop)
			return stop
		}
	}
	end := i
	for end < len(b) && end-i < 1024 && authorityByte(b[end]) {
		end++
	}
	a := b[i:end]
	for j := len(a) - 1; j >= 0; j-- {
		if a[j] == '@' {
			a = a[j+1:]
			s.urlHost = i + j + 1
			break
		}
	}
	if len(a) == 0 {
		return 0
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
		stop := i + len(h)
		if s.urlHost > i || stop < len(b) && b[stop] >= utf8.RuneSelf {
			return 0 // run finds it
		}
		s.dotted(b, i, stop)
		return stop
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
	return 0
}

// bareAuthority returns where the name ends that is all of the authority at i, a port
// aside; i if it is more, or less.
func bareAuthority(b []byte, i int) int {
	end := i
	for end < len(b) && end-i <= maxHost && chars[b[end]]&chrName != 0 {
		end++
	}
	behind := end
	if end < len(b) && b[end] == ':' {
		for behind++; behind < len(b) && behind-end < 8 && digit(b[behind]); behind++ {
		}
	}
	if behind < len(b) && authorityByte(b[behind]) {
		return i
	}
	for end > i && b[end-1] == '.' {
		end--
	}
	return end
}

func authorityByte(c byte) bool {
	return chars[c]&chrAuthority != 0
}
