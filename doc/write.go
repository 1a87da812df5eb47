package doc

import "encoding/json/jsontext"

// AppendJSON appends the value as compact JSON and returns the extended buffer.
// Numbers keep their literals and members their order, so that parsing the result
// gives an [Equal] value. An absent value appends nothing.
func (v Value) AppendJSON(b []byte) []byte {
	switch v.kind {
	case Null:
		return append(b, "null"...)
	case Bool:
		if v.flag {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case Number:
		return append(b, v.str...)
	case String:
		return appendQuoted(b, v.str)
	case List:
		b = append(b, '[')
		for i, e := range v.Elements() {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.AppendJSON(b)
		}
		return append(b, ']')
	case Object:
		return v.appendObject(b)
	default:
		return b
	}
}

func (v Value) appendObject(b []byte) []byte {
	b = append(b, '{')
	first := true
	for m := range v.Members() {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendQuoted(b, m.Name), ':')
		b = m.Value.AppendJSON(b)
	}
	return append(b, '}')
}

// appendQuoted quotes text that is known to be valid UTF-8, so that the error of
// AppendQuote cannot occur.
func appendQuoted(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
