package flow

import (
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
)

const (
	maxJSON   = 32 << 20 // bytes of text that is tried as JSON
	jsonDepth = 3        // JSON in text in JSON in text
	maxPlace  = 160      // bytes
)

// An observer turns one output into facts without holding the ledger's lock. It is
// kept for the next output: what it knows to be in the ledger stays in recent.
type observer struct {
	scanner
	ledger *Ledger

	path     []hop
	fam      family
	endorsed bool // what is outside comes from a page or file that the user named
}

// hop is one step of a place.
type hop struct {
	kind hopKind
	pos  int
	name string
}

type hopKind uint8

const (
	hopElement hopKind = iota
	hopMember
	hopName
	hopJSON
	hopHeader
)

func newObserver(l *Ledger) *observer {
	o := &observer{ledger: l}
	o.filled = o.flush
	o.remember()
	o.batch.init()
	o.within(outside)
	return o
}

func (o *observer) observe(out Output) {
	o.info = outputInfo{out.Upstream, out.Tool, out.Call, out.Time}
	o.recorded, o.path = false, o.path[:0]
	o.endorsed, o.skip = out.Endorsed, o.ledger.echoes(out.Echo)
	if at := cursors(out.Labels); len(at) > 0 && !out.Value.Get("isError").Bool() {
		o.labelled(out.Value, at)
	} else {
		o.value(out.Value, 0, field{}, nil)
	}
	o.flush()
	if o.skip != nil {
		o.remember() // what was skipped is not in the ledger
	}
	o.info, o.skip = outputInfo{}, nil
	if cap(o.buf) > 4*window {
		o.buf = nil
	}
}

func cursors(labels []FieldLabel) []cursor {
	var at []cursor
	for _, l := range labels {
		at = append(at, cursor{l.Path.Steps(), l.Label})
	}
	return at
}

