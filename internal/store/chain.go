package store

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"slices"
)

const (
	// MaxEntry is the largest payload of a log's entry, in bytes.
	MaxEntry = 16 << 20

	// MaxEntries is how many entries a log holds at most.
	MaxEntries = 1 << 22

	secretSize = 32
	macSize    = sha256.Size
	nameSize   = 16
	tagSize    = 16
	sealSize   = 12 + tagSize // nonce and tag

	logMagic   = "sallyport log 1\n"
	markAt     = len(logMagic)
	markSize   = 8 + 8 + macSize
	logStart   = int64(len(logMagic) + markSize)
	checkSize  = 8
	headSize   = 4 + 8 + checkSize
	frameExtra = headSize + sealSize
)

type mac [macSize]byte // also a key

// expand derives a key for one purpose from the session's secret.
func expand(secret []byte, info string) mac {
	k, err := hkdf.Expand(sha256.New, secret, "sallyport store 1 "+info, macSize)
	if err != nil {
		panic("store: " + err.Error()) // only for a length that no hash can give
	}
	return mac(k)
}

// A sealer seals under the session's keys. It is not safe for concurrent use.
type sealer struct {
	h       hash.Hash
	out     mac
	entries cipher.AEAD
	tables  cipher.AEAD
}

func newSealer(secret []byte) *sealer {
	key := expand(secret, "mac")
	return &sealer{
		h:       hmac.New(sha256.New, key[:]),
		entries: newAEAD(expand(secret, "entries")),
		tables:  newAEAD(expand(secret, "table")),
	}
}

func newAEAD(key mac) cipher.AEAD {
	block, err := aes.NewCipher(key[:])
	if err == nil {
		var a cipher.AEAD
		if a, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return a
		}
	}
	panic("store: " + err.Error()) // only for a key of another size
}

// mac returns the MAC of the parts, which kind keeps apart from other uses.
func (s *sealer) mac(kind byte, parts ...[]byte) mac {
	s.h.Reset()
	s.h.Write([]byte{kind})
	for _, p := range parts {
		s.h.Write(p)
	}
	s.h.Sum(s.out[:0])
	return s.out
}

// name returns what stands for a name on the disk.
func (s *sealer) name(kind byte, name string) (k [nameSize]byte) {
	sum := s.mac('N', []byte{kind}, []byte(name))
	copy(k[:], sum[:])
	return k
}

func logFileName(k [nameSize]byte) string { return "log-" + hex.EncodeToString(k[:]) }

// A chain is a place in a log: how many entries are before it, and the last one's tag.
type chain struct {
	*sealer
	start [tagSize]byte // of the log
	prev  [tagSize]byte
	seq   uint64
}

func newChain(s *sealer, log string) chain {
	sum := s.mac('S', []byte(log))
	start := [tagSize]byte(sum[:])
	return chain{sealer: s, start: start, prev: start}
}

// errTorn says that bytes end within an entry; errBad that they are none.
var (
	errTorn = errors.New("torn entry")
	errBad  = errors.New("the entry does not verify")
)

// bound is what an entry holds at: its place and its length.
func (c *chain) bound(head []byte) []byte {
	var b [tagSize + 12]byte
	copy(b[copy(b[:], c.prev[:]):], head[:12])
	return b[:]
}

// head checks the head of the next entry and returns the size of the whole entry. Until
// that is known, b need not hold more than headSize bytes.
func (c *chain) head(b []byte) (size int, err error) {
	if len(b) < headSize {
		return 0, errTorn
	}
	check := c.mac('H', c.prev[:], b[:12])
	if !hmac.Equal(check[:checkSize], b[12:headSize]) {
		return 0, errBad
	}
	length := binary.BigEndian.Uint32(b)
	if length > MaxEntry || binary.BigEndian.Uint64(b[4:]) != c.seq {
		return 0, errBad
	}
	return int(length) + frameExtra, nil
}

// next verifies the entry at the start of b, moves over it, and returns its payload,
// which is deciphered in place, and its size. On an error nothing moved.
func (c *chain) next(b []byte) (payload []byte, size int, err error) {
	size, err = c.head(b)
	if err != nil {
		return nil, 0, err
	}
	if len(b) < size {
		return nil, size, errTorn
	}
	tag := [tagSize]byte(b[size-tagSize : size])
	sealed := b[headSize:size]
	payload, err = c.entries.Open(sealed[:0], nil, sealed, c.bound(b))
	if err != nil {
		return nil, 0, errBad
	}
	c.prev = tag
	c.seq++
	return payload[:len(payload):len(payload)], size, nil
}

// add appends an entry to b and moves over it.
func (c *chain) add(b, payload []byte) []byte {
	at := len(b)
	b = slices.Grow(b, len(payload)+frameExtra)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload))) //nolint:gosec // at most MaxEntry
	b = binary.BigEndian.AppendUint64(b, c.seq)
	check := c.mac('H', c.prev[:], b[at:])
	b = append(b, check[:checkSize]...)
	b = c.entries.Seal(b, nil, payload, c.bound(b[at:]))
	c.prev = [tagSize]byte(b[len(b)-tagSize:])
	c.seq++
	return b
}

// A mark says how far a log reached at least.
type mark struct {
	count uint64
	end   int64
}

func (c *chain) addMark(b []byte, m mark) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint64(b, m.count)
	b = binary.BigEndian.AppendUint64(b, uint64(m.end)) //nolint:gosec // never negative
	sum := c.mac('M', c.start[:], b[at:])
	return append(b, sum[:]...)
}

// readMark reads the magic and the mark of a log's first bytes.
func (c *chain) readMark(b []byte) (mark, error) {
	if len(b) < int(logStart) || !bytes.HasPrefix(b, []byte(logMagic)) {
		return mark{}, errBad
	}
	b = b[markAt:logStart]
	sum := c.mac('M', c.start[:], b[:16])
	if !hmac.Equal(sum[:], b[16:]) {
		return mark{}, errBad
	}
	m := mark{binary.BigEndian.Uint64(b), int64(binary.BigEndian.Uint64(b[8:]))} //nolint:gosec // checked below
	if m.end < logStart || m.count > MaxEntries {
		return mark{}, errBad
	}
	return m, nil
}
