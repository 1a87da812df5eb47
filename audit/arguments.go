package audit

import (
	"strconv"
	"strings"
	"sync"

	"github.com/sallyport-dev/sallyport/doc"
)

// encoder writes one record. It is kept to be used again.
type encoder struct {
	red *redactor
	buf []byte // headroom, then the line

	// What was redacted in this record, to keep it out of other members.
	secrets  []string
	names    []string               // of members within what was redacted
	size     int                    // bytes of secrets and names
	searched int                    // bytes of them that were searched for parts
	hidden   map[doc.Value]struct{} // containers by identity, scalars by value
	tooMany  bool                   // secrets or hidden are incomplete
	selected map[doc.Value]struct{}

	args    doc.Value
	start   int // where arguments begin in buf
	left    int // values left out
	nesting int // JSON within strings

	redactions int
	finder     *finder
	drop       bool // include_arguments: false
}

const (
	maxKept      = 1 << 20 // bytes of a buffer that is used again
	maxSecrets   = 1000
	maxSearched  = 64 << 20
	minSecret    = 4       // bytes; shorter ones stand in too many words
	maxEmbedded  = 1 << 20 // bytes of a string that is read as JSON
	maxNesting   = 4       // JSON in a string in JSON in a string …
	maxKey       = 128     // bytes of a member name in arguments
	maxSelected  = 10_000
	embeddedDeep = 100
)

var encoders = sync.Pool{New: func() any {
	return &encoder{hidden: map[doc.Value]struct{}{}, selected: map[doc.Value]struct{}{}, finder: new(finder)}
}}

func newEncoder(red *redactor) *encoder {
	e := encoders.Get().(*encoder)
	e.red, e.drop = red, red.drop
	if cap(e.buf) < headroom {
		e.buf = make([]byte, headroom, 2048)
	}
	e.buf = e.buf[:headroom]
	return e
}

func (e *encoder) release() {
	buf := e.buf
	if cap(buf) > maxKept {
		buf = nil
	}
	clear(e.secrets)
	clear(e.names)
	clear(e.hidden)
	if len(e.selected) > maxSecrets {
		e.selected = map[doc.Value]struct{}{} // clearing a map keeps its size
	}
	clear(e.selected)
	e.finder.forget()
	*e = encoder{finder: e.finder, buf: buf, secrets: e.secrets[:0], names: e.names[:0], hidden: e.hidden, selected: e.selected}
	encoders.Put(e)
}

// arguments writes what may be known of v and the digest of the whole.
func (e *encoder) arguments(v doc.Value) {
	if v.Kind() == doc.Absent {
		return
	}
	e.args = v
	if e.drop {
		e.hide(v, false)
	} else {
		e.selectAll(v)
		e.buf = append(e.buf, `,"arguments":`...)
		e.start = len(e.buf)
		e.value(v)
		e.count(`,"arguments_left_out":`, uint64(e.left))
	}
	e.buf = append(e.buf, `,"arguments_digest":"`...)
	e.buf = append(e.red.digestJSON(e.buf, v), '"')
}

func (e *encoder) selectAll(v doc.Value) {
	for i := range e.red.selectors {
		found, more := e.red.selectors[i].Select(v, maxSelected)
		if more { // what it did not find must not be shown either
			e.selected[v] = struct{}{}
		}
		for _, m := range found {
			e.selected[m.Value] = struct{}{}
		}
	}
}

func (e *encoder) value(v doc.Value) {
	if len(e.selected) > 0 {
		if _, yes := e.selected[v]; yes {
			e.redact(v)
			return
		}
	}
	switch v.Kind() {
	case doc.String:
		e.stringValue(v)
	case doc.Number:
		switch n := v.Number(); {
		case len(n) >= leastCard && len(n) <= longestPan && isCardNumber(n):
			e.redact(v)
		case len(n) > e.red.maxValue:
			e.write(n, e.red.maxValue)
		default:
			e.buf = append(e.buf, n...)
		}
	case doc.List:
		e.list(v)
	case doc.Object:
		e.object(v)
	default:
		e.buf = v.AppendJSON(e.buf)
	}
}

func (e *encoder) list(v doc.Value) {
	e.buf = append(e.buf, '[')
	pair := v.Len() == 2 && v.At(0).Kind() == doc.String && e.red.secretName(v.At(0).String())
	for i, el := range v.Elements() {
		before := len(e.buf)
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if pair && i == 1 {
			e.redact(el)
		} else {
			e.value(el)
		}
		e.bound(before)
	}
	e.buf = append(e.buf, ']')
}

