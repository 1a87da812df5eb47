package flow

import (
	"encoding/binary"
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// wordEnd returns where the letters and digits from i on end. ahead must go on for
// scanAhead bytes behind the text, with zeros. It reads eight bytes at a time, and stops
// at capitals, which folded text does not have.
func wordEnd(ahead []byte, i int) int {
	for {
		if other := noLetters(binary.LittleEndian.Uint64(ahead[i:])); other != 0 {
			return i + bits.TrailingZeros64(other)/8
		}
		i += 8
	}
}

// noLetters has the top bit of each of eight bytes that is no small letter and no digit.
func noLetters(w uint64) uint64 {
	const rep, high = 0x0101010101010101, 0x8080808080808080
	low := w &^ high
	letter := (low + (128-'a')*rep) &^ (low + (127-'z')*rep)
	digit := (low + (128-'0')*rep) &^ (low + (127-'9')*rep)
	return ^(letter|digit)&high | w&high
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
	if i < len(b) && b[i] < utf8.RuneSelf {
		ahead := b[:len(b)+scanAhead]
		if i = wordEnd(ahead, i); class[ahead[i]] < clsWord {
			if i > start {
				s.plainWord(ahead, start, i)
			}
			return i
		}
	}
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
	s.recent, s.recentPairs, s.hosts = new(recent), new(recentPairs), new([4 << 10]uint64)
	s.seen = newSeenNames()
}

// forget makes s forget facts that it took and that were not recorded.
func (s *scanner) forget(facts map[uint64]struct{}) {
	for h := range facts {
		if slot := &s.recent[h%uint64(len(s.recent))]; *slot == h {
			*slot = 0
		}
		if slot, tag := s.recentPairs.slot(h); *slot == tag {
			*slot = 0
		}
	}
	clear(s.hosts[:]) // of whole hosts, which are told from their facts no more
}

// plainWord takes the letters and digits ahead[start:end], behind which there must be
// scanAhead bytes.
func (s *scanner) plainWord(ahead []byte, start, end int) {
	if end-start < 8 {
		w := binary.LittleEndian.Uint64(ahead[start:]) & (1<<(8*uint(end-start)) - 1)
		s.wordHash(s.keys[factWord].short(w, end-start))
	} else {
		s.wordHash(s.keys[factWord].sip(ahead[start:end]))
	}
}

func (s *scanner) word(w []byte) { s.wordHash(s.keys[factWord].sip(w)) }

// wordHash takes a word, the pair that it makes with the word before it, and the run.
func (s *scanner) wordHash(h uint64) {
	if s.take == nil && !s.pairFacts {
		s.ahead.words[runWords+s.ahead.n%aheadWords] = h
		if s.ahead.n++; s.ahead.n == aheadWords {
			s.takeWords()
		}
		return
	}
	s.count++
	s.fact(factWord, h)
	if s.count > 1 {
		p := s.keys[factPair].pair(s.prev, h)
		s.chain[s.count%4] = p
		s.fact(factPair, p)
	}
	s.prev = h
	if s.takeRun != nil {
		s.past[s.count%8] = h
		if s.count >= runWords {
			s.entry(h)
		}
	}
}

// entry takes the entry of the four words before the word h, with h and the word before
// them, and the run that they and h make.
func (s *scanner) entry(h uint64) {
	k := &s.keys[factRun]
	four := k.pair(s.chain[(s.count-3)%4], s.chain[(s.count-1)%4])
	before := tag(s.past[(s.count-runWords)%8]) // of the first entry nobody asks for it
	s.takeRun(runEntry(four, before, tag(h)), k.pair(four, h))
}

// lastEntry takes the entry of the last four words of a text.
func (s *scanner) lastEntry() {
	if s.count >= runWords {
		four := s.keys[factRun].pair(s.chain[(s.count-2)%4], s.chain[s.count%4])
		s.takeRun(runEntry(four, tag(s.past[(s.count-4)%8]), 0), 0)
	}
}

func (s *scanner) emit(k kind, text string) {
	s.name = append(s.name[:0], text...)
	s.fact(k, s.keys[k].sip(s.name))
}
