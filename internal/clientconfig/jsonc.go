package clientconfig

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// parseJSONC reads JSON with comments and trailing commas, and is strict about the rest:
// one value, valid UTF-8, no key twice. Every value keeps its place.
func parseJSONC(src []byte) (*node, error) {
	if at := firstInvalid(src); at >= 0 {
		return nil, syntaxError(src, at, "this is not UTF-8")
	}
	p := &jsonc{src: src}
	if err := p.blank(); err != nil {
		return nil, err
	}
	if p.at == len(src) {
		return nil, syntaxError(src, p.at, "the file is empty: a client's configuration is an object in braces")
	}
	n, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if err := p.blank(); err != nil {
		return nil, err
	}
	if p.at < len(src) {
		return nil, p.unexpected("after the end of the configuration")
	}
	n.comments = p.comments
	return n, nil
}

func firstInvalid(src []byte) int {
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

type jsonc struct {
	src   []byte
	at    int
	nodes int

	comments []edit
}

func (p *jsonc) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

func (p *jsonc) unexpected(where string) error {
	if p.at >= len(p.src) {
		return syntaxError(p.src, p.at, "the file ends %s", where)
	}
	for _, mark := range []string{"<<<<<<<", "=======", ">>>>>>>"} {
		if bytes.HasPrefix(p.src[p.at:], []byte(mark)) {
			return syntaxError(p.src, p.at, "a merge conflict is left here")
		}
	}
	r, _ := utf8.DecodeRune(p.src[p.at:])
	return syntaxError(p.src, p.at, "unexpected %s %s", quote.Value(string(r), 0), where)
}

// blank passes white space and comments.
func (p *jsonc) blank() error {
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.at++
		case c == '/' && bytes.HasPrefix(p.src[p.at:], []byte("//")):
			begin := p.at
			if end := bytes.IndexAny(p.src[p.at:], "\r\n"); end >= 0 {
				p.at += end
			} else {
				p.at = len(p.src)
			}
			p.comments = append(p.comments, edit{start: begin, end: p.at})
		case c == '/' && bytes.HasPrefix(p.src[p.at:], []byte("/*")):
			end := bytes.Index(p.src[p.at+2:], []byte("*/"))
			if end < 0 {
				return syntaxError(p.src, p.at, "this comment has no end")
			}
			p.comments = append(p.comments, edit{start: p.at, end: p.at + end + 4})
			p.at += end + 4
		default:
			return nil
		}
	}
	return nil
}

func (p *jsonc) value(depth int) (*node, error) {
	if p.nodes++; p.nodes > maxNodes {
		return nil, syntaxError(p.src, p.at, "more than %d values", maxNodes)
	}
	n := &node{start: p.at}
	var err error
	switch c := p.peek(); {
	case (c == '{' || c == '[') && depth == maxDepth:
		return nil, syntaxError(p.src, p.at, "more than %d levels", maxDepth)
	case c == '{':
		n.kind = object
		err = p.object(n, depth)
	case c == '[':
		n.kind = array
		err = p.array(n, depth)
	case c == '"':
		n.kind = text
		n.text, err = p.string()
	case p.word("true"):
		n.kind, n.yes = boolean, true
	case p.word("false"):
		n.kind = boolean
	case p.word("null"):
		n.kind = other
	case c == '-' || c >= '0' && c <= '9':
		n.kind = other
		err = p.number()
	default:
		return nil, p.unexpected("where a value is expected")
	}
	n.end = p.at
	return n, err
}

