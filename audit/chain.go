package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

const (
	hashStart = `,"hash":"`
	prevStart = `,"prev":"`
	digits    = 2 * sha256.Size

	hashMember = len(hashStart) + digits + len(`"}`) // the end of a line
	prevMember = len(prevStart) + digits + len(`"`)  // the end of a leaf, before its brace
)

// MaxLine is the length in bytes of the longest line that is read as a record. The log
// writes much shorter ones.
const MaxLine = 16 << 20

// sum is a record's hash, as text.
type sum [digits]byte

// noPrev is the prev of a record that follows none.
var noPrev = func() (s sum) {
	copy(s[:], bytes.Repeat([]byte{'0'}, digits))
	return s
}()

// summer computes record hashes; it is kept to be used again.
type summer struct {
	h   hash.Hash
	out [sha256.Size]byte
}

func newSummer() *summer { return &summer{h: sha256.New()} }

// of returns the hash over prev and a leaf given in two parts.
func (s *summer) of(prev *sum, leaf, rest []byte) (result sum) {
	s.h.Reset()
	s.h.Write(prev[:])
	s.h.Write(leaf)
	s.h.Write(rest)
	hex.Encode(result[:], s.h.Sum(s.out[:0]))
	return result
}

var brace = []byte{'}'}

// links reads prev and hash from the end of a line without its line feed. leaf lacks
// its closing brace. ok is false if the line does not end as a chained record does.
func links(line []byte) (leaf []byte, prev, own sum, ok bool) {
	cut := len(line) - hashMember
	if cut < prevMember {
		return nil, prev, own, false
	}
	leaf = line[:cut]
	p := leaf[cut-prevMember:]
	h := line[cut:]
	ok = bytes.HasPrefix(h, []byte(hashStart)) && h[len(h)-2] == '"' && h[len(h)-1] == '}' &&
		bytes.HasPrefix(p, []byte(prevStart)) && p[len(p)-1] == '"'
	copy(own[:], h[len(hashStart):])
	copy(prev[:], p[len(prevStart):])
	return leaf, prev, own, ok && own.valid() && prev.valid()
}

func (s *sum) valid() bool {
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
