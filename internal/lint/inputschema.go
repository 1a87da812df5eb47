package lint

import (
	"encoding/json/jsontext"
	"slices"

	"github.com/sallyport-dev/sallyport/doc"
)

// answer is what a tool's input schema says of one place in the arguments.
type answer struct {
	known   bool        // the schema says what can stand there, or that nothing can
	found   bool        // something can
	types   []string    // JSON Schema types; nil: any
	values  []doc.Value // an enum or const; nil: any
	open    bool        // one of the ways to it names no type
	unbound bool        // one of the ways to it has no enum
}

const (
	maxVisits = 20_000 // sub-schemas looked at for one question
	maxFollow = 32     // nesting
)

// asker answers one question of one schema.
type asker struct {
	root   doc.Value
	visits int
	depth  int
	a      answer
	vague  bool // something could not be followed
}

// ask looks for the place that steps lead to. A schema that lists no properties at all
// says nothing.
func ask(schema doc.Value, steps []doc.Step) answer {
	q := &asker{root: schema}
	q.visit(schema, steps)
	a := q.a
	a.known = !q.vague && q.visits <= maxVisits
	if !a.found {
		// A place that is not listed is only known to be missing where names are listed.
		top := &asker{root: schema}
		a.known = a.known && len(top.names(schema, 0)) > 0
	}
	if a.open {
		a.types = nil
	}
	if a.unbound {
		a.values = nil
	}
	return a
}

func (q *asker) visit(s doc.Value, steps []doc.Step) {
	q.visits++
	q.depth++
	defer func() { q.depth-- }()
	if q.visits > maxVisits || q.depth > maxFollow {
		q.vague = true
		return
	}
	if s.Kind() == doc.Bool && !s.Bool() {
		return // nothing is valid
	}
	if s.Kind() != doc.Object {
		q.anything(steps)
		return
	}
	composed := false
	if ref := s.Get("$ref"); ref.Kind() == doc.String {
		composed = true
		q.visit(q.resolve(ref.String()), steps)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, e := range s.Get(key).Elements() {
			composed = true
			q.visit(e, steps)
		}
	}
	for _, key := range []string{"then", "else"} {
		if e := s.Get(key); e.Kind() != doc.Absent {
			q.visit(e, steps)
		}
	}
	if len(steps) == 0 {
		q.leaf(s, composed)
		return
	}
	q.below(s, steps, composed)
}

// anything is a place about which the schema says nothing.
func (q *asker) anything(steps []doc.Step) {
	if len(steps) > 0 {
		q.vague = true
		return
	}
	q.a.found, q.a.open, q.a.unbound = true, true, true
}

// leaf notes what stands at the place itself.
func (q *asker) leaf(s doc.Value, composed bool) {
	q.a.found = true
	typ := s.Get("type")
	switch {
	case typ.Kind() == doc.String:
		q.a.types = append(q.a.types, typ.String())
	case typ.Kind() == doc.List:
		for _, t := range typ.Elements() {
			q.a.types = append(q.a.types, t.String())
		}
	case s.Get("const").Kind() != doc.Absent:
		q.a.types = append(q.a.types, typeOf(s.Get("const")))
	case s.Get("enum").Kind() == doc.List:
		for _, v := range s.Get("enum").Elements() {
			q.a.types = append(q.a.types, typeOf(v))
		}
	case !composed:
		q.a.open = true
	}
	switch {
	case s.Get("enum").Kind() == doc.List:
		for _, v := range s.Get("enum").Elements() {
			q.a.values = append(q.a.values, v)
		}
	case s.Get("const").Kind() != doc.Absent:
		q.a.values = append(q.a.values, s.Get("const"))
	case !composed:
		q.a.unbound = true
	}
}