func (p *jsonc) word(w string) bool {
	rest := p.src[p.at:]
	if !bytes.HasPrefix(rest, []byte(w)) {
		return false
	}
	if len(rest) > len(w) && (isLetter(rest[len(w)]) || isDigit(rest[len(w)])) {
		return false
	}
	p.at += len(w)
	return true
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func (p *jsonc) digits() bool {
	from := p.at
	for isDigit(p.peek()) {
		p.at++
	}
	return p.at > from
}

func (p *jsonc) number() error {
	if p.peek() == '-' {
		p.at++
	}
	switch {
	case p.peek() == '0':
		p.at++
	case !p.digits():
		return p.unexpected("in a number")
	}
	if p.peek() == '.' {
		if p.at++; !p.digits() {
			return p.unexpected("in a number")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if !p.digits() {
			return p.unexpected("in a number")
		}
	}
	if c := p.peek(); isLetter(c) || isDigit(c) || c == '.' {
		return p.unexpected("in a number")
	}
	return nil
}

func (p *jsonc) object(n *node, depth int) error {
	for p.at++; ; {
		if err := p.blank(); err != nil {
			return err
		}
		if p.peek() == '}' {
			p.at++
			return nil
		}
		if p.peek() != '"' {
			return p.unexpected("where a key in double quotes or } is expected")
		}
		m := &member{keyStart: p.at, last: p.at}
		var err error
		if m.key, err = p.string(); err != nil {
			return err
		}
		m.keyEnd = p.at
		if err := p.blank(); err != nil {
			return err
		}
		if p.peek() != ':' {
			return p.unexpected("where : is expected")
		}
		p.at++
		if err := p.blank(); err != nil {
			return err
		}
		if m.val, err = p.value(depth + 1); err != nil {
			return err
		}
		if !n.add(m) {
			return syntaxError(p.src, m.keyStart, "the key %s stands here twice: a client takes one of the two, and which is not certain", quote.Value(m.key, 100))
		}
		if m.val.comma, err = p.comma('}'); err != nil {
			return err
		}
	}
}

func (p *jsonc) array(n *node, depth int) error {
	for p.at++; ; {
		if err := p.blank(); err != nil {
			return err
		}
		if p.peek() == ']' {
			p.at++
			return nil
		}
		e, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.elems = append(n.elems, e)
		if e.comma, err = p.comma(']'); err != nil {
			return err
		}
	}
}

// comma passes the comma after a value and returns its place, 0 if the end follows.
func (p *jsonc) comma(end byte) (int, error) {
	if err := p.blank(); err != nil {
		return 0, err
	}
	switch p.peek() {
	case ',':
		p.at++
		return p.at - 1, nil
	case end:
		return 0, nil
	}
	return 0, p.unexpected("where a comma or " + string(end) + " is expected")
}

// string reads a text in double quotes. Half of a surrogate pair becomes U+FFFD.
func (p *jsonc) string() (string, error) {
	begin := p.at
	var b []byte
	for p.at++; p.at < len(p.src); {
		switch c := p.src[p.at]; {
		case c == '"':
			p.at++
			return string(b), nil
		case c < 0x20:
			return "", syntaxError(p.src, p.at, "a control character in a text")
		case c != '\\':
			b = append(b, c)
			p.at++
		default:
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
		}
	}
	return "", syntaxError(p.src, begin, "this text has no end")
}

var jsonEscapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (p *jsonc) escape() (rune, error) {
	if p.at+1 < len(p.src) {
		c := p.src[p.at+1]
		if r, ok := jsonEscapes[c]; ok {
			p.at += 2
			return r, nil
		}
		if c == 'u' {
			if first, ok := p.hex4(); ok {
				p.at += 6
				if !utf16.IsSurrogate(first) {
					return first, nil
				}
				if second, ok := p.hex4(); ok {
					if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
						p.at += 6
						return r, nil
					}
				}
				return utf8.RuneError, nil
			}
		}
	}
	return 0, syntaxError(p.src, p.at, "this escape does not exist")
}

// hex4 reads \uXXXX at the place, and stays there.
func (p *jsonc) hex4() (rune, bool) {
	if len(p.src)-p.at < 6 || p.src[p.at] != '\\' || p.src[p.at+1] != 'u' {
		return 0, false
	}
	for _, c := range p.src[p.at+2 : p.at+6] {
		if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return 0, false
		}
	}
	v, err := strconv.ParseUint(string(p.src[p.at+2:p.at+6]), 16, 32)
	return rune(v), err == nil
}
