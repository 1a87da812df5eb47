package flow

import "encoding/binary"

// Text is known to be copied by runs of five words. Of each two runs that begin at words
// next to each other only what they have in common is recorded, the four words from every
// second word of a text on, with a tag of the word before and one of the word behind.
// Wherever a run of five words begins, four of them are recorded with the fifth, and of a
// text that is looked up, four words are looked for from every word on.
//
// An entry has, from the top, the first 35 bits of the hash of the four words, twelve of the
// word before, twelve of the word behind, and five bits that are nothing. A tag is 0 where
// there is no word. Another word is taken for the fifth with a probability of one in four
// thousand, if the other four stand there.

const (
	runWords  = 5
	tagBits   = 12
	tagMask   = 1<<tagBits - 1
	entryRest = 5
	keyShift  = 2*tagBits + entryRest

	// maxContexts is how many neighbours of the same four words a leaf keeps. Those that
	// come again and again between others (a form, a signature) would fill it; any word
	// then counts as their fifth.
	maxContexts = 8
)

// tag is what an entry has of a word.
func tag(word uint64) uint64 { return max(word>>(64-tagBits), 1) }

// runEntry is an entry; a tag of 0 says that there is no word.
func runEntry(four, before, behind uint64) uint64 {
	return four>>keyShift<<keyShift | before<<(tagBits+entryRest) | behind<<entryRest
}

// newRunSet returns a set of entries.
func newRunSet() hashSet {
	s := newHashSet(runWidth)
	s.contexts = true
	return s
}

// sameFour reports that two slots of entries have the same four words.
func sameFour(a, b uint64) bool { return (a^b)>>(2*tagBits) == 0 }

// anyContext is a slot of an entry whose fifth word may be any.
func anyContext(slot uint64) uint64 { return slot >> (2 * tagBits) << (2 * tagBits) }

// fifth reports whether the four words of an entry were recorded with its word before, and
// with its word behind.
func (s *hashSet) fifth(entry uint64) (before, behind bool) {
	b, n := s.find(entry)
	v := s.value(entry)
	for i := 0; i < n; i += runWidth {
		x := binary.LittleEndian.Uint64(b[i:]) & s.mask
		if !sameFour(x, v) {
			continue
		}
		any := x == anyContext(x)
		before = before || v>>tagBits&tagMask != 0 && (any || (x^v)>>tagBits&tagMask == 0)
		behind = behind || v&tagMask != 0 && (any || (x^v)&tagMask == 0)
	}
	return before, behind
}
