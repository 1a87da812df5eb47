package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
)

const (
	maxBookTools    = 4096 // tools of one conversation whose headers are remembered
	maxParamHeaders = 64   // of one tool
	maxHeaderName   = 128  // bytes
	maxSchemaNodes  = 100_000
)

// ParamHeader says which argument of a tool the header Mcp-Param-{Name} mirrors.
type ParamHeader struct {
	Name string
	Path []string // of the argument, from params.arguments
}

// Value returns the raw argument in the params of a tools/call, nil if there is none or it
// is null: then there is no header.
func (h ParamHeader) Value(params []byte) []byte {
	raw := memberOf(memberOf(params, "arguments"), h.Path...)
	if string(raw) == "null" {
		return nil
	}
	return raw
}

var (
	errHeaderPlace = errors.New("x-mcp-header stands where no header can be derived from")
	errHeaderName  = errors.New("x-mcp-header is not a short name that HTTP allows")
	errHeaderTwice = errors.New("two parameters have the same x-mcp-header")
	errHeaderType  = errors.New("x-mcp-header on a parameter that is not a string, an integer or a boolean")
	errHeaderMany  = errors.New("too many x-mcp-header")
)

// ParamHeaders reads the x-mcp-header annotations of a raw tool definition (2026-07-28,
// streamable-http, "Schema Extension"). The error says why a client that uses HTTP must not
// use the tool. A schema that cannot be read has no annotations.
func ParamHeaders(tool []byte) ([]ParamHeader, error) {
	if !bytes.Contains(tool, []byte("mcp-header")) && !bytes.Contains(tool, []byte(`\u`)) {
		return nil, nil
	}
	schema, err := doc.Parse(memberOf(tool, "inputSchema"), doc.Limits{Nodes: maxSchemaNodes})
	if err != nil {
		return nil, nil
	}
	f := headerFinder{names: map[string]bool{}}
	err = f.schema(schema, nil, true)
	return f.found, err
}

type headerFinder struct {
	found []ParamHeader
	names map[string]bool // in lower case
}

// Keywords of JSON Schema whose value is a schema or a list of them, and those whose value
// is an object of schemas.
var (
	schemaKeywords = []string{
		"additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema", "else", "if", "items", "not",
		"oneOf", "prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
	}
	namedKeywords = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"}
)

// schema reads one schema. reachable says that path leads to one argument, by nothing but
// properties.
func (f *headerFinder) schema(s doc.Value, path []string, reachable bool) error {
	if s.Kind() == doc.List {
		for _, e := range s.Elements() {
			if err := f.schema(e, nil, false); err != nil {
				return err
			}
		}
		return nil
	}
	for m := range s.Members() {
		var err error
		switch {
		case m.Name == "x-mcp-header":
			err = f.annotation(s, m.Value, path, reachable)
		case m.Name == "properties":
			for p := range m.Value.Members() {
				if err = f.schema(p.Value, append(slices.Clip(path), p.Name), reachable); err != nil {
					return err
				}
			}
		case slices.Contains(schemaKeywords, m.Name):
			err = f.schema(m.Value, nil, false)
		case slices.Contains(namedKeywords, m.Name):
			for p := range m.Value.Members() {
				if err = f.schema(p.Value, nil, false); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *headerFinder) annotation(s, value doc.Value, path []string, reachable bool) error {
	name := value.String()
	switch {
	case !reachable || len(path) == 0:
		return errHeaderPlace
	case value.Kind() != doc.String || len(name) > maxHeaderName || !isToken(name):
		return errHeaderName
	case f.names[strings.ToLower(name)]:
		return errHeaderTwice
	case !isPrimitive(s.Get("type")):
		return errHeaderType
	case len(f.found) == maxParamHeaders:
		return errHeaderMany
	}
	f.names[strings.ToLower(name)] = true
	f.found = append(f.found, ParamHeader{Name: name, Path: path})
	return nil
}

// isPrimitive reads a schema's type. One that may also be null is as good: null has no
// header.
func isPrimitive(t doc.Value) bool {
	if t.Kind() == doc.List && t.Len() == 2 {
		switch {
		case t.At(0).String() == "null":
			t = t.At(1)
		case t.At(1).String() == "null":
			t = t.At(0)
		}
	}
	return t.Kind() == doc.String && (t.String() == "string" || t.String() == "integer" || t.String() == "boolean")
}

// isToken reports a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// paramBook remembers what the lists of one conversation said of headers. Safe for
// concurrent use.
type paramBook struct {
	mu    sync.Mutex
	tools map[string][]ParamHeader // none for a tool without
}

// learn reads the answer to a tools/list, and returns it without the tools that the
// specification tells a client to leave out: those with a bad annotation.
func (b *paramBook) learn(answer mcp.Message, log *slog.Logger) mcp.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return mcp.FilterList(answer, "tools", func(tool []byte) bool {
		name, ok := mcp.Str(memberOf(tool, "name"))
		if !ok {
			return false
		}
		headers, err := ParamHeaders(tool)
		if err != nil {
			log.Warn("a tool is left out", "tool", quote.Value(name, 128), "reason", err)
			delete(b.tools, name)
			return true
		}
		if len(headers) == 0 {
			delete(b.tools, name)
			return false
		}
		if b.tools == nil {
			b.tools = map[string][]ParamHeader{}
		}
		if _, known := b.tools[name]; known || len(b.tools) < maxBookTools {
			b.tools[name] = headers
		}
		return false
	})
}

// values returns the headers for a tools/call.
func (b *paramBook) values(m mcp.Message) map[string]string {
	name, _ := mcp.Str(memberOf(m.Params, "name"))
	b.mu.Lock()
	headers := b.tools[name]
	b.mu.Unlock()
	var values map[string]string
	for _, h := range headers {
		text, ok := streamhttp.ParamText(h.Value(m.Params))
		if !ok {
			continue
		}
		if values == nil {
			values = map[string]string{}
		}
		values[h.Name] = text
	}
	return values
}

func sameValues(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		if other, ok := b[name]; !ok || other != value {
			return false
		}
	}
	return true
}

// metaOf returns the _meta that says for whom a request of 2026-07-28 is, without what
// belongs to that one request alone.
func metaOf(m mcp.Message) []byte {
	const prefix = "io.modelcontextprotocol/"
	var b []byte
	for _, name := range []string{"protocolVersion", "clientInfo", "clientCapabilities"} {
		if raw := memberOf(m.Params, "_meta", prefix+name); raw != nil {
			b = fmt.Appendf(b, `,"%s%s":%s`, prefix, name, raw)
		}
	}
	if b == nil {
		return []byte("{}")
	}
	b[0] = '{'
	return append(b, '}')
}
