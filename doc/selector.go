package doc

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Selector is a compiled path into a value. Safe for concurrent use. The zero
// Selector, like the empty path, selects the value itself.
//
//	path    = [ first { next } ]
//	first   = name | bracket
//	next    = "." name | bracket
//	bracket = "[" ( index | "*" | "#" count | string ) "]"
//	name    = one or more characters other than . [ ] * " \ , white space, control
//	          and invisible characters; such names are written as a string
//	index   = "0" or "-"? then digits without leading zeros: an element of a list,
//	          a negative one from the end
//	"*"     = every element of a list, or every member of an object
//	count   = "0" or digits without leading zeros: the element or member at that
//	          position, from 0 (how places name a member whose name is long)
//	string  = a JSON string: a member name
//
// Examples: a.b, items[0], items[-1], items[*].id, ["odd key"].x, [0].
type Selector struct {
	steps []step
	text  string // canonical form
	plain bool   // finds at most one value, and text is its place
}

type stepKind uint8

const (
	stepName     stepKind = iota
	stepIndex             // into a list
	stepAll               // [*]
	stepPosition          // [#n]: of a list or an object
)

type step struct {
	kind  stepKind
	name  string
	index int
}

// maxIndexDigits keeps indexes within an int everywhere.
const maxIndexDigits = 9

// SelectorError says what is wrong with a path. Its text quotes nothing from it.
type SelectorError struct {
	Offset int    // bytes from the start of the path
	Want   string // what was expected
}

func (e *SelectorError) Error() string {
	return fmt.Sprintf("selector: at byte %d: %s", e.Offset, e.Want)
}

// ParseSelector compiles a path. Paths such as ".a", "a..b" and "a." are errors.
// Errors are [*SelectorError].
func ParseSelector(s string) (Selector, error) {
	if !utf8.ValidString(s) {
		return Selector{}, &SelectorError{0, "the path is not valid UTF-8"}
	}
	p := selectorParser{in: s}
	for p.pos < len(s) {
		if err := p.step(); err != nil {
			return Selector{}, err
		}
	}
	sel := Selector{steps: p.steps, plain: true}
	var text []byte
	for _, st := range p.steps {
		text = st.append(text)
		if st.kind == stepAll || st.kind == stepPosition || st.index < 0 || len(st.name) > longName {
			sel.plain = false
		}
	}
	sel.text = string(text)
	return sel, nil
}

// String returns the path in its canonical form: quoted only where needed.
func (s Selector) String() string { return s.text }

type selectorParser struct {
	in    string
	pos   int
	steps []step
}

func (p *selectorParser) fail(want string) error { return &SelectorError{p.pos, want} }

func (p *selectorParser) step() error {
	switch {
	case p.in[p.pos] == '[':
		return p.bracket()
	case p.in[p.pos] == '.' && len(p.steps) == 0:
		return p.fail("a path starts with a name, not with a dot")
	case p.in[p.pos] == '.':
		p.pos++
		return p.bareName()
	case len(p.steps) == 0:
		return p.bareName()
	default:
		return p.fail(`expected "." or "["`)
	}
}

func (p *selectorParser) bareName() error {
	n := bareLen(p.in[p.pos:])
	if n == 0 {
		if strings.HasPrefix(p.in[p.pos:], "*") {
			return p.fail(`expected a name; "every element" is written [*]`)
		}
		return p.fail(`expected a name; an odd one is written ["in quotes"]`)
	}
	p.steps = append(p.steps, step{name: p.in[p.pos : p.pos+n]})
	p.pos += n
	return nil
}

func (p *selectorParser) bracket() error {
	p.pos++
	var st step
	var err error
	switch rest := p.in[p.pos:]; {
	case strings.HasPrefix(rest, "]"):
		return p.fail("every element is written [*], the first one [0]")
	case strings.HasPrefix(rest, "*"):
		p.pos++
		st.kind = stepAll
	case strings.HasPrefix(rest, `"`):
		st.name, err = p.quotedName()
	case strings.HasPrefix(rest, "#"):
		p.pos++
		st.kind = stepPosition
		st.index, err = p.integer(false)
	default:
		st.kind = stepIndex
		st.index, err = p.integer(true)
	}
	if err != nil {
		return err
	}
	if !strings.HasPrefix(p.in[p.pos:], "]") {
		return p.fail(`expected "]"`)
	}
	p.pos++
	p.steps = append(p.steps, st)
	return nil
}

func (p *selectorParser) integer(signed bool) (int, error) {
	start, neg := p.pos, false
	if signed && strings.HasPrefix(p.in[p.pos:], "-") {
		neg = true
		p.pos++
	}
	from := p.pos
	for p.pos < len(p.in) && p.in[p.pos] >= '0' && p.in[p.pos] <= '9' {
		p.pos++
	}
	digits := p.in[from:p.pos]
	bad := digits == "" || (digits[0] == '0' && (len(digits) > 1 || neg))
	if bad || len(digits) > maxIndexDigits {
		p.pos = start
		return 0, p.fail(`expected an index such as 0 or -1, "*" or a name in quotes`)
	}
	n, _ := strconv.Atoi(digits)
	if neg {
		n = -n
	}
	return n, nil
}

func (p *selectorParser) quotedName() (string, error) {
	end := p.pos + 1
	for end < len(p.in) && p.in[end] != '"' {
		if p.in[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(p.in) {
		return "", p.fail("the quoted name does not end")
	}
	v, err := Parse([]byte(p.in[p.pos:end+1]), Limits{})
	if err != nil {
		return "", p.fail("the quoted name is not a JSON string")
	}
	p.pos = end + 1
	return v.str, nil
}

// bareLen returns how many bytes at the start of s can stand in a path unquoted.
func bareLen(s string) int {
	for i, r := range s {
		if !bareRune(r) {
			return i
		}
	}
	return len(s)
}

func bareRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < 0x7f && !strings.ContainsRune(`.[]*"\`, r)
	}
	return unicode.IsGraphic(r) && !unicode.IsSpace(r)
}

// append adds the step to a path in canonical form.
func (s step) append(b []byte) []byte {
	switch s.kind {
	case stepIndex:
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(s.index), 10)
		return append(b, ']')
	case stepAll:
		return append(b, "[*]"...)
	case stepPosition:
		b = append(b, "[#"...)
		b = strconv.AppendInt(b, int64(s.index), 10)
		return append(b, ']')
	default:
		return appendName(b, s.name)
	}
}

func appendName(b []byte, name string) []byte {
	if name == "" || bareLen(name) != len(name) {
		return append(appendQuoted(append(b, '['), name), ']')
	}
	if len(b) > 0 {
		b = append(b, '.')
	}
	return append(b, name...)
}
