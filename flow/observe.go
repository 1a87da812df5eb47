package flow

import (
	"strconv"
	"strings"
	"unicode/utf8"

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
	place    []byte // the path, as far as it is written
	fam      family
	endorsed bool     // what is outside comes from a page or file that the user named
	cuts     []string // what the call itself named, and may be read back: names that are words
	long     []longSeen
	number   bool // the scalar is a JSON number

	structured bool // the output has structured content

	followed []cursor                    // of the children that are being walked
	reading  func(string)                // text, as unfolded wants it
	told     [families]map[string]string // names of members that are recorded already
	lists    [32]listName
}

// hop is one step of a place.
type hop struct {
	kind hopKind
	pos  int
	name string
	end  int // of what place has up to this hop; 0: it has none
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
	o.filled, o.reading = o.flush, o.text
	o.remember()
	for f := range o.told {
		o.told[f] = make(map[string]string)
	}
	o.batch.init()
	o.within(outside)
	return o
}

func (o *observer) observe(out Output) {
	o.info = outputInfo{out.Upstream, out.Tool, out.Call, out.Time}
	o.recorded, o.holds, o.path = false, 0, o.path[:0]
	o.endorsed = out.Endorsed
	structured := out.Value.Get("structuredContent")
	o.structured = structured.Kind() != doc.Absent && structured.Kind() != doc.Null
	o.skip, o.cuts = o.ledger.echoes(out.Echo)
	if at := cursors(out.Labels, failed(out.Value)); len(at) > 0 {
		o.labelled(out.Value, at)
	} else {
		o.value(out.Value, 0, field{}, nil)
	}
	o.flush()
	if len(o.skip) > 0 {
		o.forget(o.skip) // what was skipped is not in the ledger
	}
	o.info, o.skip, o.cuts = outputInfo{}, nil, nil
	clear(o.long)
	o.long = o.long[:0]
	clear(o.path[:cap(o.path)]) // names are parts of the text, and would keep all of it
	if cap(o.buf) > 4*window {
		o.buf = nil
	}
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
	if len(o.facts)+len(o.pairs)+len(o.runs)+len(o.pieces) > 0 {
		o.dropSkipped()
		o.ledger.publish(&o.batch)
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
		o.number = true
		o.str(v.Number(), jsonDepth, f)
		o.number = false
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
			o.path[len(o.path)-1] = hop{kind: hopElement, pos: i}
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
		o.path[len(o.path)-1] = hop{kind: hopMember, pos: i, name: m.Name}
		o.push(hop{kind: hopName})
		names.secret = f.secret && strings.ContainsAny(m.Name, "0123456789") // others say what a field is
		o.memberName(m.Name, i, names)
		o.pop()
		if own == nil || !own(m.Name, m.Value) {
			o.child(m.Value, depth, f, at, false, m.Name, i, v.Len())
		}
		i++
	}
	o.pop()
}

func (o *observer) child(v doc.Value, depth int, f field, at []cursor, list bool, name string, pos, n int) {
	if list && (v.Kind() == doc.List || v.Kind() == doc.Object) {
		f.whole = LabelOutside // it lies deeper than the field
	}
	if len(at) == 0 {
		o.value(v, depth, f, nil)
		return
	}
	from := len(o.followed)
	o.followed = follow(o.followed, at, list, name, pos, n)
	f, at = f.enter(o.followed[from:])
	o.value(v, depth, f, at)
	o.followed = o.followed[:from]
}

func (o *observer) push(h hop) { o.path = append(o.path, h) }
func (o *observer) pop()       { o.path = o.path[:len(o.path)-1] }