func (e *encoder) object(v doc.Value) {
	pair := e.secretPair(v)
	e.buf = append(e.buf, '{')
	i, empty := 0, len(e.buf)
	for m := range v.Members() {
		before := len(e.buf)
		if before > empty {
			e.buf = append(e.buf, ',')
		}
		e.key(m.Name, i)
		e.buf = append(e.buf, ':')
		if e.red.secretName(m.Name) || (pair && pairValue(m.Name)) {
			e.redact(m.Value)
		} else {
			e.value(m.Value)
		}
		e.bound(before)
		i++
	}
	e.buf = append(e.buf, '}')
}

// bound takes back what was written since before if the arguments have become too
// long. It is written first because its secrets must be known.
func (e *encoder) bound(before int) {
	if len(e.buf)-e.start > MaxArguments && e.nesting == 0 {
		e.buf = e.buf[:before]
		e.left++
	}
}

// key writes a member name. A long one is cut and marked with its position and a keyed
// digest, so that no two names become the same. One that holds a credential is, too.
func (e *encoder) key(name string, position int) {
	shown, note := name, ""
	if kept, left := cut(name, maxKey); left > 0 {
		shown, note = kept, "…(+"+strconv.Itoa(left)+" bytes"
	}
	if len(name) >= minCredential {
		if hits := e.finder.find(name[:min(len(name), maxKey+beyondCut)]); len(hits) > 0 {
			shown, note = "", hits[0].marker()+"("
			for _, h := range hits {
				e.redactions++
				e.keep(&e.names, name[h.from:h.to])
			}
		}
	}
	if note == "" {
		e.buf = appendString(e.buf, name)
		return
	}
	var digest [len(digestScheme) + digits]byte
	mark := e.red.digestString(digest[:0], name)[len(digestScheme):][:16]
	e.buf = append(e.buf, '"')
	e.buf = appendEscaped(e.buf, shown)
	e.buf = append(e.buf, note...)
	if note[len(note)-1] != '(' {
		e.buf = append(e.buf, ", "...)
	}
	e.buf = append(e.buf, "member "...)
	e.buf = strconv.AppendInt(e.buf, int64(position), 10)
	e.buf = append(append(append(e.buf, ' '), mark...), `)"`...)
}

// secretPair reports whether v names a secret in one member and holds it in another, as
// forms and header lists do.
func (e *encoder) secretPair(v doc.Value) bool {
	for m := range v.Members() {
		if pairName(m.Name) && m.Value.Kind() == doc.String && e.red.secretName(m.Value.String()) {
			return true
		}
	}
	return false
}

func pairName(name string) bool {
	switch name {
	case "name", "Name", "key", "Key", "k", "header", "field", "label", "id":
		return true
	}
	return false
}

func pairValue(name string) bool {
	switch name {
	case "value", "Value", "values", "Values", "val", "v", "text", "content", "default":
		return true
	}
	return false
}

// redact writes the digest of v in its place and remembers what it held.
func (e *encoder) redact(v doc.Value) {
	e.hide(v, true)
	e.buf = append(e.buf, `{"redacted":"`...)
	e.buf = append(e.red.digestValue(e.buf, v), `"}`...)
}

// hide remembers v and everything in it as secret. Of the names in it, those that
// are no plain words are, or with allNames every one.
func (e *encoder) hide(v doc.Value, allNames bool) {
	e.redactions++
	if e.tooMany = e.tooMany || len(e.hidden) == maxSecrets; e.tooMany {
		return
	}
	e.hidden[v] = struct{}{}
	if v.Kind() != doc.List && v.Kind() != doc.Object {
		e.remember(v)
		return
	}
	doc.Walk(v, func(scalar doc.Value, isName bool, _ func() string) bool {
		if isName {
			return !allNames && plainName(scalar.String()) || e.rememberName(scalar.String())
		}
		return e.remember(scalar)
	})
}

func plainName(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

// remember adds a scalar to the secrets. It returns false when there are too many.
func (e *encoder) remember(scalar doc.Value) bool {
	text := scalar.String()
	if scalar.Kind() == doc.Number {
		text = scalar.Number()
	}
	return e.keep(&e.secrets, text)
}

func (e *encoder) rememberName(name string) bool { return e.keep(&e.names, name) }

func (e *encoder) keep(list *[]string, text string) bool {
	if len(text) < minSecret {
		return true
	}
	if len(*list) == maxSecrets {
		e.tooMany = true
		return false
	}
	*list = append(*list, text)
	e.size += len(text)
	return true
}
