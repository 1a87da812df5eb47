package mcp

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxID is the longest id that is accepted, in bytes of its JSON token. Ids are kept
// for as long as a request is open, so a sender must not choose their size.
const MaxID = 1024

// ID is a request id: an integer or a string, kept as its raw token. The zero ID is
// none. IDs are compared by Key, not with ==.
type ID struct{ raw string }

var errID = errors.New("an id must be an integer or a string of at most 1024 bytes")

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return id.raw == "" }

// Raw returns the JSON token as it was received, byte for byte; "" for the zero ID.
func (id ID) Raw() string { return id.raw }

// Key returns a map key that holds the type and the decoded value: 1 and "1" differ,
// "a" and "\u0061" are the same. It is "" for the zero ID only.
func (id ID) Key() string {
	switch {
	case id.raw == "-0":
		return "0"
	case !strings.HasPrefix(id.raw, `"`) || strings.IndexByte(id.raw, '\\') < 0:
		return id.raw
	}
	dec, err := jsontext.AppendUnquote(make([]byte, 1, len(id.raw)), id.raw)
	if err != nil {
		return id.raw
	}
	dec[0] = '"'
	return string(append(dec, '"'))
}

// StringID returns the id for s. Bytes that are not UTF-8 are replaced.
func StringID(s string) ID { return ID{string(appendString(nil, s))} }

// IntID returns the id for n.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// ParseID reads one JSON token. null, booleans, fractions, exponents, lists and objects
// are refused, as is anything longer than MaxID.
func ParseID(raw []byte) (ID, error) {
	if len(raw) == 0 || len(raw) > MaxID || !validID(raw) {
		return ID{}, errID
	}
	return ID{string(raw)}, nil
}

func validID(raw []byte) bool {
	if raw[0] != '"' {
		return isInteger(raw)
	}
	if plainString(raw) {
		return true
	}
	_, err := jsontext.AppendUnquote(nil, raw)
	return err == nil
}

// isInteger reports whether b is a JSON number without fraction and exponent.
func isInteger(b []byte) bool {
	if b[0] == '-' {
		b = b[1:]
	}
	if len(b) == 0 || (b[0] == '0' && len(b) > 1) {
		return false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// plainString reports whether raw is a JSON string in which nothing is escaped.
func plainString(raw []byte) bool {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return false
	}
	body := raw[1 : len(raw)-1]
	for _, c := range body {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.Valid(body)
}

// Str decodes a raw JSON string; ok is false for anything else.
func Str(raw []byte) (s string, ok bool) {
	b, ok := unquote(raw)
	return string(b), ok
}

// unquote decodes a raw JSON string. The result aliases raw when nothing is escaped.
func unquote(raw []byte) ([]byte, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	if plainString(raw) {
		return raw[1 : len(raw)-1], true
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	return b, err == nil
}

// unquoteName decodes a member name of a frame that was already found to be valid.
func unquoteName(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	b, _ := jsontext.AppendUnquote(nil, raw)
	return b
}

// appendString appends s as a JSON string. Bytes that are not UTF-8 are replaced.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
