package flow

import "unicode/utf8"

// A reader looks for other readings of a text: what a person, a program or a model sees
// in it once a disguise is taken away. Text is passed over once, byte by byte, for what
// gives a disguise away; only the words round that are then read again.
type reader struct {
	use    func(string)
	depth  int
	budget [maxLayers]int // bytes of readings that each layer may still make
	open   [disguises]region
	opened bool   // one of them was set
	turned int    // what stands before it was read from right to left
	runs   []byte // scratch for runs of several lines
}

// maxLayers is how many disguises may lie over each other: base64 in quoted-printable
// in percent-encoding.
const maxLayers = 3

// firstPerByte and morePerByte bound what is made of a text, in bytes for each byte. No
// text needs more for the first layer: regions of one kind overlap by half at most. What
// lies under two or three disguises in text that is made of signs may be left out; it is
// then Unknown.
const (
	firstPerByte = 64
	morePerByte  = 8
)

// disguise is a kind of reading, made by one function from the words round its signs.
type disguise uint8

const (
	escaped  disguise = iota // JSON, HTML, percent, tags
	softened                 // quoted-printable, UTF-7, encoded words, strings put together
	spelled                  // name at host dot tld
	alike                    // letters that look like others, and text from right to left
	wrapped                  // an address that goes on in the next line
	disguises
)

// region is a stretch of text round signs that stand close together.
type region struct {
	start int
	last  int // end of the last sign
	set   bool
}

const (
	nearSign  = 48  // bytes within which a sign joins the one before
	roundSign = 320 // bytes that are read before and after a sign at most
)

// unfolded calls use with other readings of s. Most text has none, and is only passed
// over.
func unfolded(s string, use func(string)) {
	if len(s) < 3 {
		return
	}
	r := reader{use: use}
	for i := range r.budget {
		r.budget[i] = morePerByte*len(s) + 1024
	}
	r.budget[0] = firstPerByte*len(s) + 1024
	r.read(s)
}

// reading takes one reading and looks for further disguises in it.
func (r *reader) reading(s string) {
	if s == "" || len(s) > r.budget[r.depth] {
		return
	}
	r.budget[r.depth] -= len(s)
	r.use(s)
	if r.depth+1 < maxLayers {
		inner := reader{use: r.use, depth: r.depth + 1, budget: r.budget}
		inner.read(s)
		r.budget = inner.budget
	}
}

// Classes of bytes. A byte of a run has the bit runByte, and may have others.
const (
	sgnNone = iota
	sgnEscape
	sgnTag
	sgnEqual
	sgnQuote
	sgnOpen
	sgnAt
	sgnWide
	sgnLine
	runByte   = 0x80 // base64 in any of its alphabets, hexadecimal, words
	plusByte  = 0x40
	flankByte = 0x20
)

var signs = func() (t [256]uint8) {
	for i := range t {
		switch c := byte(i); {
		case alnum(c), c == '/':
			t[i] = runByte
		case c == '+':
			t[i] = runByte | plusByte
		case c == '-', c == '_':
			t[i] = runByte | flankByte
		case c == '%', c == '&', c == '\\':
			t[i] = sgnEscape
		case c == '<':
			t[i] = sgnTag
		case c == '=':
			t[i] = sgnEqual
		case c == '"', c == '\'', c == '`':
			t[i] = sgnQuote
		case c == '[', c == '(', c == '{', c == '*', c == '|':
			t[i] = sgnOpen
		case c == '@':
			t[i] = sgnAt
		case c >= utf8.RuneSelf:
			t[i] = sgnWide
		case c == '\n', c == '\r':
			t[i] = sgnLine
		}
	}
	return t
}()

// run looks at the run that begins at s[i]. It returns where to go on.
func (r *reader) run(s string, i int) int {
	all := signs[s[i]]
	j := i + 1
	for j < len(s) {
		k := signs[s[j]]
		if k&runByte == 0 {
			break
		}
		all |= k
		j++
	}
	if n := j - i; n >= minRun {
		j = r.longRun(s, i, j)
	} else if spellers[n]>>(s[i]&0x1F)&1 != 0 {
		j = r.shortRun(s, i, j)
	}
	if all != runByte && j-i < window {
		r.joined(s, i, j, all)
	}
	return j
}

// spellers has, for each length of a run, a bit for each letter that one of that length
// begins with if it may stand for a separator, or for anything.
var spellers = [minRun]uint32{
	1: 1<<32 - 1, 2: 1 << ('a' & 0x1F), 3: 1 << ('d' & 0x1F), 4: 1 << ('h' & 0x1F),
	5: 1<<('h'&0x1F) | 1<<('p'&0x1F), 6: 1 << ('a' & 0x1F),
}

