package flow

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// minRun is the length from which a run of the base64 alphabet is tried.
const minRun = 16

const (
	minQuads = 4  // base64 quads in a row that must read as ASCII: 12 bytes
	minPairs = 8  // hexadecimal pairs in a row that must read as ASCII
	wrapLine = 40 // characters of a line that goes on in the next
)

// longRun reads s[i:j], and the lines of the same kind that follow it, as base64 and as
// hexadecimal. It returns where the run ends.
func (r *reader) longRun(s string, i, j int) int {
	run := s[i:j]
	end := j
	if j-i >= wrapLine && j < len(s) {
		r.runs = append(r.runs[:0], run...)
		for n := len(r.runs); end-i >= wrapLine; n = len(r.runs) {
			next := lineBreak(s, end)
			from := next
			for next < len(s) && signs[s[next]]&runByte != 0 {
				next++
			}
			if next == from {
				break
			}
			r.runs = append(r.runs, s[from:next]...)
			end = next
			if len(r.runs)-n < wrapLine {
				break
			}
		}
		if end > j {
			run = string(r.runs)
		}
	}
	r.base64(run)
	r.hex(run)
	return end
}

// lineBreak skips one line break and what mail programs put before quoted lines.
func lineBreak(s string, i int) int {
	from := i
	if i < len(s) && s[i] == '\r' {
		i++
	}
	if i < len(s) && s[i] == '\n' {
		i++
	} else if i == from {
		return len(s)
	}
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '>' || s[i] == '#') {
		i++
	}
	return i
}

// sextet holds the value of each base64 character, of both alphabets.
var sextet = func() (t [256]uint8) {
	for i := range t {
		switch c := byte(i); {
		case c >= 'A' && c <= 'Z':
			t[i] = c - 'A'
		case c >= 'a' && c <= 'z':
			t[i] = c - 'a' + 26
		case c >= '0' && c <= '9':
			t[i] = c - '0' + 52
		case c == '+', c == '-':
			t[i] = 62
		case c == '/', c == '_':
			t[i] = 63
		}
	}
	return t
}()

// base64 reads the stretches of run that are base64 of ASCII. Where in a longer word the
// encoding starts is not known, so that each of the four ways to cut it into quads is
// tried. Three bits of a quad are the high bits of its bytes, which tells other words
// from it without decoding.
func (r *reader) base64(run string) {
	var few [probe]byte
	switch b := appendBase64(few[:0], run[:min(len(run), probe)]); {
	case plainUTF8(b):
		if b := appendBase64(nil, run); plainUTF8(b) {
			r.reading(string(b))
			return
		}
	case wideText(b):
		r.reading(utf16Text(appendBase64(nil, run)))
		return
	}
	for cut := range 4 {
		if !someQuad(run, cut) {
			continue
		}
		start := -1
		i := cut
		for ; i+4 <= len(run); i += 4 {
			if asciiQuad(run[i:]) {
				if start < 0 {
					start = i
				}
				continue
			}
			if start >= 0 && i-start >= 4*minQuads {
				r.quads(run[max(cut, start-4) : i+4])
			}
			start = -1
		}
		if start >= 0 && len(run)-start >= 4*minQuads {
			r.quads(run[max(cut, start-4):])
		}
	}
}

// asciiQuad reports that the three bytes of the quad at the start of s are ASCII.
func asciiQuad(s string) bool {
	return sextet[s[0]]&0x20|sextet[s[1]]&0x08|sextet[s[2]]&0x02 == 0
}

// someQuad looks at every fourth quad: if none of them is ASCII, no minQuads in a row are.
func someQuad(run string, cut int) bool {
	for i := cut + 4*(minQuads-1); i+4 <= len(run); i += 4 * minQuads {
		if asciiQuad(run[i:]) {
			return true
		}
	}
	return false
}

// probe is how many characters of a run are tried as a whole first.
const probe = 24

// quads reads base64 in which at least a part is ASCII.
func (r *reader) quads(run string) { r.decoded(appendBase64(make([]byte, 0, len(run)), run)) }

// appendBase64 decodes base64; what is left over at the end is decoded as far as it goes.
func appendBase64(out []byte, run string) []byte {
	for ; len(run) >= 4; run = run[4:] {
		w := uint32(sextet[run[0]])<<18 | uint32(sextet[run[1]])<<12 | uint32(sextet[run[2]])<<6 | uint32(sextet[run[3]])
		out = append(out, byte(w>>16), byte(w>>8), byte(w))
	}
	if len(run) >= 2 {
		w := uint32(sextet[run[0]])<<18 | uint32(sextet[run[1]])<<12
		out = append(out, byte(w>>16))
		if len(run) == 3 {
			out = append(out, byte((w|uint32(sextet[run[2]])<<6)>>8))
		}
	}
	return out
}

// wideText reports text with two bytes for each character, the low one first, as some
// shells want commands.
func wideText(b []byte) bool {
	zeros := 0
	for i := 1; i < len(b); i += 2 {
		if b[i] == 0 {
			zeros++
		}
	}
	return zeros > len(b)/4
}

func utf16Text(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
	}
	return string(utf16.Decode(units))
}

// plainUTF8 reports text in whatever script; the last character may be cut.
func plainUTF8(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1 && (utf8.FullRune(b) || len(b) > 3):
			return false
		case r < ' ' && !asciiSpace[byte(r)], r == 0x7F:
			return false
		}
		b = b[n:]
	}
	return true
}

// hex reads the stretches of run that are hexadecimal of ASCII.
func (r *reader) hex(run string) {
	var few [probe]byte // most runs are short
	if len(run)%2 == 0 && onlyHex(run) {
		whole := few[:0]
		for i := 0; i < len(run); i += 2 {
			whole = append(whole, unhex(run[i])<<4|unhex(run[i+1]))
		}
		if plainUTF8(whole) {
			r.reading(string(whole))
			return
		}
	}
	for cut := range 2 {
		if !somePair(run, cut) {
			continue
		}
		out := few[:0]
		for i := cut; i+2 <= len(run); i += 2 {
			if hexPair(run[i], run[i+1]) {
				out = append(out, unhex(run[i])<<4|unhex(run[i+1]))
				continue
			}
			if len(out) >= minPairs {
				r.decoded(out)
			}
			out = out[:0]
		}
		if len(out) >= minPairs {
			r.decoded(out)
		}
	}
}

// hexPair reports two hexadecimal digits that stand for a visible ASCII character.
func hexPair(c, d byte) bool { return c >= '2' && c <= '7' && hexDigit(d) }

// somePair is someQuad for pairs of hexadecimal digits.
func somePair(run string, cut int) bool {
	for i := cut + 2*(minPairs-1); i+2 <= len(run); i += 2 * minPairs {
		if hexPair(run[i], run[i+1]) {
			return true
		}
	}
	return false
}

// decoded takes bytes if they are text; what is not ASCII at their ends was none.
func (r *reader) decoded(b []byte) {
	for i, c := range b {
		if c >= utf8.RuneSelf {
			b[i] = ' '
		}
	}
	if zeros := strings.Count(string(b), "\x00"); zeros > 0 && zeros*3 > len(b) {
		b = []byte(strings.ReplaceAll(string(b), "\x00", ""))
	}
	control := 0
	for _, c := range b {
		if c < ' ' && !asciiSpace[c] || c >= 0x7F {
			control++
		}
	}
	if len(b) >= minPairs && control*10 <= len(b) {
		r.reading(string(b))
	}
}
