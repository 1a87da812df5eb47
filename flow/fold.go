package flow

import (
	"bytes"
	"encoding/binary"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Folding looks at a stretch of non-ASCII characters at a time, with the ASCII
// character before it: nothing in ASCII composes backwards, and a mark composes with
// at most that one.

// maxMarks bounds combining marks in a row; more are dropped. The normaliser itself
// starts to insert joiners above thirty, which would not be stable.
const maxMarks = 16

// Fold is the hard folding used when looking for taint: case, white space (runs
// become one space, none at the ends), full-width and other compatibility forms
// (NFKC), characters that show nothing (zero-width, bidirectional controls, soft
// hyphen, other default-ignorable ones), tag characters (to the ASCII they mirror)
// and ideographic full stops (to "."). It is idempotent. Never use it for trust.
func Fold(s string) string {
	return string(collapse(appendFold(make([]byte, 0, len(s)+len(s)/8), s)))
}

// appendFold appends the folded form of s, white space other than its kind kept as
// it is (one space for each).
func appendFold(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			n := len(dst)
			dst = appendLower(dst, s[i:])
			i += len(dst) - n
			continue
		}
		end := i + 1
		for end < len(s) && s[end] >= utf8.RuneSelf {
			end++
		}
		dst = foldStretch(dst, s[i:end])
		i = end
	}
	return dst
}

// appendLower appends the ASCII at the start of s in lower case, eight bytes at a time.
func appendLower(dst []byte, s string) []byte {
	const high, rep = 0x8080808080808080, 0x0101010101010101
	for len(s) >= 8 {
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if w&high != 0 {
			break
		}
		upper := ((w + (128-'A')*rep) ^ (w + (127-'Z')*rep)) & high
		dst = binary.LittleEndian.AppendUint64(dst, w|upper>>2)
		s = s[8:]
	}
	for i := 0; i < len(s) && s[i] < utf8.RuneSelf; i++ {
		dst = append(dst, lower[s[i]])
	}
	return dst
}

// foldStretch folds a stretch without ASCII onto dst.
func foldStretch(dst []byte, s string) []byte {
	out := dst
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		f := foldedRuneOf(r)
		if !f.known() || r == utf8.RuneError {
			return foldSlowly(dst, s)
		}
		out = f.appendTo(out)
		i += n
	}
	return out
}

// foldSlowly is foldStretch for characters that may join their neighbours.
func foldSlowly(dst []byte, s string) []byte {
	start := len(dst)
	if start > 0 && dst[start-1] < utf8.RuneSelf {
		start--
	}
	dst = append(dst, s...)
	if foldedAlready(dst[start:]) {
		return dst
	}
	seg := bytes.Clone(dst[start:])
	for range 6 {
		next := foldOnce(seg)
		same := bytes.Equal(next, seg)
		if seg = next; same || foldedAlready(seg) {
			break
		}
	}
	return append(dst[:start], seg...)
}

// foldOnce is one round; rounds are repeated until nothing changes, because
// decomposition can bring out characters that fold further.
func foldOnce(seg []byte) []byte {
	kept := make([]byte, 0, len(seg))
	marks := 0
	for len(seg) > 0 {
		r, n := utf8.DecodeRune(seg)
		seg = seg[n:]
		if r, ok := plain(r); ok {
			if unicode.Is(unicode.M, r) {
				if marks++; marks > maxMarks {
					continue
				}
			} else {
				marks = 0
			}
			kept = utf8.AppendRune(kept, r)
		}
	}
	folded := cases.Fold().Bytes(norm.NFKC.Bytes(kept))
	return norm.NFKC.Bytes(folded)
}

// plain maps a rune to the one that counts; ok is false if it shows nothing.
func plain(r rune) (_ rune, ok bool) {
	switch {
	case r < utf8.RuneSelf:
		return rune(lower[r]), true
	case stable(r):
		return r, true
	case r >= 0xE0020 && r <= 0xE007E: // tags mirror ASCII
		return rune(lower[r-0xE0000]), true
	case invisible(r):
		return 0, false
	case r == 0x3002 || r == 0xFF61: // ideographic full stops separate labels
		return '.', true
	case unicode.IsSpace(r):
		return ' ', true
	case unicode.IsControl(r):
		return ' ', true
	}
	return r, true
}

// foldedAlready is the quick check for text that folding leaves alone: lower-case
// letters of the common scripts, and their punctuation.
func foldedAlready(seg []byte) bool {
	for i := 0; i < len(seg); {
		if seg[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(seg[i:])
		if !stable(r) {
			return false
		}
		i += n
	}
	return true
}

// stable lists ranges whose characters are in NFKC, fold to themselves, and do not
// compose with what stands before them.
func stable(r rune) bool {
	switch {
	case r >= 0xE0 && r <= 0xFF, // Latin-1 lower case
		r >= 0x3B1 && r <= 0x3C9 && r != 0x3C2, // Greek
		r >= 0x430 && r <= 0x45F,               // Cyrillic
		r >= 0x5D0 && r <= 0x5EA,               // Hebrew
		r >= 0x621 && r <= 0x64A,               // Arabic
		r >= 0x3001 && r <= 0x3001,
		r >= 0x3041 && r <= 0x3096, // Hiragana
		r >= 0x30A1 && r <= 0x30FA, // Katakana
		r >= 0x4E00 && r <= 0x9FA5, // Han
		r >= 0xAC00 && r <= 0xD7A3: // Hangul
		return r != 0xDF
	case r >= 0x2012 && r <= 0x2016, r >= 0x2018 && r <= 0x2022:
		return true
	}
	return false
}

// invisible reports characters that a reader does not see: those that Unicode calls
// default-ignorable, the bidirectional controls, and other format characters.
func invisible(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return false
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), unicode.Is(unicode.Variation_Selector, r):
		return true
	}
	return r >= 0xE0000 && r <= 0xE0FFF
}

// collapse turns runs of white space into one space, in place, and trims both ends.
func collapse(b []byte) []byte {
	out := b[:0]
	space := false
	for _, c := range b {
		if asciiSpace[c] {
			space = len(out) > 0
			continue
		}
		if space {
			out = append(out, ' ')
			space = false
		}
		out = append(out, c)
	}
	return out
}

// lower maps ASCII upper case to lower case and leaves other bytes alone.
var lower = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if i >= 'A' && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

var asciiSpace = [256]bool{' ': true, '\t': true, '\n': true, '\v': true, '\f': true, '\r': true}
