package streamhttp

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// The two media types of the transport.
const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
)

// mediaType reads a Content-Type (RFC 9110, section 8.3): the type in lower case, "" if
// there is none, several, one that cannot be read, or one in another charset than UTF-8.
func mediaType(h http.Header) string {
	values := h.Values("Content-Type")
	if len(values) != 1 {
		return ""
	}
	t, params, err := mime.ParseMediaType(values[0])
	if err != nil {
		return ""
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "utf8") {
		return ""
	}
	return t
}

// identity reports whether a body is sent as it is (RFC 9110, section 8.4).
func identity(h http.Header) bool {
	for _, v := range h.Values("Content-Encoding") {
		if v != "" && !strings.EqualFold(v, "identity") {
			return false
		}
	}
	return true
}

// accepted says which of the two media types an answer may have.
type accepted struct{ json, stream bool }

// maxRanges bounds how many media ranges of an Accept header are read. The rest is
// ignored: an honest client names two.
const maxRanges = 64

// accepts reads the Accept header (RFC 9110, section 12.5.1). The most specific range
// that matches a type decides; a weight of 0 refuses it. No header accepts everything.
func accepts(h http.Header) accepted {
	values := h.Values("Accept")
	if len(values) == 0 {
		return accepted{true, true}
	}
	var json, stream preference
	n := 0
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			if n++; n > maxRanges {
				break
			}
			r, q, ok := mediaRange(part)
			if !ok {
				continue
			}
			json.consider(r, typeJSON, q)
			stream.consider(r, typeStream, q)
		}
	}
	return accepted{json.yes, stream.yes}
}

// preference is what the ranges so far say of one type.
type preference struct {
	weight int // how specific the range was that decided
	yes    bool
}

func (p *preference) consider(r, t string, q float64) {
	weight := 0
	major, _, _ := strings.Cut(t, "/")
	switch r {
	case t:
		weight = 3
	case major + "/*":
		weight = 2
	case "*/*", "*": // a lone star is what some clients send
		weight = 1
	}
	if weight > p.weight || weight == p.weight && weight > 0 && q > 0 {
		*p = preference{weight, q > 0}
	}
}

// mediaRange reads one range and its weight.
func mediaRange(s string) (r string, q float64, ok bool) {
	r, rest, _ := strings.Cut(s, ";")
	r = strings.ToLower(strings.TrimSpace(r))
	q = 1
	for param := range strings.SplitSeq(rest, ";") {
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		var err error
		q, err = strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(q >= 0 && q <= 1) {
			return "", 0, false
		}
	}
	return r, q, r != ""
}
