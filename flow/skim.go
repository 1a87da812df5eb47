package flow

import (
	"math/bits"
	"strings"
)

// Most bytes of a text give no disguise away, and most words have no part in one. A text
// is therefore skimmed first, 64 bytes at a time: for each kind of byte, a word gets a bit
// for each byte of that kind, and a few operations on these words find where to look.
const skimBlock = 64

// skimmed has, for each kind, a bit for each byte of a block, the first byte's lowest.
type skimmed struct {
	run    uint64 // see runByte
	token  uint64 // see inToken
	kind   [3]uint64
	value  uint64 // may stand behind a "=" that is a sign
	spaced uint64 // may stand behind a bracket that is a sign
	broken uint64 // may stand before a line break that is a sign
}

// The bits of kind make a number for each byte: of those of runs, and of the others.
const (
	kndFirst = 1 // a letter that a word of spelledSign begins with
	kndVowel = 2 // one that comes second in "dot" and "punto"
	kndOther = 3 // one that comes second in the others, third, or before the last in "punkt"
	kndJoint = 4 // "+", "-" and "_"

	kndSign   = 1 // looked at wherever it stands
	kndBehind = 2 // looked at behind a byte of a token
	kndEqual  = 3 // looked at before a value
	kndOpen   = 4 // looked at before what is spaced
	kndLine   = 5 // looked at behind what is broken
)

// kinds has, for each byte, a byte for each word of skimmed, which is 1 or 0.
var kinds = func() (t [256]uint64) {
	for i := range t {
		c := byte(i)
		k, kind := signs[c], 0
		switch {
		case k == sgnNone:
		case strings.IndexByte("adhpADHP", c) >= 0:
			kind = kndFirst
		case strings.IndexByte("ouOU", c) >= 0:
			kind = kndVowel
		case strings.IndexByte("kntrxKNTRX", c) >= 0:
			kind = kndOther
		case k&(plusByte|flankByte) != 0:
			kind = kndJoint
		case k&runByte != 0:
		case k == sgnTag, k == sgnQuote:
			kind = kndBehind
		case k == sgnEqual:
			kind = kndEqual
		case k == sgnOpen && c != '*':
			kind = kndOpen
		case k == sgnLine:
			kind = kndLine
		default:
			kind = kndSign
		}
		for field, is := range [8]bool{
			k&runByte != 0,
			inToken(c),
			kind&1 != 0,
			kind&2 != 0,
			kind&4 != 0,
			hexDigit(c) || strings.IndexByte("?\r\n", c) >= 0,
			strings.IndexByte(" .@:/[({|", c) >= 0,
			inToken(c) || strings.IndexByte("/?&=%:\r", c) >= 0,
		} {
			if is {
				t[i] |= 1 << (8 * field)
			}
		}
	}
	return t
}()

// skim skims the block of s from i on; i may be the length of s.
func (b *skimmed) skim(s string, i int) {
	s = s[i:]
	if len(s) >= skimBlock {
		s = s[:skimBlock]
		b.turn(kindsOf(eight(s)), kindsOf(eight(s[8:])), kindsOf(eight(s[16:])), kindsOf(eight(s[24:])),
			kindsOf(eight(s[32:])), kindsOf(eight(s[40:])), kindsOf(eight(s[48:])), kindsOf(eight(s[56:])))
		return
	}
	var m0, m1, m2, m3, m4, m5, m6, m7 uint64
	if len(s) < 8 {
		for k := len(s) - 1; k >= 0; k-- {
			m0 = m0<<1 | kinds[s[k]]
		}
	} else {
		m0, m1, m2, m3 = kindsOf(eight(s)), kindsOf(eightOf(s, 8)), kindsOf(eightOf(s, 16)), kindsOf(eightOf(s, 24))
		if len(s) > 32 {
			m4, m5, m6, m7 = kindsOf(eightOf(s, 32)), kindsOf(eightOf(s, 40)), kindsOf(eightOf(s, 48)), kindsOf(eightOf(s, 56))
		}
	}
	b.turn(m0, m1, m2, m3, m4, m5, m6, m7)
}