// labelled walks a result whose documents have labels: the structured content and the
// text of each block. Everything else in it is outside.
func (o *observer) labelled(v doc.Value, at []cursor) {
	o.each(v, field{}, nil, 0, func(name string, e doc.Value) bool {
		switch {
		case name == "structuredContent":
			o.document(e, at)
		case name == "content" && e.Kind() == doc.List:
			o.each(e, field{}, nil, 0, func(_ string, block doc.Value) bool {
				o.block(block, at)
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
func (o *observer) block(v doc.Value, at []cursor) {
	if v.Kind() != doc.Object {
		o.value(v, 0, field{}, nil)
		return
	}
	o.each(v, field{}, nil, 0, func(name string, e doc.Value) bool {
		switch {
		case name == "text" && e.Kind() == doc.String:
			o.textDocument(e.String(), at)
		case name == "resource" && e.Kind() == doc.Object:
			o.each(e, field{}, nil, 0, func(name string, e doc.Value) bool {
				if name != "text" || e.Kind() != doc.String {
					return false
				}
				o.textDocument(e.String(), at)
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
func (o *observer) textDocument(s string, at []cursor) {
	if v, ok := jsonDocument(s); ok {
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

// mark ends the facts of one scalar.
func (o *observer) mark() {
	from := 0
	if n := len(o.spans); n > 0 {
		from = o.spans[n-1].end
	}
	if len(o.facts) > from {
		o.places = o.appendPlace(o.places)
		o.spans = append(o.spans, span{len(o.facts), len(o.places)})
	}
}

func (o *observer) flush() {
	o.mark()
	if len(o.facts)+len(o.pairs)+len(o.runs)+len(o.lengths) > 0 {
		o.ledger.merge(&o.batch)
	}
	o.batch.reset()
}

// value walks v. The document's own depth bounds the recursion. f is what labels say of
// it, at the paths that go on from it.
func (o *observer) value(v doc.Value, depth int, f field, at []cursor) {
	switch v.Kind() {
	case doc.String:
		o.str(v.String(), depth, f)
	case doc.Number:
		o.str(v.Number(), jsonDepth, f)
	case doc.List, doc.Object:
		o.each(v, f, at, depth, nil)
	}
}

// each walks the children of v. own, if it is there, is asked first, with the name of a
// member, and returns true for what it has walked itself.
func (o *observer) each(v doc.Value, f field, at []cursor, depth int, own func(name string, e doc.Value) bool) {
	if v.Kind() == doc.List {
		o.push(hop{kind: hopElement})
		for i, e := range v.Elements() {
			o.path[len(o.path)-1].pos = i
			if own == nil || !own("", e) {
				o.child(e, depth, f, at, true, "", i, v.Len())
			}
		}
		o.pop()
		return
	}
	names := f
	f.whole = LabelOutside
	o.push(hop{kind: hopMember})
	i := 0
	for m := range v.Members() {
		o.path[len(o.path)-1] = hop{hopMember, i, m.Name}
		o.push(hop{kind: hopName})
		o.str(m.Name, jsonDepth, names)
		o.pop()
		if own == nil || !own(m.Name, m.Value) {
			o.child(m.Value, depth, f, at, false, m.Name, i, v.Len())
		}
		i++
	}
	o.pop()
}

func (o *observer) child(v doc.Value, depth int, f field, at []cursor, list bool, name string, pos, n int) {
	if len(at) > 0 {
		f, at = f.enter(follow(at, list, name, pos, n))
	}
	o.value(v, depth, f, at)
}

func (o *observer) push(h hop) { o.path = append(o.path, h) }
func (o *observer) pop()       { o.path = o.path[:len(o.path)-1] }

// str records one string; text that is a JSON list or object is walked like one, and no
// label holds for a field in it but those of the text around it.
func (o *observer) str(s string, depth int, f field) {
	if f.secret {
		o.secret(s)
	}
	if f.whole != LabelOutside && o.grant(s, f.whole) {
		o.mark()
		return
	}
	if depth < jsonDepth {
		if v, ok := jsonText(s); ok {
			f.whole, f.secret = LabelOutside, false
			o.push(hop{kind: hopJSON})
			o.value(v, depth+1, f, nil)
			o.pop()
			return
		}
	}
	o.within(o.family(f))
	o.text(s)
	unfolded(s, o.text)
	if o.fam != outside {
		o.exact(s)
	}
	o.mark()
}

func (o *observer) family(f field) family {
	switch {
	case f.base == LabelInside:
		return inside
	case o.endorsed:
		return endorsed
	}
	return outside
}

// within sets whose text the facts that follow come from.
func (o *observer) within(f family) {
	o.fam, o.keys = f, &o.ledger.keys[f]
	o.copies, o.pairFacts = o.ledger.copies && f == outside, pairFacts(f)
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
		o.fact(factID, o.ledger.exactKey(factID, d, d.parts.sigil))
		return true
	}
	d, named, ok := granted(s)
	if !ok {
		return false
	}
	if l == LabelParty {
		o.fact(factParty, o.ledger.exactKey(factParty, d, d.parts.sigil))
		return false // who is a party may have written it all the same
	}
	o.fact(factVouched, o.ledger.exactKey(factVouched, d, d.parts.sigil))
	return !named
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

// jsonText parses text that is, as a whole, a JSON list or object.
func jsonText(s string) (doc.Value, bool) {
	t := strings.TrimSpace(s)
	if len(t) < 2 || len(t) > maxJSON || !(t[0] == '{' && t[len(t)-1] == '}' || t[0] == '[' && t[len(t)-1] == ']') {
		return doc.Value{}, false
	}
	v, err := doc.Parse([]byte(t), doc.Limits{})
	return v, err == nil
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

// appendPlace writes the path. Only names that MCP itself defines are spelled out.
func (o *observer) appendPlace(b []byte) []byte {
	start := len(b)
	for i, h := range o.path {
		if len(b)-start > maxPlace {
			return append(b[:start+maxPlace], "…"...)
		}
		switch h.kind {
		case hopElement:
			b = append(strconv.AppendInt(append(b, '['), int64(h.pos), 10), ']')
		case hopName:
			b = append(b, " (name)"...)
		case hopJSON:
			b = append(b, " (JSON) "...)
		case hopHeader:
			b = append(strconv.AppendInt(append(b, " (header "...), int64(h.pos)+1, 10), ')')
		case hopMember:
			if !protocolNames[h.name] {
				b = append(strconv.AppendInt(append(b, "[#"...), int64(h.pos), 10), ']')
				continue
			}
			if i > 0 && o.path[i-1].kind != hopJSON {
				b = append(b, '.')
			}
			b = append(b, h.name...)
		}
	}
	return b
}

// protocolNames are the member names of MCP results, requests and definitions.
var protocolNames = set(
	"content", "text", "structuredContent", "isError", "type", "data", "mimeType", "blob", "uri", "resource", "resources",
	"resourceTemplates", "uriTemplate", "contents", "messages", "role", "prompt", "prompts", "tools", "tool", "name", "title", "description",
	"inputSchema", "outputSchema", "annotations", "arguments", "icons", "src", "instructions", "serverInfo", "version", "capabilities",
	"error", "message", "code", "params", "result", "level", "logger", "completion", "values", "_meta", "task", "taskId", "status",
	"statusMessage", "requestedSchema", "properties", "required", "items", "enum", "default", "websiteUrl", "nextCursor",
	"progressToken", "requestState", "inputRequests", "systemPrompt",
)