// str records one string; text that is a JSON list or object is walked like one, and no
// label holds for a field in it but those of the text around it.
func (o *observer) str(s string, depth int, f field) {
	if f.whole != LabelOutside && o.grant(s, f.whole) {
		if f.secret {
			o.secret(s)
		}
		o.mark()
		return
	}
	if depth < jsonDepth {
		if v, ok := jsonText(s); ok {
			f.whole = LabelOutside
			o.push(hop{kind: hopJSON})
			o.value(v, depth+1, f, nil)
			o.pop()
			return
		}
	}
	if f.secret {
		o.secret(s)
	}
	for _, name := range o.cuts {
		s = without(s, name)
	}
	if decoded, text, ok := wholeBase64(s); ok {
		if text {
			f.secret, f.whole = false, LabelOutside
			o.str(strings.ToValidUTF8(decoded, " "), jsonDepth, f)
		}
		return
	}
	o.within(outside)
	o.serverID(s)
	o.within(o.family(f))
	if o.repeated(s) {
		return
	}
	o.text(s)
	if !plainDigits(s) {
		unfolded(s, o.reading)
	}
	if o.fam != outside {
		o.exact(s)
	}
	o.mark()
}

// repeated reports long text that this output has shown before: servers send the same text
// as content and as structured content.
func (o *observer) repeated(s string) bool {
	if len(s) < longText {
		return false
	}
	for _, l := range o.long {
		if l.fam == o.fam && l.text == s {
			return true
		}
	}
	if len(o.long) < maxLong {
		o.long = append(o.long, longSeen{o.fam, s})
	}
	return false
}

const (
	longText = 4 << 10 // bytes
	maxLong  = 8       // long texts of one output that are compared
)

type longSeen struct {
	fam  family
	text string
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
	switch f {
	case inside:
		o.holds |= holdsInside
	case endorsed:
		o.holds |= holdsEndorsed
	}
	o.copies, o.pairFacts = o.ledger.copies && f == outside, pairFacts(f)
}

// jsonText parses text that is, as a whole, a JSON list or object.
func jsonText(s string) (doc.Value, bool) {
	if s == "" || s[0] > ' ' && s[0] < utf8.RuneSelf && s[0] != '{' && s[0] != '[' {
		return doc.Value{}, false
	}
	t := strings.TrimSpace(s)
	if len(t) < 2 || len(t) > maxJSON || !(t[0] == '{' && t[len(t)-1] == '}' || t[0] == '[' && t[len(t)-1] == ']') {
		return doc.Value{}, false
	}
	v, err := doc.ParseText(t, doc.Limits{})
	return v, err == nil
}

// appendPlace writes the path. Only names that MCP itself defines are spelled out. What
// was written of the hops before the last is not written again for each value of a listing.
func (o *observer) appendPlace(b []byte) []byte {
	n := len(o.path)
	if n == 0 {
		return b
	}
	from := n
	for from > 0 && o.path[from-1].end == 0 {
		from--
	}
	p := o.place[:0]
	if from > 0 {
		p = o.place[:o.path[from-1].end]
	}
	for i := from; i < n; i++ {
		if len(p) <= maxPlace {
			p = o.appendHop(p, i)
		}
		o.path[i].end = len(p)
	}
	o.place = p
	if n > 1 && o.path[n-2].end > maxPlace {
		return append(append(b, p[:maxPlace]...), "…"...)
	}
	return append(b, p...)
}

func (o *observer) appendHop(b []byte, i int) []byte {
	switch h := &o.path[i]; h.kind {
	case hopElement:
		b = append(strconv.AppendInt(append(b, '['), int64(h.pos), 10), ']')
	case hopName:
		b = append(b, " (name)"...)
	case hopJSON:
		b = append(b, " (JSON) "...)
	case hopHeader:
		b = append(strconv.AppendInt(append(b, " (header "...), int64(h.pos)+1, 10), ')')
	case hopMember:
		if !o.ownName(h) {
			return append(strconv.AppendInt(append(b, "[#"...), int64(h.pos), 10), ']')
		}
		if i > 0 && o.path[i-1].kind != hopJSON {
			b = append(b, '.')
		}
		b = append(b, h.name...)
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
