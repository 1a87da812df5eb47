package flow

import (
	"encoding/binary"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Most characters fold to the same text whatever stands beside them. What that is, and
// how the character counts among words, is worked out once for a block of 64 of them,
// when the first one is met.
type (
	foldBlock [64]foldedRune

	// foldedRune holds, from the lowest bit: the length of the text (3 bits), whether it
	// is known (1), the width (2), and from bit 8 on the text.
	foldedRune uint64
)

const (
	foldBlocksTo = 0x20000 // characters from here on are folded one by one
	foldedMost   = 6       // bytes of the text
)

var foldBlocks [foldBlocksTo / 64]atomic.Pointer[foldBlock]

func foldedRuneOf(r rune) foldedRune {
	if r < 0 || r >= foldBlocksTo {
		return foldedRune(widthOf(r) << 4)
	}
	b := foldBlocks[r/64].Load()
	if b == nil {
		b = new(foldBlock)
		for i := range b {
			b[i] = newFoldedRune(r&^63 + rune(i))
		}
		foldBlocks[r/64].Store(b)
	}
	return b[r%64]
}

func newFoldedRune(r rune) foldedRune {
	f := foldedRune(widthOf(r) << 4)
	if !utf8.ValidRune(r) {
		return f
	}
	text := foldSlowly(nil, string(r))
	if len(text) > foldedMost {
		return f
	}
	for _, c := range string(text) {
		if !norm.NFKC.PropertiesString(string(c)).BoundaryBefore() {
			return f // it may join what stands before it
		}
	}
	f |= foldedRune(len(text)) | 1<<3
	for i, c := range text {
		f |= foldedRune(c) << (8 + 8*i)
	}
	return f
}

// known says that the character folds to the text wherever it stands.
func (f foldedRune) known() bool { return f&(1<<3) != 0 }

func (f foldedRune) width() int { return int(f >> 4 & 3) }

// appendTo appends the text.
func (f foldedRune) appendTo(dst []byte) []byte {
	n := len(dst) + int(f&7)
	return binary.LittleEndian.AppendUint64(dst, uint64(f>>8))[:n]
}
