package flow

import "unicode/utf8"

// letterKind is what a character beyond ASCII is to a word that it stands in.
type letterKind uint8

const (
	lettersLatin letterKind = 1 << iota // looks like a Latin letter
	lettersOwn                          // looks like itself only
	lettersOdd                          // folding says
	lettersNone  letterKind = 0         // the word ends before it
)

// nearKinds holds the kinds of the characters of two bytes.
var nearKinds [0x800]letterKind

func kindOfLetter(c rune) letterKind {
	if c < rune(len(nearKinds)) {
		return nearKinds[c]
	}
	return newLetterKind(c)
}

func newLetterKind(c rune) letterKind {
	switch {
	case c >= 0x2000 && c < 0x2070, stop(c) != 0:
		return lettersNone
	case latin(c) != 0:
		return lettersLatin
	case stable(c), c >= 0xC0 && c < 0x250 && !compound(c):
		return lettersOwn
	}
	return lettersOdd
}

// wide looks at a word with the character beyond ASCII at s[i] in it. It returns where
// to go on.
func (r *reader) wide(s string, i int) int {
	if end := skipHan(s, i); end > i {
		return end
	}
	c, n := wideRune(s, i)
	all := kindOfLetter(c)
	switch {
	case all != lettersNone && (c < 0x2E80 || c >= 0xA000 && c < 0xAC00 || c > 0xD7A3):
	case c == 0x202E:
		if i >= r.turned {
			r.turned = i + n + r.rightToLeft(s[i+n:])
		}
		return i + n
	default:
		if stop(c) != 0 && betweenWords(s, i, n) {
			r.sign(alike, s, i, i+n)
		}
		return i + n
	}
	start := i
	for start > 0 && i-start < maxLabel && alnum(s[start-1]) {
		start--
	}
	for i += n; i < len(s); i += n {
		if s[i] < utf8.RuneSelf {
			if n = 1; !alnum(s[i]) {
				break
			}
			continue
		}
		c, n = wideRune(s, i)
		kind := kindOfLetter(c)
		if kind == lettersNone {
			break
		}
		all |= kind
	}
	if all == lettersLatin || all&lettersOdd != 0 && plainWordDiffers(s[start:i]) {
		r.sign(alike, s, start, i)
	}
	return i
}

// skipHan skips Han characters from s[i] on.
func skipHan(s string, i int) int {
	for i+3 <= len(s) && s[i] >= 0xE4 && s[i] <= 0xE9 && s[i+1]&0xC0 == 0x80 && s[i+2]&0xC0 == 0x80 {
		i += 3
	}
	return i
}

// wideRune decodes the character at s[i].
func wideRune(s string, i int) (c rune, n int) {
	if c, n = decodeShort(s, i); n == 0 {
		c, n = utf8.DecodeRuneInString(s[i:])
	}
	return c, n
}

// decodeShort decodes the character at s[i] if it is one of two bytes, or one of three that
// is no surrogate and not below U+1000; n is 0 if it is another.
func decodeShort(s string, i int) (c rune, n int) {
	switch lead := s[i]; {
	case i+1 >= len(s) || s[i+1]&0xC0 != 0x80:
	case lead >= 0xC2 && lead < 0xE0:
		return rune(lead&0x1F)<<6 | rune(s[i+1]&0x3F), 2
	case lead > 0xE0 && lead < 0xF0 && lead != 0xED && i+2 < len(s) && s[i+2]&0xC0 == 0x80:
		return rune(lead&0x0F)<<12 | rune(s[i+1]&0x3F)<<6 | rune(s[i+2]&0x3F), 3
	}
	return 0, 0
}

// compound reports letters of extended Latin that folding takes apart.
func compound(c rune) bool {
	return c == 0x130 || c == 0x132 || c == 0x133 || c == 0x13F || c == 0x140 || c == 0x149 || c == 0x17F || c >= 0x1C4 && c <= 0x1CC || c >= 0x1F1 && c <= 0x1F3
}

// plainWordDiffers reports that look-alikes can be taken out of the word s, of letters,
// digits and characters beyond ASCII.
func plainWordDiffers(s string) bool {
	if keepsLetters(s) {
		return false
	}
	f := Fold(s)
	return plainWord(f) != f
}

// keepsLetters reports that plainWord changes nothing in the folded s, as far as that can
// be told from its characters one by one: each stretch of letters has one that looks like
// no Latin letter, or is plain ASCII.
func keepsLetters(s string) bool {
	alikes, keeps := false, false
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		c, n := decodeShort(s, i)
		if n == 0 {
			return false
		}
		i += n
		f := foldedRuneOf(c)
		if !f.known() {
			return false
		}
		switch lead := byte(f >> 8); {
		case f&7 == 1:
			c = rune(lead)
		case f&7 == 2 && lead >= 0xC0:
			c = rune(lead&0x1F)<<6 | rune(f>>16&0x3F)
		case f&7 == 3 && lead >= 0xE0:
			c = rune(lead&0x0F)<<12 | rune(f>>16&0x3F)<<6 | rune(f>>24&0x3F)
		default:
			return false
		}
		switch {
		case c == ' ', anyStop(c) != 0:
			return false
		case c >= utf8.RuneSelf:
			if latin(c) == 0 && (stable(c) || c >= 0xC0 && c < 0x250) {
				keeps = true
			} else {
				alikes = true
			}
		case !alnum(byte(c)):
			if alikes && !keeps {
				return false
			}
			alikes, keeps = false, false
		}
	}
	return keeps || !alikes
}
