package approval

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// alphabet has no two letters or digits that look alike, and no vowel but A and E: of 0 O,
// 1 I L, 2 Z, 5 S, 8 B and U V at most one of each is in it.
const alphabet = "34679ACDEFGHJKMNPQRTVWXY2"

// codeSize is how many of them a code has: 25^7 is more than 2^32.
const codeSize = 7

// newCode draws a code, such as K7Q-F2MX.
func newCode() string {
	code := make([]byte, 0, codeSize+1)
	var b [32]byte
	for i := len(b); len(code) < codeSize+1; i++ {
		if i == len(b) {
			_, _ = rand.Read(b[:]) // never fails
			i = 0
		}
		if len(code) == 3 {
			code = append(code, '-')
		}
		if most := 256 - 256%len(alphabet); int(b[i]) < most { // or the first would come more often
			code = append(code, alphabet[int(b[i])%len(alphabet)])
		}
	}
	return string(code)
}

var errNoCode = errors.New("that is no code: one looks like K7Q-F2MX")

// readCode reads a code as a person types it: in any case, with or without the hyphen.
func readCode(s string) (string, error) {
	if len(s) > 64 {
		return "", errNoCode
	}
	s = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(s))
	for _, c := range s {
		if !strings.ContainsRune(alphabet, c) {
			return "", &wrongCharacter{c}
		}
	}
	if len(s) != codeSize {
		return "", errNoCode
	}
	return s[:3] + "-" + s[3:], nil
}

// wrongCharacter says which character of a code as it was typed no code has.
type wrongCharacter struct{ c rune }

func (e *wrongCharacter) Error() string {
	return fmt.Sprintf("that is no code: no code has the character %s; one looks like K7Q-F2MX", quote.Value(string(e.c), 0))
}

func (e *wrongCharacter) Unwrap() error { return errNoCode }
