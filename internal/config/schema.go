package config

import (
	"bytes"
	"encoding/json"
)

// Schema is the JSON Schema (2020-12) of the file, indented, with a line end. It says
// what shape a file has: keys, types, choices and what has to be there. What depends on
// other parts of the file, on the environment or on the system is the loader's.
func Schema() []byte {
	defs := fragment{}
	for _, o := range objects {
		defs = append(defs, member{o.name, o.schema()})
	}
	defs = append(defs, values...)
	var anyKey []any
	for _, k := range objects[0].keys {
		anyKey = append(anyKey, fragment{{"required", []string{k.name}}})
	}
	root := fragment{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", SchemaID},
		{"title", "Sallyport configuration"},
		{"description", "A configuration, or, in a file without any of its keys, contracts alone."},
		{"type", "object"},
		{"if", fragment{{"anyOf", anyKey}}},
		{"then", ref("configuration")},
		{"else", ref("contracts")},
		{"$defs", defs},
	}
	b, err := json.Marshal(root)
	if err != nil {
		panic(err) // constant input
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		panic(err) // as above
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// SchemaID names the schema. Nothing is ever fetched from there.
const SchemaID = "https://github.com/sallyport-dev/sallyport/docs/sallyport.schema.json"

// fragment is a JSON object whose members keep their order.
type fragment []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (f fragment) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range f {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		var value bytes.Buffer
		e := json.NewEncoder(&value)
		e.SetEscapeHTML(false)
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(bytes.TrimSpace(value.Bytes()))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// object is one kind of mapping with known keys. The loader has the same keys, and a
// test compares them.
type object struct {
	name string // in $defs
	doc  string
	keys []key
	more fragment // what else holds
}

type key struct {
	name     string
	doc      string
	value    fragment
	required bool
}

func (o object) schema() fragment {
	props := fragment{}
	required := []string{}
	for _, k := range o.keys {
		props = append(props, member{k.name, append(fragment{{"description", k.doc}}, k.value...)})
		if k.required {
			required = append(required, k.name)
		}
	}
	f := fragment{{"description", o.doc}, {"type", "object"}, {"properties", props}, {"additionalProperties", false}}
	if len(required) > 0 {
		f = append(f, member{"required", required})
	}
	return append(f, o.more...)
}

func ref(name string) fragment { return fragment{{"$ref", "#/$defs/" + name}} }

func typed(name string) fragment { return fragment{{"type", name}} }

// text is a string of at least one character.
func text() fragment { return fragment{{"type", "string"}, {"minLength", 1}} }

// enum is a choice. A variable may stand for it.
func enum(choices ...string) fragment {
	return fragment{{"anyOf", []any{fragment{{"enum", choices}}, ref("variable")}}}
}

// parameter is the path of a parameter in a contract, which has no args. before it.
func parameter() fragment {
	return append(text(), fragment{{"not", fragment{{"pattern", `^args\..`}}}}...)
}

// shaped is text with a form. A variable may stand in it.
func shaped(pattern string) fragment {
	return fragment{{"anyOf", []any{fragment{{"type", "string"}, {"pattern", pattern}}, ref("variable")}}}
}

func integer(least, most int64) fragment {
	return fragment{{"type", "integer"}, {"minimum", least}, {"maximum", most}}
}

// list has at least one element.
func list(item fragment) fragment {
	return fragment{{"type", "array"}, {"minItems", 1}, {"items", item}}
}

// listOrNone may be empty.
func listOrNone(item fragment) fragment { return fragment{{"type", "array"}, {"items", item}} }

// byName maps names of the author's own choice.
func byName(name string, value fragment, least int) fragment {
	f := fragment{{"type", "object"}, {"propertyNames", fragment{{"type", "string"}, {"pattern", name}}}, {"additionalProperties", value}}
	if least > 0 {
		f = append(f, member{"minProperties", least})
	}
	return f
}

func (f fragment) with(name string, value any) fragment { return append(f, member{name, value}) }
