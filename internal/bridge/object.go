package bridge

import (
	"bytes"
	"crypto/sha256"
	"encoding/json/jsontext"
	"errors"
	"slices"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

var (
	errObject  = errors.New("not an object")
	errMembers = errors.New("too many members")
)

// pair is one member of a raw object.
type pair struct {
	name  string
	value []byte
}

// members reads a raw object of at most limit members, in their order.
func members(object []byte, limit int) ([]pair, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, errObject
	}
	var all []pair
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, errObject
		}
		p := pair{name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, errObject
		}
		if len(all) == limit {
			return nil, errMembers
		}
		p.value = bytes.Clone(value)
		all = append(all, p)
	}
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '}' {
		return nil, errObject
	}
	return all, nil
}

// elements reads a raw list.
func elements(list []byte) ([][]byte, bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(list))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '[' {
		return nil, false
	}
	var all [][]byte
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		all = append(all, bytes.Clone(value))
	}
	return all, true
}

// object writes pairs as a raw object.
func object(pairs ...pair) []byte {
	b := []byte{'{'}
	for i, p := range pairs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(appendQuoted(b, p.name), ':'), p.value...)
	}
	return append(b, '}')
}

// list writes raw values as a raw list.
func list(values ...[]byte) []byte {
	return slices.Concat([]byte{'['}, bytes.Join(values, []byte{','}), []byte{']'})
}

func appendQuoted(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

func quoted(s string) []byte { return appendQuoted(nil, s) }

// at reads a member some objects down; nil if it is not there.
func at(raw []byte, path ...string) []byte {
	for _, name := range path {
		if !isObject(raw) {
			return nil
		}
		f, err := mcp.Fields(raw, name)
		if err != nil {
			return nil
		}
		raw = f[0]
	}
	return raw
}

func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

func isTrue(raw []byte) bool { return string(raw) == "true" }

func text(raw []byte) string {
	s, _ := mcp.Str(raw)
	return s
}

// sum is a digest of a JSON value that does not depend on white space, escapes or the order
// of members. Numbers count as they are written. without names members of the outermost
// object that do not count.
func sum(value []byte, without ...string) [sha256.Size]byte {
	out, _ := sumNext(jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true)), without)
	return out
}

// sumNext reads one value; ok is false when it cannot be read to its end.
func sumNext(dec *jsontext.Decoder, without []string) (out [sha256.Size]byte, ok bool) {
	t, err := dec.ReadToken()
	if err != nil {
		return out, false
	}
	h := sha256.New()
	h.Write([]byte{byte(t.Kind())})
	switch t.Kind() {
	case '{':
		var all [][2 * sha256.Size]byte
		for dec.PeekKind() == '"' {
			name, err := dec.ReadToken()
			if err != nil {
				return out, false
			}
			skip := slices.Contains(without, name.String())
			key := sha256.Sum256([]byte(name.String()))
			inner, ok := sumNext(dec, nil)
			if !ok {
				return out, false
			}
			if !skip {
				all = append(all, [2 * sha256.Size]byte(append(key[:], inner[:]...)))
			}
		}
		slices.SortFunc(all, func(a, b [2 * sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
		for _, m := range all {
			h.Write(m[:])
		}
		_, err = dec.ReadToken()
	case '[':
		for dec.PeekKind() != ']' {
			inner, ok := sumNext(dec, nil)
			if !ok {
				return out, false
			}
			h.Write(inner[:])
		}
		_, err = dec.ReadToken()
	default:
		h.Write([]byte(t.String()))
	}
	return [sha256.Size]byte(h.Sum(nil)), err == nil
}
