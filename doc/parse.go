package doc

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

// Defaults of [Limits], and the bound that Depth cannot exceed.
const (
	DefaultDepth = 500
	DefaultNodes = 4_000_000
	MaxDepth     = 9_000
)

// Limits bound what [Parse] accepts. A zero field means the default.
type Limits struct {
	Depth int // nesting of lists and objects; default 500, at most 9,000
	Nodes int // values in the tree; default 4,000,000
}

func (l Limits) withDefaults() Limits {
	if l.Depth <= 0 {
		l.Depth = DefaultDepth
	}
	l.Depth = min(l.Depth, MaxDepth)
	if l.Nodes <= 0 {
		l.Nodes = DefaultNodes
	}
	return l
}

// ParseError says why and where a document was refused. It quotes nothing from it.
type ParseError struct {
	Offset int64  // bytes from the start
	Reason string // a fixed text
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("JSON refused at byte %d: %s", e.Offset, e.Reason)
}

// Parse decodes exactly one JSON value (RFC 8259, with the restrictions of RFC 7493
// on names and text: no duplicate names, valid UTF-8, no lone surrogates). White
// space around it is allowed, other data is not. The Value keeps no reference to
// data. Errors are [*ParseError] and safe to print.
func Parse(data []byte, lim Limits) (Value, error) { return parse(data, "", lim) }

// ParseText is [Parse] for text. Strings of the Value share the memory of s.
func ParseText(s string, lim Limits) (Value, error) { return parse(nil, s, lim) }

func parse(data []byte, text string, lim Limits) (Value, error) {
	p := parsers.Get().(*parser)
	defer p.release()
	if data == nil {
		p.text = append(p.text[:0], text...) // of which the Value keeps nothing
		data = p.text
	}
	p.data, p.win, p.shared = data, text, text != ""
	p.lim = lim.withDefaults()
	p.src = *bytes.NewBuffer(data)
	p.dec.Reset(&p.src)

	v, err := p.value(0)
	if err != nil {
		return Value{}, p.explain(err)
	}
	if _, err := p.dec.ReadToken(); err != io.EOF {
		if err == nil {
			err = p.refuse("more data after the value")
		}
		return Value{}, p.explain(err)
	}
	return v, nil
}

const (
	// Verbatim text is copied in windows of this size rather than one by one: one
	// allocation serves many short strings, and none keeps much more than itself alive.
	window = 2 << 10
	// The same for members, and for objects.
	spareMembers = 32
	spareObjects = 4
	// Scratch space above these sizes is not kept for the next document.
	keepScratch = 64 << 10
	keepText    = 1 << 20
	keepStack   = 1 << 10
)

var parsers = sync.Pool{New: func() any {
	return &parser{dec: jsontext.NewDecoder(new(bytes.Buffer))}
}}

// parser is the state of one Parse, pooled because a decoder is large.
type parser struct {
	dec  *jsontext.Decoder
	src  bytes.Buffer
	data []byte
	lim  Limits

	nodes int

	win      string // copy of data[winStart:winStart+len(win)]
	winStart int
	shared   bool // the copy is the text itself

	list    []Value  // elements of the lists that are open, innermost last
	members []Member // members of the objects that are open, innermost last
	scratch []byte
	text    []byte // what the decoder reads of a text

	spare   []Member // room for the members of objects
	objects []kids   // and for what points to them
}

// release drops everything that belongs to the document.
func (p *parser) release() {
	p.src = bytes.Buffer{}
	p.dec.Reset(&p.src)
	p.data, p.win, p.winStart, p.nodes = nil, "", 0, 0
	p.spare, p.objects = nil, nil
	p.list = recycle(p.list, keepStack)
	p.members = recycle(p.members, keepStack)
	if cap(p.scratch) > keepScratch {
		p.scratch = nil
	}
	if cap(p.text) > keepText {
		p.text = nil
	}
	parsers.Put(p)
}

func recycle[T any](s []T, limit int) []T {
	if cap(s) > limit {
		return nil
	}
	clear(s[:cap(s)])
	return s[:0]
}

func (p *parser) refuse(reason string) *ParseError {
	return &ParseError{Offset: p.dec.InputOffset(), Reason: reason}
}

