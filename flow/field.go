package flow

import (
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
)

// A field is what the labels say of the place where the observer stands.
type field struct {
	base   Label // LabelOutside or LabelInside, for everything below
	whole  Label // LabelID, LabelParty or LabelVouched for the value itself; LabelOutside: none
	secret bool
}

// A cursor is a path that has been followed as far as the observer stands.
type cursor struct {
	steps []doc.Step
	label Label
}

// enter applies the paths that end here. It returns the ones that go on.
func (f field) enter(at []cursor) (field, []cursor) {
	if len(at) == 0 {
		return f, nil
	}
	strictest, found := LabelVouched, false
	goOn := 0
	for _, c := range at {
		switch {
		case len(c.steps) > 0:
			goOn++
		case c.label == LabelSecret:
			f.secret = true
		default:
			strictest, found = min(strictest, c.label), true
		}
	}
	switch {
	case !found:
	case strictest == LabelOutside, strictest == LabelInside:
		f.base, f.whole = strictest, LabelOutside
	default:
		f.whole = strictest
	}
	switch goOn {
	case 0:
		return f, nil
	case len(at):
		return f, at
	}
	on := make([]cursor, 0, goOn)
	for _, c := range at {
		if len(c.steps) > 0 {
			on = append(on, c)
		}
	}
	return f, on
}

// follow appends the paths that lead on to a child. In a list of n elements pos is an
// index, in an object the position of the member called name.
func follow(on, at []cursor, list bool, name string, pos, n int) []cursor {
	for _, c := range at {
		step := c.steps[0]
		match := false
		switch step.Kind {
		case doc.StepAll:
			match = true
		case doc.StepPosition:
			match = step.Index == pos
		case doc.StepIndex:
			match = list && (step.Index == pos || step.Index == pos-n)
		case doc.StepName:
			match = !list && step.Name == name
		}
		if match {
			on = append(on, cursor{c.steps[1:], c.label})
		}
	}
	return on
}

// maxGrant bounds a field that can be granted anything, in bytes.
const maxGrant = 1 << 10

// granted reads a field that is, as a whole, one destination. named reports that other
// text stands beside it, as the display name of an address does.
func granted(s string) (d Destination, named, ok bool) {
	if len(s) > maxGrant {
		return d, false, false
	}
	if _, isJSON := jsonText(s); isJSON {
		return d, false, false
	}
	ds := parseList(s)
	if len(ds) != 1 || ds[0].Malformed != "" {
		return d, false, false
	}
	d = ds[0]
	switch d.Kind {
	case Text:
		// Text round an address or a link vouches for nothing.
		if strings.ContainsAny(s, "@<>\"") && d.parts.sigil == 0 || strings.Contains(s, "://") || strings.ContainsAny(s, "\r\n") {
			return d, false, false
		}
	case Email:
		named = strings.IndexByte(s, '<') >= 0
	}
	return d, named, true
}

// idText reports a value that can be an opaque id: one word that is no destination,
// folded or not.
func idText(s string) bool {
	if s == "" || len(s) > maxGrant {
		return false
	}
	plain := 0
	for plain < len(s) && (alnum(s[plain]) || s[plain] == '-' || s[plain] == '_') {
		plain++
	}
	return plain == len(s) || !strings.ContainsAny(s, "@./:") && hostileText(s) == "" &&
		!strings.ContainsAny(Fold(s), "@./: ")
}

// headerField is one line of a header block.
type headerField struct {
	name, value string
	from, to    int  // of the value in the text
	only        bool // no other line of the block has the name, and nothing continues it
}

const maxHeaders = 200

// headers reads the header block that text starts with, up to its blank line or its end:
// RFC 5322 section 2.2 without folding. A block that ends in another way is none.
func headers(s string) []headerField {
	var fields []headerField
	count := map[string]int{}
	for at := 0; at < len(s); {
		end := strings.IndexByte(s[at:], '\n')
		next := len(s)
		line := s[at:]
		if end >= 0 {
			line, next = s[at:at+end], at+end+1
		}
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			if len(fields) == 0 {
				return nil
			}
			return unrepeated(fields, count)
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !headerName(name) || len(fields) == maxHeaders {
			return nil
		}
		from := at + len(name) + 1
		trimmed := strings.TrimLeft(value, " \t")
		from += len(value) - len(trimmed)
		trimmed = strings.TrimRight(trimmed, " \t")
		fields = append(fields, headerField{name: name, value: trimmed, from: from, to: from + len(trimmed)})
		count[strings.ToLower(name)]++
		at = next
	}
	return unrepeated(fields, count)
}

func unrepeated(fields []headerField, count map[string]int) []headerField {
	for i := range fields {
		fields[i].only = count[strings.ToLower(fields[i].name)] == 1
	}
	return fields
}

// headerName holds words, digits and hyphens; people's servers write "Thread ID: 1".
func headerName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if !alnum(s[i]) && s[i] != '-' && s[i] != '_' && (s[i] != ' ' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return true
}
