package gateway

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json/jsontext"
	"errors"
	"strconv"
)

// rawText is s as a JSON string. Bytes that are not UTF-8 are replaced.
func rawText(s string) []byte {
	b, _ := jsontext.AppendQuote(nil, s)
	return b
}

// A cursor names a place in a merged list and the list itself. It holds no state of the
// gateway's: any session that lists the same can go on with it, and one for which the list
// has changed meanwhile says so instead of leaving something out.
const (
	cursorVersion = 1
	cursorSize    = 1 + 1 + 4 + 8
)

var errCursor = errors.New("the cursor is not one of this list, or the list has changed: start again without one")

// digest tells lists apart.
func (m *merged) digest() [8]byte {
	h := sha256.New()
	var size [8]byte
	for _, e := range m.entries {
		binary.BigEndian.PutUint64(size[:], uint64(len(e.raw)))
		h.Write(size[:])
		h.Write(e.raw)
	}
	return [8]byte(h.Sum(nil))
}

func (m *merged) cursor(k kind, offset int) string {
	b := []byte{cursorVersion, byte(k)}
	b = binary.BigEndian.AppendUint32(b, uint32(offset))
	d := m.digest()
	return base64.RawURLEncoding.EncodeToString(append(b, d[:]...))
}

func (m *merged) offset(k kind, cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) != cursorSize || b[0] != cursorVersion || b[1] != byte(k) {
		return 0, errCursor
	}
	n := int(binary.BigEndian.Uint32(b[2:6]))
	if n >= len(m.entries) || [8]byte(b[6:]) != m.digest() {
		return 0, errCursor
	}
	return n, nil
}

// page writes the result for the part of the list that begins at cursor. extra is raw
// members that every result has, each with a comma behind it.
func (m *merged) page(k kind, cursor string, extra []byte) ([]byte, error) {
	from, err := m.offset(k, cursor)
	if err != nil {
		return nil, err
	}
	b := append([]byte{'{'}, extra...)
	b = append(strconv.AppendQuote(b, kinds[k].list), ":["...)
	start, i := len(b), from
	for ; i < len(m.entries) && i-from < pageEntries; i++ {
		if i > from {
			if len(b)-start+len(m.entries[i].raw) > pageBytes {
				break
			}
			b = append(b, ',')
		}
		b = append(b, m.entries[i].raw...)
	}
	b = append(b, ']')
	if i < len(m.entries) {
		b = append(append(b, `,"nextCursor":`...), rawText(m.cursor(k, i))...)
	}
	return append(b, '}'), nil
}
