package audit

import (
	"strings"
	"unicode"

	"github.com/sallyport-dev/sallyport/doc"
)

func (e *encoder) stringValue(v doc.Value) {
	s := v.String()
	if !looksLikeJSON(s) {
		e.plain(v, s)
		return
	}
	if len(s) > maxEmbedded || e.nesting == maxNesting {
		e.redact(v)
		return
	}
	inner, err := doc.Parse([]byte(s), doc.Limits{Depth: embeddedDeep})
	if err != nil {
		// Not JSON, but a lenient reader may still find a secret in what would be shown.
		seen := s[:min(len(s), e.red.maxValue)]
		if e.red.matches(seen) || strings.Contains(seen, `\u`) {
			e.redact(v)
		} else {
			e.plain(v, s)
		}
		return
	}
	e.embedded(s, inner)
}

// plain writes a string. If all of it is a credential, its digest takes its place; one
// within it makes place for a marker.
func (e *encoder) plain(v doc.Value, s string) {
	if len(s) < minCredential {
		e.write(s, e.red.maxValue)
		return
	}
	hits := e.finder.find(s[:min(len(s), e.red.maxValue+beyondCut)])
	if len(hits) == 1 && strings.TrimSpace(s[:hits[0].from]) == "" && strings.TrimSpace(s[hits[0].to:]) == "" {
		e.redact(v)
		return
	}
	for _, h := range hits {
		e.redactions++
		e.keep(&e.secrets, s[h.from:h.to])
	}
	e.writeWithout(s, hits, e.red.maxValue)
}

// embedded writes a string that is JSON: as it is if nothing in it is secret, else as
// the JSON that remains.
func (e *encoder) embedded(s string, inner doc.Value) {
	before, known := len(e.buf), e.redactions
	e.nesting++
	e.value(inner)
	e.nesting--
	if e.redactions != known {
		s = string(e.buf[before:])
	}
	e.buf = e.buf[:before]
	e.write(s, e.red.maxValue)
}

// looksLikeJSON reports text that begins as a list or object does, or as the text of
// one that was quoted once more.
func looksLikeJSON(s string) bool {
	s = strings.TrimLeftFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == 0xfeff })
	if len(s) > 1 && s[0] == '"' {
		return strings.IndexByte("{[\\", s[1]) >= 0
	}
	return s != "" && (s[0] == '{' || s[0] == '[')
}
