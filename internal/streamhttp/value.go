package streamhttp

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// MaxValue is the longest value of Mcp-Name and Mcp-Param-… that is sent, in bytes before
// it is encoded. Servers refuse headers of more than a few KiB.
const MaxValue = 8 << 10

const (
	sentinelStart = "=?base64?"
	sentinelEnd   = "?="
)

// EncodeValue writes s as a header value (2026-07-28, "Value Encoding"): as it is if it
// is plain, else in the Base64 form.
func EncodeValue(s string) string {
	if plainValue(s) {
		return s
	}
	return sentinelStart + base64.StdEncoding.EncodeToString([]byte(s)) + sentinelEnd
}

// plainValue reports whether s survives as a header value: printable ASCII and tabs, no
// white space at the ends, nothing that reads as the Base64 form.
func plainValue(s string) bool {
	if s == "" {
		return true
	}
	if strings.TrimSpace(s) != s || isSentinel(s) {
		return false
	}
	return isFieldText(s)
}

// isFieldText reports whether s has only characters that the specification allows in a
// header value.
func isFieldText(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\t') || c > '~' {
			return false
		}
	}
	return true
}

func isSentinel(s string) bool {
	return len(s) >= len(sentinelStart)+len(sentinelEnd) &&
		strings.HasPrefix(s, sentinelStart) && strings.HasSuffix(s, sentinelEnd)
}

// DecodeValue reads a header value. ok is false for characters that may not stand there,
// Base64 that is not canonical, and bytes that are not UTF-8.
func DecodeValue(s string) (value string, ok bool) {
	if !isFieldText(s) {
		return "", false
	}
	if !isSentinel(s) {
		return s, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s[len(sentinelStart) : len(s)-len(sentinelEnd)])
	if err != nil || !utf8.Valid(b) {
		return "", false
	}
	return string(b), true
}

// maxSafe is 2^53: the integers that Mcp-Param-… may carry lie strictly between -2^53
// and 2^53.
const maxSafe = 1 << 53

// ParamText returns what Mcp-Param-… carries for one argument, a raw JSON value: the text
// of a string, true, false, or an integer in plain decimal digits within the safe range.
// ok is false for everything else, and for null, for which no header is sent.
func ParamText(raw []byte) (text string, ok bool) {
	if s, ok := mcp.Str(raw); ok {
		return s, true
	}
	s := string(raw)
	if s == "true" || s == "false" {
		return s, true
	}
	if len(s) > MaxValue {
		return "", false
	}
	return integerText(s)
}

// ParamMatches reports whether a header value says the same as an argument, a raw JSON
// value. Integers are compared as numbers: 42.0 is 42.
func ParamMatches(header string, raw []byte) bool {
	got, ok := DecodeValue(header)
	if !ok {
		return false
	}
	want, ok := ParamText(raw)
	if !ok {
		return false
	}
	if _, isText := mcp.Str(raw); isText || want == "true" || want == "false" {
		return got == want
	}
	got, ok = integerText(got)
	return ok && got == want
}

// integerText reads a JSON number that is an integer, however it is written, and writes
// it in plain digits.
func integerText(s string) (string, bool) {
	n, ok := number(s)
	if !ok {
		return "", false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.Abs(f) >= maxSafe {
		return "", false
	}
	plain := strconv.FormatInt(int64(f), 10)
	same, _ := number(plain)
	order, ok := doc.CompareNumbers(n, same)
	return plain, ok && order == 0
}

func number(s string) (doc.Value, bool) {
	if s == "" || s != strings.TrimSpace(s) || len(s) > MaxValue {
		return doc.Value{}, false
	}
	v, err := doc.Parse([]byte(s), doc.Limits{})
	return v, err == nil && v.Kind() == doc.Number
}
