package flow

import (
	"strings"
	"unicode/utf8"
)

// What a byte can be part of, a bit for each, in one table: text is asked byte by byte.
const (
	chrAlnum     = 1 << iota
	chrName      // of a host name that is not checked yet
	chrToken     // of what is read as one word when a disguise is looked for
	chrLocal     // of a local part without quotes, RFC 5322 section 3.2.3, and the dot; letters and digits aside
	chrAuthority // of the authority of a URL
	chrPath      // of a port and path in text
	chrSegment   // of a path segment
)

var chars = func() (t [256]uint8) {
	for i := range t {
		c := byte(i)
		word := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z'
		wide := c >= utf8.RuneSelf
		for bit, is := range map[uint8]bool{
			chrAlnum:     word,
			chrName:      word || strings.IndexByte(".-_", c) >= 0,
			chrToken:     word || wide || strings.IndexByte("@.-_", c) >= 0,
			chrLocal:     strings.IndexByte("!#$%&'*+-/=?^_`{|}~.", c) >= 0,
			chrAuthority: word || wide || strings.IndexByte("-._~%!$&*+=:@[]", c) >= 0,
			chrPath:      c > ' ' && strings.IndexByte("?#\"<>()[]{}|^`", c) < 0,
			chrSegment:   word || wide || strings.IndexByte("-_.~%+@", c) >= 0,
		} {
			if is {
				t[i] |= bit
			}
		}
	}
	return t
}()

// alnum reports ASCII letters and digits.
func alnum(c byte) bool { return chars[c]&chrAlnum != 0 }