// below goes one step on.
func (q *asker) below(s doc.Value, steps []doc.Step, composed bool) {
	step, rest := steps[0], steps[1:]
	props, extra, patterns := s.Get("properties"), s.Get("additionalProperties"), s.Get("patternProperties")
	items, prefix := s.Get("items"), s.Get("prefixItems")
	if step.Kind == doc.StepName {
		if next := props.Get(step.Name); next.Kind() != doc.Absent {
			q.visit(next, rest)
			return
		}
		for m := range patterns.Members() {
			q.visit(m.Value, rest)
		}
		switch {
		case extra.Kind() == doc.Object:
			q.visit(extra, rest)
		case extra.Kind() == doc.Bool && extra.Bool() && props.Len() == 0:
			q.vague = true
		case props.Len() == 0 && !composed && patterns.Len() == 0 && mayBe(s, "object") && extra.Kind() == doc.Absent:
			q.vague = true // an object of which nothing is said
		}
		return
	}
	for _, l := range []doc.Value{items, prefix} {
		for _, e := range l.Elements() {
			q.visit(e, rest)
		}
	}
	if items.Kind() == doc.Object || items.Kind() == doc.Bool {
		q.visit(items, rest)
	}
	if step.Kind == doc.StepAll {
		for m := range props.Members() {
			q.visit(m.Value, rest)
		}
		if extra.Kind() == doc.Object {
			q.visit(extra, rest)
		}
	}
	if !composed && items.Kind() == doc.Absent && prefix.Kind() == doc.Absent && (mayBe(s, "array") || step.Kind == doc.StepAll && mayBe(s, "object") && props.Len() == 0 && extra.Kind() != doc.Object) {
		q.vague = true
	}
}

// mayBe reports that a schema does not rule a type out.
func mayBe(s doc.Value, what string) bool {
	typ := s.Get("type")
	switch typ.Kind() {
	case doc.String:
		return typ.String() == what
	case doc.List:
		for _, t := range typ.Elements() {
			if t.String() == what {
				return true
			}
		}
		return false
	}
	return true
}

// resolve follows a reference within the schema; an unknown one says nothing.
func (q *asker) resolve(ref string) doc.Value {
	if ref == "" || ref[0] != '#' {
		return doc.Value{}
	}
	at := q.root
	for token := range jsontext.Pointer(ref[1:]).Tokens() {
		next := at.Get(token)
		if next.Kind() == doc.Absent {
			return doc.Value{}
		}
		at = next
	}
	return at
}

// names lists the properties of the whole, for hints.
func (q *asker) names(s doc.Value, depth int) []string {
	var l []string
	if depth > maxFollow || s.Kind() != doc.Object {
		return nil
	}
	for m := range s.Get("properties").Members() {
		if len(l) < maxVisits {
			l = append(l, m.Name)
		}
	}
	if ref := s.Get("$ref"); ref.Kind() == doc.String {
		l = append(l, q.names(q.resolve(ref.String()), depth+1)...)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, e := range s.Get(key).Elements() {
			if q.visits++; q.visits < maxVisits {
				l = append(l, q.names(e, depth+1)...)
			}
		}
	}
	slices.Sort(l)
	return slices.Compact(l)
}

// argumentNames are the top-level arguments of a tool, for hints.
func argumentNames(schema doc.Value) []string {
	q := &asker{root: schema}
	return q.names(schema, 0)
}

// jsonTypes are those of JSON Schema; what else stands there is not judged.
var jsonTypes = []string{"string", "integer", "number", "boolean", "null", "array", "object"}

// typeOf is the JSON Schema type of a value.
func typeOf(v doc.Value) string {
	switch v.Kind() {
	case doc.String:
		return "string"
	case doc.Number:
		return "number"
	case doc.Bool:
		return "boolean"
	case doc.List:
		return "array"
	case doc.Object:
		return "object"
	}
	return "null"
}

// fits reports whether a value of this kind can stand there.
func (a answer) fits(v doc.Value) bool {
	if a.types == nil {
		return true
	}
	own := typeOf(v)
	return slices.ContainsFunc(a.types, func(t string) bool {
		return t == own || t == "integer" && own == "number" || !slices.Contains(jsonTypes, t)
	})
}

// only reports that nothing but these types can stand there.
func (a answer) only(types ...string) bool {
	return len(a.types) > 0 && !slices.ContainsFunc(a.types, func(t string) bool { return !slices.Contains(types, t) })
}
