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
	path   []hop
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
)

func newObserver(l *Ledger) *observer {
	o := &observer{ledger: l}
	o.keys, o.filled = &l.keys, o.flush
	o.copies, o.recent, o.hosts = l.copies, new(recent), new([4 << 10]uint64)
	o.recentPairs = new([32 << 10]uint64)
	o.batch.init()
	return o
}

func (o *observer) observe(out Output) {
	o.info = outputInfo{out.Upstream, out.Tool, out.Call, out.Time}
	o.recorded, o.path = false, o.path[:0]
	o.value(out.Value, 0)
	o.flush()
	o.info = outputInfo{}
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
	if len(o.facts)+len(o.pairs)+len(o.runs) > 0 {
		o.ledger.merge(&o.batch)
	}
	o.batch.reset()
}

// value walks v. The document's own depth bounds the recursion.
func (o *observer) value(v doc.Value, depth int) {
	switch v.Kind() {
	case doc.String:
		o.str(v.String(), depth)
	case doc.Number:
		o.text(v.Number())
		o.mark()
	case doc.List:
		o.push(hop{kind: hopElement})
		for i, e := range v.Elements() {
			o.path[len(o.path)-1].pos = i
			o.value(e, depth)
		}
		o.pop()
	case doc.Object:
		o.members(v, depth)
	}
}

func (o *observer) members(v doc.Value, depth int) {
	o.push(hop{kind: hopMember})
	i := 0
	for m := range v.Members() {
		o.path[len(o.path)-1] = hop{hopMember, i, m.Name}
		o.push(hop{kind: hopName})
		o.str(m.Name, jsonDepth)
		o.pop()
		o.value(m.Value, depth)
		i++
	}
	o.pop()
}

func (o *observer) push(h hop) { o.path = append(o.path, h) }
func (o *observer) pop()       { o.path = o.path[:len(o.path)-1] }

// str records one string; text that is a JSON list or object is walked like one.
func (o *observer) str(s string, depth int) {
	if depth < jsonDepth {
		if v, ok := jsonText(s); ok {
			o.push(hop{kind: hopJSON})
			o.value(v, depth+1)
			o.pop()
			return
		}
	}
	o.text(s)
	unfolded(s, o.text)
	o.mark()
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
