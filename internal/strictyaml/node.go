package strictyaml

import (
	"slices"
	"strconv"
	"strings"
)

type kind uint8

const (
	unread kind = iota // after a problem that is already noted
	scalar
	list
	mapping
)

// Node is one value of the document. It is read only after [Parse]. A value that an
// alias brings in has the place where it is written. The readers report a problem and
// return ok false when the type is another; they never convert.
type Node struct {
	file      string
	line, col int
	kind      kind
	tag       string // of a scalar: !!str, !!int, …
	plain     bool   // a scalar without quotes
	text      string
	raw       string // before variables were replaced, if any were
	items     []*Node
	entries   []Entry
}

// Entry is one key of a mapping and its value.
type Entry struct {
	Key   *Node
	Name  string
	Value *Node
}

// Place is file:line:column, escaped for a terminal.
func (n *Node) Place() string {
	return Problem{File: n.file, Line: n.line, Col: n.col}.place()
}

// IsNull reports null, ~ and a value left out.
func (n *Node) IsNull() bool { return n.kind == scalar && n.tag == "!!null" }

// IsList reports a list. It is for values that may be a list or something else.
func (n *Node) IsList() bool { return n.kind == list }

// Len is the number of elements or entries; 0 for scalars.
func (n *Node) Len() int { return len(n.items) + len(n.entries) }

// Str reads text. Numbers, booleans and null are refused, and so are yes, no, on and
// off without quotes, which other readers take for booleans.
func (n *Node) Str(p *Problems) (string, bool) {
	switch {
	case n.kind == unread:
		return "", false
	case n.kind != scalar || n.tag == "!!null":
		p.Add(n, "write text here, not %s", n.describe())
		return "", false
	case n.tag != "!!str" && n.tag != "!!timestamp":
		p.Add(n, "write text here, not %s; if the text is meant, put it in quotes", n.describe())
		return "", false
	case n.plain && isBoolWord(n.text):
		p.Add(n, "%s can be read as true or false; if the text is meant, put it in quotes", n.text)
		return "", false
	}
	return n.text, true
}

// OneOf reads text that must be one of the choices.
func (n *Node) OneOf(p *Problems, choices ...string) (string, bool) {
	s, ok := n.Str(p)
	if !ok {
		return "", false
	}
	if !slices.Contains(choices, s) {
		p.Add(n, "%s is not one of %s%s", Quote(s), strings.Join(choices, ", "), didYouMean(s, choices))
		return "", false
	}
	return s, true
}

// Bool reads true or false.
func (n *Node) Bool(p *Problems) (value, ok bool) {
	if n.kind == scalar && n.tag == "!!bool" {
		switch n.text {
		case "true", "True", "TRUE":
			return true, true
		case "false", "False", "FALSE":
			return false, true
		}
	}
	if n.kind != unread {
		p.Add(n, "write true or false here, not %s", n.describe())
	}
	return false, false
}

// Int reads a whole decimal number. 0x1F, 0o17, 017 and 1_000 are refused: readers
// differ on them.
func (n *Node) Int(p *Problems) (int64, bool) {
	if n.kind == scalar && n.tag == "!!int" && isDecimal(n.text) {
		i, err := strconv.ParseInt(n.text, 10, 64)
		if err == nil {
			return i, true
		}
		p.Add(n, "the number %s is too large", Quote(n.text))
		return 0, false
	}
	if n.kind != unread {
		p.Add(n, "write a whole decimal number here, not %s", n.describe())
	}
	return 0, false
}

// List reads a list.
func (n *Node) List(p *Problems) ([]*Node, bool) {
	switch n.kind {
	case list:
		return n.items, true
	case scalar:
		if n.tag != "!!null" {
			p.Add(n, "write a list here: [%s]", Quote(n.text))
			return nil, false
		}
		p.Add(n, "write a list here, not %s", n.describe())
	case mapping:
		p.Add(n, "write a list here, not %s", n.describe())
	}
	return nil, false
}

// Strs reads a list of text; each element's Str is then sure to succeed.
func (n *Node) Strs(p *Problems) ([]*Node, bool) {
	items, ok := n.List(p)
	for _, item := range items {
		if _, isText := item.Str(p); !isText {
			ok = false
		}
	}
	if !ok {
		return nil, false
	}
	return items, true
}

// Text is the text of a scalar as it stands after substitution, whatever its type;
// "" for anything else. It is for messages; [Node.Str] is for values.
func (n *Node) Text() string { return n.text }

// Entries lists a mapping in order; what a merge key brought in comes last.
func (n *Node) Entries(p *Problems) ([]Entry, bool) {
	if n.kind == mapping {
		return n.entries, true
	}
	if n.kind != unread {
		p.Add(n, "write a mapping of keys to values here, not %s", n.describe())
	}
	return nil, false
}

// Fields reads a mapping with known keys. Other keys are problems, with the known key
// that looks most like it; the result has only known ones. later maps keys that the
// language has and this version does not have yet to what to say of them.
func (n *Node) Fields(p *Problems, known []string, later map[string]string) (map[string]*Node, bool) {
	entries, ok := n.Entries(p)
	if !ok {
		return nil, false
	}
	fields := make(map[string]*Node, len(entries))
	for _, e := range entries {
		message, isLater := later[e.Name]
		switch {
		case slices.Contains(known, e.Name):
			fields[e.Name] = e.Value
		case isLater:
			p.Add(e.Key, "%s: %s", e.Name, message)
		default:
			p.Add(e.Key, "unknown key %s%s", Quote(e.Name), Hint(e.Name, known))
		}
	}
	return fields, true
}

// describe names what was written, for messages.
func (n *Node) describe() string {
	switch n.kind {
	case list:
		return "a list"
	case mapping:
		return "a mapping"
	case unread:
		return "an unreadable value"
	}
	switch n.tag {
	case "!!null":
		return "null"
	case "!!int", "!!float":
		return "the number " + Quote(n.text)
	case "!!bool":
		return n.text
	}
	return "the text " + Quote(n.text)
}

// isBoolWord reports what YAML 1.1 readers take for a boolean and 1.2 readers do not.
func isBoolWord(s string) bool {
	switch strings.ToLower(s) {
	case "yes", "no", "on", "off":
		return true
	}
	return false
}

func isDecimal(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > 1 && digits[0] == '0' {
		return false
	}
	return strings.Trim(digits, "0123456789") == ""
}