// shortRun looks at a word that may stand for a separator, or is one letter of a word
// that was spaced out. It returns where to go on.
func (r *reader) shortRun(s string, i, j int) int {
	if j-i == 1 {
		return r.letters(s, i)
	}
	if spelledSign(s, i, j) {
		r.sign(spelled, s, i, j)
	}
	return j
}

// joined looks at a run with "+", "-" or "_" in it.
func (r *reader) joined(s string, i, j int, all uint8) {
	if all&plusByte != 0 {
		for k := i; k < j; k++ {
			if s[k] == '+' && utf7Sign(s[k:]) {
				r.sign(softened, s, k, k+1)
			}
		}
	}
	if all&flankByte != 0 && flanked(s[i:j]) {
		r.sign(spelled, s, i, j)
	}
}

// other looks at an ASCII byte that is no part of a run. It returns where to go on.
func (r *reader) other(k uint8, s string, i int) int {
	switch k {
	case sgnEscape:
		if escapeSign(s[i:]) {
			r.sign(escaped, s, i, i+1)
			if s[i] == '\\' && (s[i+1] == '\n' || s[i+1] == '\r') {
				r.sign(softened, s, i, i+2)
			}
		}
	case sgnTag:
		if i > 0 && inToken(s[i-1]) {
			if end := tagsEnd(s, i); end > i && end < len(s) && inToken(s[end]) {
				r.sign(escaped, s, i, end)
				return end
			}
		}
	case sgnEqual:
		if equalSign(s, i) {
			r.sign(softened, s, i, i+1)
		}
	case sgnQuote:
		if end := joint(s, i); end > i {
			r.sign(softened, s, i, end)
		}
	case sgnOpen:
		if openSign(s, i) {
			r.sign(spelled, s, i, i+1)
		}
	case sgnAt:
		if atSign(s, i) {
			r.sign(spelled, s, i, i+1)
		}
	case sgnLine:
		if end := wrapEnd(s, i); end > i {
			r.sign(wrapped, s, i, end)
		}
	}
	return i + 1
}

// escapeSign reports that an escape may start s: of JSON and the like, HTML, or
// percent-encoding.
func escapeSign(s string) bool {
	if len(s) < 2 {
		return false
	}
	switch s[0] {
	case '\\':
		return true
	case '%':
		return len(s) > 2 && hexDigit(s[2]) && (hexDigit(s[1]) || s[1]|0x20 == 'u')
	}
	if s[1] == '#' {
		return true
	}
	for i := 1; i < len(s) && i < 34; i++ {
		if !alnum(s[i]) {
			return i > 1 && s[i] == ';'
		}
	}
	return false
}

// sign notes that s[i:end] gives a disguise away.
func (r *reader) sign(d disguise, s string, i, end int) {
	g := &r.open[d]
	if g.set && (i <= g.last+nearSign || i < wordsAfter(s, g.last, roundWords[d])) {
		g.last = max(g.last, end)
		return
	}
	r.close(d, s)
	r.opened = true
	*g = region{wordsBefore(s, i, roundWords[d]), end, true}
}

// close reads the region that is open.
func (r *reader) close(d disguise, s string) {
	g := r.open[d]
	if !g.set {
		return
	}
	r.open[d] = region{}
	part := s[g.start:wordsAfter(s, g.last, roundWords[d])]
	switch d {
	case escaped:
		if u, ok := unfoldLine(part); ok {
			r.reading(u)
		}
	case softened:
		r.soft(part)
	case spelled:
		if u, ok := spellOut(part); ok {
			r.reading(u)
		}
	case alike:
		if u, ok := latinised(part); ok {
			r.reading(u)
		}
	case wrapped:
		if u, ok := unwrapped(part); ok {
			r.reading(u)
		}
	}
}

// roundWords is how many words before and after the one with a sign are read with it.
var roundWords = [disguises]int{spelled: 7, escaped: 1, softened: 1, alike: 1, wrapped: 1}

// wordsBefore returns where the words begin that are read with a sign at s[i]: the one
// that it stands in, and n more.
func wordsBefore(s string, i, n int) int {
	low := max(0, i-roundSign)
	for words := 0; i > low; i-- {
		if asciiSpace[s[i-1]] && (i == len(s) || !asciiSpace[s[i]]) {
			if words++; words > n {
				break
			}
		}
	}
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// wordsAfter returns where the words end that are read with a sign that ends at s[i].
func wordsAfter(s string, i, n int) int {
	high := min(len(s), i+roundSign)
	for words := 0; i < high; i++ {
		if asciiSpace[s[i]] && !asciiSpace[s[i-1]] {
			if words++; words > n {
				break
			}
		}
	}
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return i
}
