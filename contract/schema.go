package contract

import (
	"encoding/json/jsontext"

	"github.com/sallyport-dev/sallyport/doc"
)

// Bounds on what is read of one input schema. A schema beyond them is read as far as
// they go, and truncated is set.
const (
	maxSchemaNodes = 20_000
	maxSchemaDepth = 32
	maxBeside      = 30 // names of one object whose words are read for what stands beside them
)

// param is one place in the arguments that a schema describes: a property, with what
// all the ways to it say together. A list's elements count to the list.
type param struct {
	path        string // a selector
	name        string // as the schema has it
	words       []string
	parents     [][]string      // words of the properties around it, outermost first
	siblings    *[]string       // names of the properties beside it, shared
	besides     map[string]bool // the words of the first of them, shared
	hasText     bool            // strings are accepted
	hasInteger  bool
	untyped     bool // no type is given anywhere
	open        bool // a string that is not one of a fixed list is accepted
	object      bool // it has named properties
	format      string
	pattern     string
	description string
}

// schemaReader collects the params of one schema.
type schemaReader struct {
	root      doc.Value
	params    []*param
	byPath    map[string]*param
	refs      map[string]bool // being followed now
	nodes     int
	truncated bool
	openEnded bool // the whole is no object schema, or accepts names that it does not list
}

// readSchema reads a tool's inputSchema (JSON Schema, any draft that MCP names).
func readSchema(schema doc.Value) *schemaReader {
	r := &schemaReader{root: schema, byPath: map[string]*param{}, refs: map[string]bool{}}
	top := &param{}
	r.visit(schema, top, 0)
	r.openEnded = schema.Kind() != doc.Object || !top.object &&
		(schema.Get("additionalProperties").Kind() != doc.Bool || schema.Get("additionalProperties").Bool())
	return r
}

func (r *schemaReader) visit(s doc.Value, p *param, depth int) {
	if r.nodes++; r.nodes > maxSchemaNodes || depth > maxSchemaDepth {
		r.truncated = true
		return
	}
	if s.Kind() != doc.Object {
		p.untyped, p.open = true, true // true, or something that is no schema
		return
	}
	r.note(s, p)
	if ref := s.Get("$ref"); ref.Kind() == doc.String && !r.refs[ref.String()] {
		r.refs[ref.String()] = true
		target := r.resolve(ref.String())
		if target.Kind() == doc.Absent {
			r.truncated = true // it stands elsewhere: nothing is known of what it accepts
		}
		r.visit(target, p, depth+1)
		delete(r.refs, ref.String())
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, e := range s.Get(key).Elements() {
			r.visit(e, p, depth+1)
		}
	}
	for _, key := range []string{"dependentSchemas", "dependencies"} {
		for m := range s.Get(key).Members() {
			if m.Value.Kind() == doc.Object {
				r.visit(m.Value, p, depth+1)
			}
		}
	}
	for _, key := range []string{"if", "then", "else"} {
		if e := s.Get(key); e.Kind() == doc.Object {
			r.visit(e, p, depth+1)
		}
	}
	r.properties(s.Get("properties"), p, depth)
	r.elements(s, p, depth)
}

// note merges what a schema says of the values themselves.
func (r *schemaReader) note(s doc.Value, p *param) {
	typ := s.Get("type")
	types := []string{typ.String()}
	for _, t := range typ.Elements() {
		types = append(types, t.String())
	}
	closed := s.Get("enum").Kind() == doc.List || s.Get("const").Kind() != doc.Absent
	for _, t := range types {
		switch t {
		case "string":
			p.hasText = true
			p.open = p.open || !closed
		case "integer", "number":
			p.hasInteger = true
		case "array":
			if s.Get("items").Kind() == doc.Absent && s.Get("prefixItems").Kind() == doc.Absent {
				p.untyped, p.open = true, true
			}
		case "object":
			if s.Get("properties").Len() == 0 && s.Get("patternProperties").Len() == 0 && s.Get("additionalProperties").Kind() != doc.Object && p.path != "" {
				p.untyped, p.open = true, true
			}
		case "":
			// A type only said by a sub-schema is found there.
			composed := s.Get("$ref").Kind() != doc.Absent || s.Get("anyOf").Kind() != doc.Absent ||
				s.Get("oneOf").Kind() != doc.Absent || s.Get("allOf").Kind() != doc.Absent ||
				s.Get("properties").Kind() != doc.Absent || s.Get("items").Kind() != doc.Absent
			if typ.Kind() == doc.Absent && !composed {
				p.untyped = true
				p.open = p.open || !closed
			}
		}
	}
	for key, into := range map[string]*string{"format": &p.format, "pattern": &p.pattern, "description": &p.description} {
		if *into == "" {
			*into = s.Get(key).String()
		}
	}
}

// properties reads the named members.
func (r *schemaReader) properties(props doc.Value, p *param, depth int) {
	if props.Kind() != doc.Object || props.Len() == 0 {
		return
	}
	p.object = true
	siblings := make([]string, 0, min(props.Len(), maxSchemaNodes))
	for m := range props.Members() {
		if len(siblings) == maxSchemaNodes {
			break
		}
		siblings = append(siblings, m.Name)
	}
	besides := map[string]bool{}
	for _, name := range siblings[:min(len(siblings), maxBeside)] {
		for _, w := range splitWords(name) {
			besides[w] = true
		}
	}
	for m := range props.Members() {
		if r.truncated {
			return
		}
		path := p.path + quotedStep(m.Name)
		child := r.byPath[path]
		if child == nil {
			child = &param{path: path, name: m.Name, words: splitWords(m.Name), siblings: &siblings, besides: besides}
			if len(p.words) > 0 {
				child.parents = append(append(child.parents, p.parents...), p.words)
			}
			r.byPath[path] = child
			r.params = append(r.params, child)
		}
		r.visit(m.Value, child, depth+1)
	}
}

// elements reads what stands in a list, or under names that are not listed. Scalars
// count to p itself, because a selector of the list finds them.
func (r *schemaReader) elements(s doc.Value, p *param, depth int) {
	inside := *p
	inside.path += "[*]"
	inside.object = false
	visit := func(e doc.Value) {
		if e.Kind() == doc.Object {
			r.visit(e, &inside, depth+1)
		}
	}
	items := s.Get("items")
	visit(items)
	for _, list := range []doc.Value{items, s.Get("prefixItems")} {
		for _, e := range list.Elements() {
			visit(e)
		}
	}
	for _, key := range []string{"additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems", "contains"} {
		visit(s.Get(key))
	}
	for m := range s.Get("patternProperties").Members() {
		visit(m.Value)
	}
	path, object := p.path, p.object || inside.object
	*p = inside
	p.path, p.object = path, object
}

// resolve follows a reference within the schema: #, #/$defs/name and the like.
// Anything else is unknown, and an unknown schema accepts anything.
func (r *schemaReader) resolve(ref string) doc.Value {
	if len(ref) == 0 || ref[0] != '#' {
		return doc.Value{}
	}
	at := r.root
	for token := range jsontext.Pointer(ref[1:]).Tokens() {
		if at = at.Get(token); at.Kind() == doc.Absent {
			break
		}
	}
	return at
}

// selectorText is the path in the form in which selectors print.
func (p *param) selectorText() string {
	sel, err := doc.ParseSelector(p.path)
	if err != nil {
		return p.path
	}
	return sel.String()
}

// quotedStep writes one name of a path so that any name can stand there.
func quotedStep(name string) string {
	b, _ := jsontext.AppendQuote([]byte("["), name)
	return string(append(b, ']'))
}
