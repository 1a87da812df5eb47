package pins

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
)

// Change is one difference between two definitions of a tool.
type Change struct {
	Place    string    // where, as a path; hostile text
	Old, New doc.Value // absent: not there
	Widens   string    // why a person should look twice, safe to show; "" for what only narrows
}

// Difference is everything that differs between two definitions.
type Difference struct {
	Changes []Change
	// Sinks are parameters that look like a destination and did not before; Lost are those
	// that no longer do, so that nothing checks them. Hostile text. Where all arguments
	// are read as destinations, the parameter is "*".
	Sinks, Lost []string
}

// Widens reports whether the new definition may let more happen than the old one.
func (d Difference) Widens() bool {
	return len(d.Sinks)+len(d.Lost) > 0 || slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Widens != "" })
}

// Diff compares two definitions of a tool. An absent old one makes everything new.
func Diff(old, now doc.Value) Difference {
	var d differ
	d.definition(old, now)
	was, is := sinks(old), sinks(now)
	return Difference{Changes: d.changes, Sinks: without(is, was), Lost: without(was, is)}
}

// sinks are the parameters of a tool that nobody described that look like destinations.
func sinks(def doc.Value) []string {
	if def.Kind() == doc.Absent {
		return nil
	}
	c := contract.Fallback(contract.Tool{Name: def.Get("name").String(), Definition: def})
	if !c.Exfiltrating {
		return nil
	}
	if len(c.SinkParams) == 0 {
		return []string{"*"}
	}
	var all []string
	for _, s := range c.SinkParams {
		all = append(all, s.String())
	}
	return all
}

func without(all, these []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(these, s) })
}

// Why something is marked.
const (
	agentReads  = "the agent reads this text"
	hint        = "what the server says of the tool's effects"
	cannotJudge = "cannot be judged here"
	moreValues  = "accepts other values"
	optional    = "no longer required"
	newParam    = "new parameter"
	unlisted    = "accepts parameters that are not listed"
	otherForms  = "accepts other forms"
	usedUnasked = "used when the agent gives nothing"
)

type differ struct{ changes []Change }

func (d *differ) add(place string, old, now doc.Value, widens string) {
	d.changes = append(d.changes, Change{place, old, now, widens})
}

// pairs walks the members of two objects, those of the new one first.
func pairs(old, now doc.Value, each func(name string, old, now doc.Value)) {
	for m := range now.Members() {
		each(m.Name, old.Get(m.Name), m.Value)
	}
	for m := range old.Members() {
		if now.Get(m.Name).Kind() == doc.Absent {
			each(m.Name, m.Value, doc.Value{})
		}
	}
}

func equal(a, b doc.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	return sallyport.DigestDefinition(a) == sallyport.DigestDefinition(b)
}

// equalSchema compares two schemas as definitions are compared.
func equalSchema(a, b doc.Value) bool {
	wrap := func(v doc.Value) doc.Value {
		if v.Kind() == doc.Absent {
			return v
		}
		w, err := doc.FromGo(map[string]any{"inputSchema": v})
		if err != nil {
			return doc.Value{}
		}
		return w
	}
	return equal(wrap(a), wrap(b))
}

func (d *differ) definition(old, now doc.Value) {
	pairs(old, now, func(name string, o, n doc.Value) {
		switch name {
		case "inputSchema", "outputSchema":
			d.schema(name, o, n)
		case "annotations":
			if o.Kind() != doc.Object || n.Kind() != doc.Object {
				d.unequal(name, o, n, hint)
				return
			}
			pairs(o, n, func(inner string, o, n doc.Value) { d.unequal(join(name, inner), o, n, hint) })
		case "title", "description":
			d.unequal(name, o, n, agentReads)
		case "name":
			d.unequal(name, o, n, "")
		default:
			d.unequal(name, o, n, cannotJudge)
		}
	})
}

func (d *differ) unequal(place string, old, now doc.Value, widens string) {
	if !equal(old, now) {
		d.add(place, old, now, widens)
	}
}

func join(place, name string) string {
	if plainName.MatchString(name) && !strings.ContainsAny(name, "./") {
		return place + "." + name
	}
	quoted, _ := doc.FromGo(name)
	return place + "[" + string(quoted.AppendJSON(nil)) + "]"
}

func (d *differ) schema(place string, old, now doc.Value) {
	if equalSchema(old, now) {
		return
	}
	if now.Kind() != doc.Object || !isObject(old) {
		d.add(place, old, now, otherForms)
		return
	}
	before := len(d.changes)
	defer func() {
		if len(d.changes) == before {
			d.add(place, old, now, cannotJudge)
		}
	}()
	pairs(old, now, func(name string, o, n doc.Value) {
		at := join(place, name)
		switch name {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			d.members(at, name, o, n)
		case "items", "additionalItems", "contains", "propertyNames", "if", "then", "else", "contentSchema":
			if o.Kind() == doc.Object && n.Kind() == doc.Object {
				d.schema(at, o, n)
				return
			}
			d.unequalSchema(at, o, n, otherForms)
		case "additionalProperties", "unevaluatedProperties", "unevaluatedItems":
			if o.Kind() == doc.Object && n.Kind() == doc.Object {
				d.schema(at, o, n)
				return
			}
			d.unequalSchema(at, o, n, ifNot(n.Kind() == doc.Bool && !n.Bool(), unlisted))
		default:
			d.keyword(at, name, o, n)
		}
	})
}