// eight is the first eight bytes of s, the first one lowest.
func eight(s string) uint64 {
	s = s[:8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// eightOf is eight of s[i:], with zeros behind the end of s, which has eight bytes or more.
func eightOf(s string, i int) uint64 {
	from := min(i, len(s)-8)
	return eight(s[from:]) >> (8 * uint(i-from))
}

// kindsOf has, for eight bytes, a byte for each kind.
func kindsOf(w uint64) uint64 {
	return kinds[byte(w)] | kinds[byte(w>>8)]<<1 | kinds[byte(w>>16)]<<2 | kinds[byte(w>>24)]<<3 |
		kinds[byte(w>>32)]<<4 | kinds[byte(w>>40)]<<5 | kinds[byte(w>>48)]<<6 | kinds[byte(w>>56)]<<7
}

// turn turns eight words with a byte for each kind into a word of eight bytes for each
// kind: halves, quarters and eighths change places.
func (b *skimmed) turn(m0, m1, m2, m3, m4, m5, m6, m7 uint64) {
	const four, two, one = 1<<32 - 1, 0x0000FFFF0000FFFF, 0x00FF00FF00FF00FF
	m0, m4 = m0&four|m4<<32, m0>>32|m4&^four
	m1, m5 = m1&four|m5<<32, m1>>32|m5&^four
	m2, m6 = m2&four|m6<<32, m2>>32|m6&^four
	m3, m7 = m3&four|m7<<32, m3>>32|m7&^four
	m0, m2 = m0&two|m2&two<<16, m0>>16&two|m2&^two
	m1, m3 = m1&two|m3&two<<16, m1>>16&two|m3&^two
	m4, m6 = m4&two|m6&two<<16, m4>>16&two|m6&^two
	m5, m7 = m5&two|m7&two<<16, m5>>16&two|m7&^two
	b.run, b.token = m0&one|m1&one<<8, m0>>8&one|m1&^one
	b.kind[0], b.kind[1] = m2&one|m3&one<<8, m2>>8&one|m3&^one
	b.kind[2], b.value = m4&one|m5&one<<8, m4>>8&one|m5&^one
	b.spaced, b.broken = m6&one|m7&one<<8, m6>>8&one|m7&^one
}

// spots has a bit for each byte of b that is to be looked at: signs, runs that may say
// something, and what may be the first of "-at-". before is the byte before b, next the
// block after it.
func (b *skimmed) spots(before byte, next *skimmed) uint64 {
	prior := kinds[before]
	low, middle, high := b.kind[0], b.kind[1], b.kind[2]
	signs := low&^middle&^high |
		middle&^low&(b.token<<1|prior>>8&1) |
		middle&low&shiftIn(b.value, next.value, 1) |
		high&^low&shiftIn(b.spaced, next.spaced, 1) |
		high&low&(b.broken<<1|prior>>56&1)

	run, ran := b.run, next.run
	first, second := run&low&^middle, next.run&next.kind[0]&^next.kind[1]
	vowel, vowel2 := run&middle&^low, next.run&next.kind[1]&^next.kind[0]
	other, other2 := run&middle&low, next.run&next.kind[1]&next.kind[0]
	run1, run2, run3 := shiftIn(run, ran, 1), shiftIn(run, ran, 2), shiftIn(run, ran, 3)
	two, ran2 := run&run1, ran&(ran>>1)
	four, ran4 := two&shiftIn(two, ran2, 2), ran2&(ran2>>2)
	eight, ran8 := four&shiftIn(four, ran4, 4), ran4&(ran4>>4)
	long := eight & shiftIn(eight, ran8, 8)
	letter := ^(run1 | run3)
	other1, third := shiftIn(other, other2, 1), shiftIn(other, other2, 2)
	word := first &^ eight & (other1&(third|^run2) |
		shiftIn(vowel, vowel2, 1)&third&(shiftIn(other, other2, 3)|^run3))
	start := run &^ (run<<1 | prior&1)
	return signs&^run | start&(letter|word|long) | run&high&shiftIn(first, second, 1)
}

// shiftIn moves what stands n bytes ahead to each byte.
func shiftIn(b, next uint64, n int) uint64 { return b>>n | next<<(64-n) }

// read passes over s once.
func (r *reader) read(s string) {
	var blocks [2]skimmed
	b, next := &blocks[0], &blocks[1]
	b.skim(s, 0)
	pos := 0 // up to where s is read
	var before byte
	for from := 0; ; {
		behind := from + skimBlock
		if behind < len(s) {
			next.skim(s, behind)
		} else {
			*next = skimmed{}
		}
		for at := b.spots(before, next); at != 0; at &= at - 1 {
			if i := from + bits.TrailingZeros64(at); i >= pos {
				pos = r.look(s, i, pos)
			}
		}
		if max(behind, pos) >= len(s) {
			break
		}
		if from = behind; pos >= from+skimBlock {
			from = pos
			next.skim(s, from)
		}
		before = s[from-1]
		b, next = next, b
	}
	if r.opened {
		for d := range disguises {
			r.close(d, s)
		}
	}
}

// look looks at the byte s[i], and at the run that it belongs to, which begins at pos at
// the earliest. It returns where to go on, which is not within a run.
func (r *reader) look(s string, i, pos int) int {
	switch k := signs[s[i]]; {
	case k == sgnWide:
		i = r.wide(s, i)
	case k&runByte != 0:
		for k&(plusByte|flankByte) != 0 && i > pos && signs[s[i-1]]&runByte != 0 {
			i--
		}
		return r.run(s, i)
	default:
		i = r.other(k, s, i)
	}
	if i < len(s) && signs[s[i]]&runByte != 0 && signs[s[i-1]]&runByte != 0 {
		return r.run(s, i)
	}
	return i
}
