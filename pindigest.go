package sallyport

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
)

// PinDigest stands for a tool's definition. Definitions that differ only in an order that
// means nothing have the same: that of members, and in schemas that of required, enum,
// type, allOf, anyOf and oneOf.
type PinDigest [sha256.Size]byte

// String is the digest in hexadecimal, 64 characters.
func (d PinDigest) String() string { return hex.EncodeToString(d[:]) }

// DigestDefinition returns the digest of a tool's definition: the whole element of
// tools/list. It is linear in the definition's size but for sorting.
func DigestDefinition(v Value) PinDigest {
	return sha256.Sum256(appendDefinition(nil, v))
}

// appendDefinition writes a definition in one form. Its schemas are read as schemas,
// everything else as plain data, where the order of a list may mean something.
func appendDefinition(b []byte, v Value) []byte {
	return appendMembers(b, v, appendPart)
}

func appendPart(b []byte, name string, v Value) []byte {
	if name == "inputSchema" || name == "outputSchema" {
		return appendSchema(b, v)
	}
	return appendPlain(b, v)
}

// appendSchema writes a JSON Schema.
func appendSchema(b []byte, v Value) []byte {
	return appendMembers(b, v, func(b []byte, name string, v Value) []byte {
		switch name {
		case "required", "enum", "type":
			return appendSet(b, v, appendPlain)
		case "allOf", "anyOf", "oneOf":
			return appendSet(b, v, appendSchema)
		case "prefixItems":
			return appendElements(b, v, appendSchema)
		case "items", "additionalItems":
			if v.Kind() == doc.List {
				return appendElements(b, v, appendSchema)
			}
			return appendSchema(b, v)
		case "not", "if", "then", "else", "additionalProperties", "unevaluatedProperties", "unevaluatedItems",
			"contains", "propertyNames", "contentSchema":
			return appendSchema(b, v)
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			return appendMembers(b, v, func(b []byte, _ string, v Value) []byte { return appendSchema(b, v) })
		case "dependentRequired":
			return appendMembers(b, v, func(b []byte, _ string, v Value) []byte { return appendSet(b, v, appendPlain) })
		case "dependencies":
			return appendMembers(b, v, func(b []byte, _ string, v Value) []byte {
				if v.Kind() == doc.List {
					return appendSet(b, v, appendPlain)
				}
				return appendSchema(b, v)
			})
		default:
			return appendPlain(b, v)
		}
	})
}

// appendPlain writes data: only the order of members means nothing.
func appendPlain(b []byte, v Value) []byte {
	switch v.Kind() {
	case doc.Object:
		return appendMembers(b, v, func(b []byte, _ string, v Value) []byte { return appendPlain(b, v) })
	case doc.List:
		return appendElements(b, v, appendPlain)
	default:
		return v.AppendJSON(b)
	}
}

// appendMembers writes an object by names; what is none is written as plain data.
func appendMembers(b []byte, v Value, each func(b []byte, name string, v Value) []byte) []byte {
	if v.Kind() != doc.Object {
		return appendPlain(b, v)
	}
	members := slices.Collect(v.Members())
	slices.SortFunc(members, func(a, c doc.Member) int { return strings.Compare(a.Name, c.Name) })
	b = append(b, '{')
	for _, m := range members {
		b = strconv.AppendQuote(b, m.Name)
		b = append(b, ':')
		b = append(each(b, m.Name, m.Value), ',')
	}
	return append(b, '}')
}

func appendElements(b []byte, v Value, each func([]byte, Value) []byte) []byte {
	if v.Kind() != doc.List {
		return appendPlain(b, v)
	}
	b = append(b, '[')
	for _, e := range v.Elements() {
		b = append(each(b, e), ',')
	}
	return append(b, ']')
}

// appendSet writes a list whose order means nothing, as the digests of its elements: so
// what is nested deeply is not copied at every level. Elements that stand twice stay.
func appendSet(b []byte, v Value, each func([]byte, Value) []byte) []byte {
	if v.Kind() != doc.List {
		return appendPlain(b, v)
	}
	all := make([]PinDigest, 0, v.Len())
	for _, e := range v.Elements() {
		all = append(all, sha256.Sum256(each(nil, e)))
	}
	slices.SortFunc(all, func(a, c PinDigest) int { return bytes.Compare(a[:], c[:]) })
	b = append(b, '[')
	for _, e := range all {
		b = append(b, e[:]...)
	}
	return append(b, ']')
}

// parts are the members of a definition that a reason may name; others are an upstream's
// own words.
var parts = []string{"title", "description", "inputSchema", "outputSchema", "annotations", "execution", "icons", "_meta"}

// changedParts names the parts in which two definitions differ.
func changedParts(old, now Value) string {
	var changed []string
	for _, name := range parts {
		if !bytes.Equal(appendPart(nil, name, old.Get(name)), appendPart(nil, name, now.Get(name))) {
			changed = append(changed, name)
		}
	}
	if len(changed) == 0 {
		return "other members"
	}
	return strings.Join(changed, ", ")
}