func (d *differ) unequalSchema(place string, old, now doc.Value, widens string) {
	if !equalSchema(old, now) {
		d.add(place, old, now, widens)
	}
}

// isObject reports an object, or nothing.
func isObject(v doc.Value) bool { return v.Kind() == doc.Object || v.Kind() == doc.Absent }

// members compares named schemas.
func (d *differ) members(place, keyword string, old, now doc.Value) {
	before := len(d.changes)
	defer func() {
		if len(d.changes) == before && !equalKeyword(keyword, old, now) { // {} against nothing
			d.add(place, old, now, cannotJudge)
		}
	}()
	if !isObject(old) || !isObject(now) {
		return
	}
	pairs(old, now, func(name string, o, n doc.Value) {
		at := join(place, name)
		switch {
		case o.Kind() == doc.Absent && keyword == "properties":
			d.add(at, o, n, newParam)
		case o.Kind() == doc.Absent:
			d.add(at, o, n, cannotJudge)
		case n.Kind() == doc.Absent:
			d.add(at, o, n, ifNot(keyword == "properties" || keyword == "$defs" || keyword == "definitions", otherForms))
		default:
			d.schema(at, o, n)
		}
	})
}

// keyword compares what one keyword of a schema says. Only what is known to narrow goes
// without a mark.
func (d *differ) keyword(place, name string, old, now doc.Value) {
	if equalKeyword(name, old, now) {
		return
	}
	switch name {
	case "description", "title", "$comment", "examples":
		d.add(place, old, now, agentReads)
	case "default":
		d.add(place, old, now, usedUnasked)
	case "required":
		d.add(place, old, now, ifNot(within(old, now), optional))
	case "enum":
		d.add(place, old, now, ifNot(old.Kind() == doc.Absent || now.Kind() == doc.List && within(now, old), moreValues))
	case "type":
		d.add(place, old, now, ifNot(old.Kind() == doc.Absent || now.Kind() != doc.Absent && within(now, old), "accepts other types"))
	case "anyOf", "oneOf":
		d.add(place, old, now, ifNot(now.Kind() == doc.List && within(now, old), otherForms))
	case "allOf":
		d.add(place, old, now, ifNot(within(old, now), otherForms))
	case "pattern", "format", "const", "multipleOf", "uniqueItems":
		d.add(place, old, now, ifNot(old.Kind() == doc.Absent, moreValues))
	case "maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties":
		d.add(place, old, now, ifNot(old.Kind() == doc.Absent || atMost(now, old), moreValues))
	case "minLength", "minimum", "exclusiveMinimum", "minItems", "minProperties":
		d.add(place, old, now, ifNot(old.Kind() == doc.Absent || atMost(old, now), moreValues))
	default:
		d.add(place, old, now, cannotJudge)
	}
}

// equalKeyword compares as the digest does.
func equalKeyword(name string, old, now doc.Value) bool {
	if (old.Kind() == doc.Absent) != (now.Kind() == doc.Absent) {
		return false
	}
	o, err := doc.FromGo(map[string]any{name: old})
	n, err2 := doc.FromGo(map[string]any{name: now})
	return err == nil && err2 == nil && equalSchema(o, n)
}

func ifNot(harmless bool, mark string) string {
	if harmless {
		return ""
	}
	return mark
}

// within reports whether every element of a stands in b; what is no list is its own only
// element, and nothing has none.
func within(a, b doc.Value) bool {
	elements := func(v doc.Value) []doc.Value {
		switch v.Kind() {
		case doc.Absent:
			return nil
		case doc.List:
			var all []doc.Value
			for _, e := range v.Elements() {
				all = append(all, e)
			}
			return all
		default:
			return []doc.Value{v}
		}
	}
	known := make(map[string]bool)
	key := func(v doc.Value) string {
		w, err := doc.FromGo(map[string]any{"inputSchema": v})
		if err != nil {
			return ""
		}
		return fmt.Sprint(v.Kind(), sallyport.DigestDefinition(w))
	}
	for _, e := range elements(b) {
		known[key(e)] = true
	}
	return !slices.ContainsFunc(elements(a), func(e doc.Value) bool { return !known[key(e)] })
}

// atMost reports a <= b, as far as that is certain.
func atMost(a, b doc.Value) bool {
	x, err := strconv.ParseFloat(a.Number(), 64)
	y, err2 := strconv.ParseFloat(b.Number(), 64)
	return err == nil && err2 == nil && x <= y
}
