package flow

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/doc"
)

// failed reports a result that may be an error message, whose text is not what the
// contract describes.
func failed(v doc.Value) bool {
	e := v.Get("isError")
	return e.Kind() != doc.Absent && (e.Kind() != doc.Bool || e.Bool())
}

// cursors are the labels at the start of a document; of a failed call those that grant
// nothing.
func cursors(labels []FieldLabel, failed bool) []cursor {
	var at []cursor
	for _, l := range labels {
		if !failed || !l.Label.Loosens() {
			at = append(at, cursor{l.Path.Steps(), l.Label})
		}
	}
	return at
}

// labelled walks a result whose documents have labels: the structured content and the
// text of each block. Everything else in it is outside.
//
// Paths that grant hold in one document: the structured content, and a text that says
// the same; without structured content the first text. In a second text they would find
// whatever whoever wrote it (the body of a mail) shaped like the document.
func (o *observer) labelled(v doc.Value, at []cursor) {
	structured := v.Get("structuredContent")
	has := structured.Kind() != doc.Absent && structured.Kind() != doc.Null
	bound := slices.DeleteFunc(slices.Clone(at), func(c cursor) bool { return len(c.steps) > 0 && c.label.Loosens() })
	first := true
	o.each(v, field{}, nil, 0, func(name string, e doc.Value) bool {
		switch {
		case name == "structuredContent":
			o.document(e, at)
		case name == "content" && e.Kind() == doc.List:
			o.each(e, field{}, nil, 0, func(_ string, block doc.Value) bool {
				o.block(block, func(text string) {
					d, isJSON := jsonDocument(text)
					grants := first && !has || has && isJSON && doc.Equal(d, structured)
					first = false
					if !grants {
						o.textDocument(text, d, isJSON, bound)
						return
					}
					o.textDocument(text, d, isJSON, at)
				})
				return true
			})
		default:
			return false
		}
		return true
	})
}

// block walks one block of content: its text, or that of the resource in it, is a
// document. Other blocks are outside.
func (o *observer) block(v doc.Value, text func(string)) {
	if v.Kind() != doc.Object {
		o.value(v, 0, field{}, nil)
		return
	}
	o.each(v, field{}, nil, 0, func(name string, e doc.Value) bool {
		switch {
		case name == "text" && e.Kind() == doc.String:
			text(e.String())
		case name == "resource" && e.Kind() == doc.Object:
			o.each(e, field{}, nil, 0, func(name string, e doc.Value) bool {
				if name != "text" || e.Kind() != doc.String {
					return false
				}
				text(e.String())
				return true
			})
		default:
			return false
		}
		return true
	})
}

func (o *observer) document(v doc.Value, at []cursor) {
	f, on := field{}.enter(at)
	o.value(v, 0, f, on)
}

// textDocument walks text as what it is: JSON, a header block with what follows it, or
// text.
func (o *observer) textDocument(s string, v doc.Value, isJSON bool, at []cursor) {
	if isJSON {
		o.push(hop{kind: hopJSON})
		o.document(v, at)
		o.pop()
		return
	}
	f, on := field{}.enter(at)
	if len(on) > 0 {
		s = o.headerBlock(s, f, on)
	}
	o.str(s, 0, f)
}

// headerBlock records the lines of a header block that have labels. It returns the text
// without their values.
func (o *observer) headerBlock(s string, f field, at []cursor) string {
	fields := headers(s)
	if len(fields) == 0 {
		return s
	}
	var rest strings.Builder
	from := 0
	for i, h := range fields {
		var here []cursor
		for _, c := range at {
			if c.steps[0].Kind == doc.StepAll || c.steps[0].Kind == doc.StepName && strings.EqualFold(c.steps[0].Name, h.name) {
				here = append(here, cursor{c.steps[1:], c.label})
			}
		}
		if len(here) == 0 {
			continue
		}
		g, _ := f.enter(here)
		if !h.only && g.whole != LabelOutside || !h.only && g.base == LabelInside {
			g.whole, g.base = LabelOutside, LabelOutside
		}
		o.push(hop{kind: hopHeader, pos: i})
		o.str(h.value, jsonDepth, g)
		o.pop()
		rest.WriteString(s[from:h.from])
		from = h.to
	}
	if from == 0 {
		return s
	}
	rest.WriteString(s[from:])
	return rest.String()
}

// grant records that s is, as a whole, a field with a label that says what it is. done is
// false if s must be read as text too.
func (o *observer) grant(s string, l Label) (done bool) {
	o.within(outside)
	if l == LabelID {
		if !idText(s) {
			return false
		}
		d := parseText(trimSpace(s))
		if d.Malformed != "" {
			return false
		}
		o.holds |= holdsID
		o.fact(factID, o.ledger.exactKey(factID, d, d.parts.sigil))
		return true
	}
	d, named, ok := granted(s)
	if !ok {
		return false
	}
	if l == LabelParty {
		o.holds |= holdsParty
		o.fact(factParty, o.ledger.exactKey(factParty, d, d.parts.sigil))
		return false // who is a party may have written it all the same
	}
	o.holds |= holdsVouched
	o.fact(factVouched, o.ledger.exactKey(factVouched, d, d.parts.sigil))
	return !named && (d.Kind != Text || idText(s))
}

// without cuts a name out of text where it stands alone: project-team, but not the start
// of project-team-leaks.
func without(s, name string) string {
	if name == "" {
		return s
	}
	joins := func(c byte) bool { return alnum(c) || c >= utf8.RuneSelf || strings.IndexByte("-_.@/+&", c) >= 0 }
	folded := lowered(s)
	var b strings.Builder
	from := 0
	for at := 0; ; {
		i := strings.Index(folded[at:], name)
		if i < 0 {
			break
		}
		i += at
		end := i + len(name)
		at = i + 1
		after := end
		for after < len(s) && strings.IndexByte(".", s[after]) >= 0 {
			after++ // the end of a sentence
		}
		if i > 0 && joins(s[i-1]) || after < len(s) && joins(s[after]) {
			continue
		}
		b.WriteString(s[from:i])
		from, at = end, end
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// lowered is s with ASCII in lower case, byte for byte as long as s.
func lowered(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = lower[c]
	}
	return string(b)
}

// exact records the destinations that stand in text whose people are known, as they stand.
func (o *observer) exact(s string) {
	keys := o.keys
	for f := range strings.FieldsSeq(s) {
		if !strings.ContainsAny(f, "@.:/") {
			continue
		}
		for _, t := range typedTokens(f) {
			typedToken(t, func(d Destination) {
				if d.Malformed == "" {
					o.fact(factExact, keyOf(keys[factExact], d, d.parts.sigil))
				}
			})
		}
	}
}

// jsonDocument is jsonText that takes a string too.
func jsonDocument(s string) (doc.Value, bool) {
	t := strings.TrimSpace(s)
	if len(t) >= 2 && len(t) <= maxJSON && t[0] == '"' && t[len(t)-1] == '"' {
		v, err := doc.Parse([]byte(t), doc.Limits{})
		return v, err == nil
	}
	return jsonText(s)
}