// explain turns the decoder's error, which may quote the document, into a fixed text.
func (p *parser) explain(err error) error {
	var own *ParseError
	if errors.As(err, &own) {
		return own
	}
	e := &ParseError{Offset: p.dec.InputOffset(), Reason: "not valid JSON"}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		e.Offset = syntax.ByteOffset
	}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		e.Reason = "two members of one object have the same name"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e.Reason = "the data ends before the value does"
	case !utf8.Valid(p.data):
		e.Reason = "not valid UTF-8"
	}
	return e
}

func (p *parser) value(depth int) (Value, error) {
	if p.nodes++; p.nodes > p.lim.Nodes {
		return Value{}, p.refuse("too many values")
	}
	switch kind := p.dec.PeekKind(); kind {
	case '{', '[':
		if depth >= p.lim.Depth {
			return Value{}, p.refuse("nested too deeply")
		}
		if _, err := p.dec.ReadToken(); err != nil {
			return Value{}, err
		}
		if kind == '{' {
			return p.object(depth + 1)
		}
		return p.elements(depth + 1)
	default:
		return p.scalar()
	}
}

func (p *parser) object(depth int) (Value, error) {
	base := len(p.members)
	for p.dec.PeekKind() != '}' {
		raw, err := p.dec.ReadValue()
		if err != nil {
			return Value{}, err
		}
		name, err := p.unquoted(raw)
		if err != nil {
			return Value{}, err
		}
		v, err := p.value(depth)
		if err != nil {
			return Value{}, err
		}
		p.members = append(p.members, Member{Name: name, Value: v})
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return Value{}, err
	}
	v := p.objectOf(p.members[base:])
	p.members = p.members[:base]
	return v, nil
}

// objectOf is objectOf for a copy of members. Small objects share an allocation with those
// beside them.
func (p *parser) objectOf(members []Member) Value {
	n := len(members)
	if n == 0 || n > spareMembers/2 {
		return objectOf(append([]Member(nil), members...))
	}
	if n > len(p.spare) {
		p.spare = make([]Member, max(n, min(p.nodes/2, spareMembers))) // little for a small document
	}
	if len(p.objects) == 0 {
		p.objects = make([]kids, max(1, min(p.nodes/16, spareObjects)))
	}
	k := &p.objects[0]
	k.members = p.spare[:n:n]
	copy(k.members, members)
	p.spare, p.objects = p.spare[n:], p.objects[1:]
	return Value{kind: Object, kids: k}
}

func (p *parser) elements(depth int) (Value, error) {
	base := len(p.list)
	for p.dec.PeekKind() != ']' {
		v, err := p.value(depth)
		if err != nil {
			return Value{}, err
		}
		p.list = append(p.list, v)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return Value{}, err
	}
	v := listOf(append([]Value(nil), p.list[base:]...))
	p.list = p.list[:base]
	return v, nil
}

func (p *parser) scalar() (Value, error) {
	raw, err := p.dec.ReadValue()
	if err != nil {
		return Value{}, err
	}
	switch raw[0] {
	case 'n':
		return Value{kind: Null}, nil
	case 't':
		return Value{kind: Bool, flag: true}, nil
	case 'f':
		return Value{kind: Bool}, nil
	case '"':
		s, err := p.unquoted(raw)
		return Value{kind: String, str: s}, err
	default:
		end := int(p.dec.InputOffset())
		return Value{kind: Number, str: p.verbatim(end-len(raw), end)}, nil
	}
}

// unquoted decodes the quoted string that the decoder has just read.
func (p *parser) unquoted(raw jsontext.Value) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		end := int(p.dec.InputOffset())
		return p.verbatim(end-len(raw)+1, end-1), nil
	}
	var err error
	p.scratch, err = jsontext.AppendUnquote(p.scratch[:0], raw)
	if err != nil {
		return "", err
	}
	return string(p.scratch), nil
}

// verbatim copies data[from:to].
func (p *parser) verbatim(from, to int) string {
	if to-from > window/4 && !p.shared {
		return string(p.data[from:to])
	}
	if p.win == "" || from < p.winStart || to > p.winStart+len(p.win) {
		p.winStart = from
		p.win = string(p.data[from:min(from+window, len(p.data))])
	}
	return p.win[from-p.winStart : to-p.winStart]
}
