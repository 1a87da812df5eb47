package audit

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxSpellings is how often escapes are taken off a text: JSON in JSON in a URL.
const maxSpellings = 3

var finders = sync.Pool{New: func() any { return new(finder) }}

func (f *finder) release() {
	f.forget()
	finders.Put(f)
}

// forget clears what was read: it may be what must not be seen.
func (f *finder) forget() {
	for i := range f.plain {
		if cap(f.plain[i].buf) > maxKept {
			f.plain[i] = plainText{}
		}
		clear(f.plain[i].buf)
	}
	if cap(f.hits) > maxSecrets {
		f.hits = nil
	}
	f.text = ""
}

// plainText is a text with its escapes taken off.
type plainText struct {
	buf []byte
	at  []int // where each byte, and the end, stands in the original
}

func (p *plainText) string() string { return string(p.buf) }

// read takes one level of escapes off s. before says where the bytes of s stand, unless s
// is the original. It returns false if there are no escapes.
func (p *plainText) read(s string, before []int, mapped bool) bool {
	p.buf, p.at = p.buf[:0], p.at[:0]
	if strings.IndexByte(s, '\\') < 0 && strings.IndexByte(s, '%') < 0 {
		return false
	}
	where := func(i int) int {
		if mapped {
			return before[i]
		}
		return i
	}
	changed := false
	var char [utf8.UTFMax]byte
	for i := 0; i < len(s); {
		r, size := rune(-1), 0
		switch s[i] {
		case '\\':
			r, size = backslash(s[i:])
		case '%':
			r, size = hexByte(s[i+1:], 3)
		}
		if size == 0 {
			p.buf, p.at = append(p.buf, s[i]), append(p.at, where(i))
			i++
			continue
		}
		changed = true
		b := char[:1]
		if s[i] == '%' || r < utf8.RuneSelf {
			b[0] = byte(r)
		} else {
			b = utf8.AppendRune(char[:0], r)
		}
		for range b {
			p.at = append(p.at, where(i))
		}
		p.buf = append(p.buf, b...)
		i += size
	}
	p.at = append(p.at, where(len(s)))
	return changed
}

// backslash reads an escape of JSON, or one of those with which values are quoted in
// reasons and logs. size is 0 if it is none.
func backslash(s string) (r rune, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case '"', '\\', '/', '\'':
		return rune(s[1]), 2
	case 'x':
		return hexByte(s[2:], 4)
	case 'u':
		digits, size := s[2:min(len(s), 6)], 6
		if strings.HasPrefix(s[2:], "{") {
			end := strings.IndexByte(s[:min(len(s), 12)], '}')
			if end < 0 {
				return 0, 0
			}
			digits, size = s[3:end], end+1
		} else if len(digits) < 4 {
			return 0, 0
		}
		n, err := strconv.ParseUint(digits, 16, 21)
		if err != nil {
			return 0, 0
		}
		return rune(n), size
	}
	return 0, 0
}

// hexByte reads two hexadecimal digits; size is what the escape is then long.
func hexByte(s string, long int) (r rune, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[:2], 16, 8)
	if err != nil {
		return 0, 0
	}
	return rune(n), long
}
