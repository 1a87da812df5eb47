package ownserver

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Tool is a question that can be asked. It must change nothing.
type Tool struct {
	Name   string
	About  string // what it answers, for the model that may ask
	Params []Param
	// Answer gets arguments that have the parameters' types and no others. Its text is for
	// people and models: safe to print. It should return soon after ctx has ended.
	Answer func(ctx context.Context, args Args) (string, error)
}

// Param is a parameter of a tool. None is required.
type Param struct {
	Name  string
	Type  string // string, boolean, object or array: of JSON Schema
	About string
	Max   int // bytes of a string; 0: as many as fit into a message
}

// Args are the arguments of one call.
type Args struct{ v doc.Value }

// Has reports whether an argument was given.
func (a Args) Has(name string) bool { return a.v.Get(name).Kind() != doc.Absent }

// Text is a string argument, "" without one.
func (a Args) Text(name string) string {
	if v := a.v.Get(name); v.Kind() == doc.String {
		return v.String()
	}
	return ""
}

// Flag is a boolean argument, false without one.
func (a Args) Flag(name string) bool {
	v := a.v.Get(name)
	return v.Kind() == doc.Bool && v.Bool()
}

// Value is an argument as it came, absent without one.
func (a Args) Value(name string) doc.Value { return a.v.Get(name) }

// kinds are the values that a parameter's type stands for.
var kinds = map[string]doc.Kind{"string": doc.String, "boolean": doc.Bool, "object": doc.Object, "array": doc.List}

const maxShown = 120 // characters of a name in an error

// read decodes arguments strictly: no name twice, none that the tool does not have.
func (t *Tool) read(raw []byte) (Args, error) {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	v, err := doc.Parse(raw, doc.Limits{Depth: maxDepth})
	if err != nil {
		return Args{}, fmt.Errorf("the arguments cannot be read: %w", err)
	}
	if v.Kind() != doc.Object {
		return Args{}, fmt.Errorf("the arguments are an object, not a %s", v.Kind())
	}
	for m := range v.Members() {
		p := t.param(m.Name)
		if p == nil {
			return Args{}, fmt.Errorf("there is no argument %s", quote.Value(m.Name, maxShown))
		}
		if m.Value.Kind() != kinds[p.Type] {
			return Args{}, fmt.Errorf("%s is a %s, not a %s", p.Name, p.Type, m.Value.Kind())
		}
		if p.Max > 0 && m.Value.Kind() == doc.String && len(m.Value.String()) > p.Max {
			return Args{}, fmt.Errorf("%s has more than %d bytes", p.Name, p.Max)
		}
	}
	return Args{v}, nil
}

func (t *Tool) param(name string) *Param {
	for i := range t.Params {
		if t.Params[i].Name == name {
			return &t.Params[i]
		}
	}
	return nil
}

// schema is the tool's input schema.
func (t *Tool) schema() json.RawMessage {
	type property struct {
		Type        string `json:"type"`
		Description string `json:"description"`
	}
	properties := make(map[string]property, len(t.Params))
	for _, p := range t.Params {
		properties[p.Name] = property{p.Type, p.About}
	}
	b, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "additionalProperties": false})
	if err != nil {
		panic("ownserver: " + err.Error()) // strings only
	}
	return b
}
