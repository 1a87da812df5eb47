package clientconfig

import (
	"bytes"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// parseTOML reads TOML 1.0 (https://toml.io/en/v1.0.0) and keeps the place of every value.
// Numbers and dates are checked and not read. What is TOML only since 1.1 is refused: an
// older client would not read it.
func parseTOML(src []byte) (*node, error) {
	if at := firstInvalid(src); at >= 0 {
		return nil, syntaxError(src, at, "this is not UTF-8")
	}
	p := &toml{src: src, root: &node{kind: object, scattered: true, end: len(src)}}
	p.table = p.root
	p.section = 1
	for p.at < len(src) {
		if err := p.line(); err != nil {
			return nil, err
		}
	}
	p.root.comments = p.comments
	return p.root, nil
}

type toml struct {
	src      []byte
	at       int
	nodes    int
	root     *node
	table    *node // that of the last header
	section  int   // its number
	comments []edit
}

func (p *toml) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

func (p *toml) has(s string) bool { return bytes.HasPrefix(p.src[p.at:], []byte(s)) }

func (p *toml) unexpected(where string) error {
	return (&jsonc{src: p.src, at: p.at}).unexpected(where)
}

// spaces passes blanks and tabs.
func (p *toml) spaces() {
	for p.peek() == ' ' || p.peek() == '\t' {
		p.at++
	}
}

// lineBreak passes one, and reports whether there was one.
func (p *toml) lineBreak() bool {
	switch {
	case p.has("\r\n"):
		p.at += 2
	case p.peek() == '\n':
		p.at++
	default:
		return false
	}
	return true
}

// comment passes one, up to the end of its line.
func (p *toml) comment() error {
	if p.peek() != '#' {
		return nil
	}
	begin := p.at
	for p.at < len(p.src) && p.src[p.at] != '\n' && !p.has("\r\n") {
		if c := p.src[p.at]; c < 0x20 && c != '\t' || c == 0x7f {
			return syntaxError(p.src, p.at, "a control character in a comment")
		}
		p.at++
	}
	p.comments = append(p.comments, edit{start: begin, end: p.at})
	return nil
}

func (p *toml) line() error {
	p.spaces()
	var err error
	switch c := p.peek(); {
	case c == '[':
		err = p.header()
	case c != '#' && c != '\n' && c != '\r' && p.at < len(p.src):
		_, err = p.pair(p.table, p.section, 0)
	}
	if err != nil {
		return err
	}
	p.spaces()
	if err := p.comment(); err != nil {
		return err
	}
	if p.at < len(p.src) && !p.lineBreak() {
		return p.unexpected("where the line should end")
	}
	return nil
}

// keyPart is a part of a dotted key.
type keyPart struct {
	text       string
	start, end int
}

func isBare(c byte) bool { return isLetter(c) || isDigit(c) || c == '-' }

// key reads a key with its dots.
func (p *toml) key() ([]keyPart, error) {
	var parts []keyPart
	for {
		part := keyPart{start: p.at}
		var err error
		switch c := p.peek(); {
		case c == '"' || c == '\'':
			if p.has(`"""`) || p.has(`'''`) {
				return nil, p.unexpected("where a key is expected")
			}
			part.text, err = p.string()
		case isBare(c):
			for isBare(p.peek()) {
				p.at++
			}
			part.text = string(p.src[part.start:p.at])
		default:
			err = p.unexpected("where a key is expected")
		}
		if err != nil {
			return nil, err
		}
		part.end = p.at
		if parts = append(parts, part); len(parts) > maxDepth {
			return nil, syntaxError(p.src, p.at, "more than %d levels", maxDepth)
		}
		p.spaces()
		if p.peek() != '.' {
			return parts, nil
		}
		p.at++
		p.spaces()
	}
}

func (p *toml) twice(part keyPart) error {
	return syntaxError(p.src, part.start, "the key %s stands here twice", quote.Value(part.text, 100))
}

// newTable adds a table without a place of its own.
func (p *toml) newTable(to *node, part keyPart) (*node, error) {
	if p.nodes++; p.nodes > maxNodes {
		return nil, syntaxError(p.src, p.at, "more than %d values", maxNodes)
	}
	n := &node{kind: object, scattered: to.scattered, start: part.start, end: part.end}
	to.add(&member{key: part.text, keyStart: part.start, keyEnd: part.end, last: part.start, val: n})
	return n, nil
}

// header reads [a.b] or [[a.b]].
func (p *toml) header() error {
	closing := "]"
	if p.has("[[") {
		closing = "]]"
	}
	p.at += len(closing)
	p.spaces()
	parts, err := p.key()
	if err != nil {
		return err
	}
	if !p.has(closing) {
		return p.unexpected("where " + closing + " is expected")
	}
	p.at += len(closing)
	at := p.root
	for _, part := range parts[:len(parts)-1] {
		next := at.get(part.text).value()
		switch {
		case next == nil:
			if next, err = p.newTable(at, part); err != nil {
				return err
			}
		case next.kind == array && next.header:
			next = next.elems[len(next.elems)-1]
		case next.kind != object || next.closed:
			return p.twice(part)
		}
		at = next
	}
	p.section++
	last := parts[len(parts)-1]
	if closing == "]]" {
		p.table, err = p.element(at, last)
		return err
	}
	n := at.get(last.text).value()
	switch {
	case n == nil:
		if n, err = p.newTable(at, last); err != nil {
			return err
		}
	case n.kind != object || n.closed || n.header || n.dotted != 0:
		return p.twice(last)
	}
	n.header = true
	p.table = n
	return nil
}

// element adds a table to a list of tables.
func (p *toml) element(to *node, part keyPart) (*node, error) {
	list := to.get(part.text).value()
	if list == nil {
		list = &node{kind: array, header: true, start: part.start, end: part.end}
		to.add(&member{key: part.text, keyStart: part.start, keyEnd: part.end, last: part.start, val: list})
	} else if list.kind != array || !list.header {
		return nil, p.twice(part)
	}
	if p.nodes++; p.nodes > maxNodes {
		return nil, syntaxError(p.src, p.at, "more than %d values", maxNodes)
	}
	n := &node{kind: object, scattered: true, header: true, start: part.start, end: part.end}
	list.elems = append(list.elems, n)
	return n, nil
}

// pair reads key = value into table, which is of a section or, with 0, an inline one. It
// returns the value.
func (p *toml) pair(table *node, section, depth int) (*node, error) {
	parts, err := p.key()
	if err != nil {
		return nil, err
	}
	if p.peek() != '=' {
		return nil, p.unexpected("where = is expected")
	}
	p.at++
	p.spaces()
	for _, part := range parts[:len(parts)-1] {
		next := table.get(part.text).value()
		switch {
		case next == nil:
			if next, err = p.newTable(table, part); err != nil {
				return nil, err
			}
			next.dotted = max(section, 1)
		case next.kind != object || next.closed || next.header || next.dotted != 0 && next.dotted != max(section, 1):
			return nil, p.twice(part)
		default:
			next.dotted = max(section, 1) // opened by a header below it, and now by this key
		}
		table = next
	}
	last := parts[len(parts)-1]
	m := &member{key: last.text, keyStart: parts[0].start, keyEnd: last.end, last: last.start}
	if m.val, err = p.value(depth); err != nil {
		return nil, err
	}
	if !table.add(m) {
		return nil, p.twice(last)
	}
	return m.val, nil
}
