package clientconfig

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// blank passes white space, line breaks and comments, as in a list.
func (p *toml) blank() error {
	for {
		p.spaces()
		if err := p.comment(); err != nil {
			return err
		}
		if !p.lineBreak() {
			return nil
		}
	}
}

func (p *toml) value(depth int) (*node, error) {
	if p.nodes++; p.nodes > maxNodes {
		return nil, syntaxError(p.src, p.at, "more than %d values", maxNodes)
	}
	n := &node{start: p.at}
	var err error
	switch c := p.peek(); {
	case (c == '[' || c == '{') && depth == maxDepth:
		return nil, syntaxError(p.src, p.at, "more than %d levels", maxDepth)
	case c == '[':
		n.kind = array
		err = p.list(n, depth)
	case c == '{':
		n.kind = object
		err = p.inline(n, depth)
	case c == '"' || c == '\'':
		n.kind = text
		n.text, err = p.string()
	default:
		err = p.word(n)
	}
	n.end = p.at
	return n, err
}

func (p *toml) list(n *node, depth int) error {
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
		if err := p.blank(); err != nil {
			return err
		}
		switch p.peek() {
		case ',':
			e.comma = p.at
			p.at++
		case ']':
		default:
			return p.unexpected("where a comma or ] is expected")
		}
	}
}

func (p *toml) inline(n *node, depth int) error {
	p.at++
	p.spaces()
	if p.peek() == '}' {
		p.at++
		n.closed = true
		return nil
	}
	for {
		v, err := p.pair(n, 0, depth+1)
		if err != nil {
			return err
		}
		p.spaces()
		switch p.peek() {
		case ',':
			v.comma = p.at
			p.at++
			p.spaces()
		case '}':
			p.at++
			n.close()
			return nil
		default:
			return p.unexpected("where a comma or } is expected")
		}
	}
}

// close makes an inline table final, with the tables that its dotted keys made.
func (n *node) close() {
	n.closed = true
	for _, m := range n.members {
		if m.val.dotted != 0 {
			m.val.close()
		}
	}
}

func (p *toml) string() (string, error) {
	begin := p.at
	q := p.src[p.at]
	long := p.has(string([]byte{q, q, q}))
	p.at++
	if long {
		p.at += 2
		p.lineBreak() // one right after the quotes is not part of the text
	}
	var b []byte
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case c == q && !long:
			p.at++
			return string(b), nil
		case c == q:
			run := 0
			for p.at+run < len(p.src) && p.src[p.at+run] == q && run < 5 {
				run++
			}
			p.at += run
			if run >= 3 {
				return string(append(b, bytes.Repeat([]byte{q}, run-3)...)), nil
			}
			b = append(b, bytes.Repeat([]byte{q}, run)...)
		case long && (c == '\n' || p.has("\r\n")):
			p.lineBreak()
			b = append(b, '\n')
		case c < 0x20 && c != '\t' || c == 0x7f:
			return "", syntaxError(p.src, p.at, "a control character in a text")
		case c == '\\' && q == '"':
			if long && p.folded() {
				continue
			}
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, c)
			p.at++
		}
	}
	return "", syntaxError(p.src, begin, "this text has no end")
}

// folded passes a backslash at the end of a line, with all white space up to the text.
func (p *toml) folded() bool {
	begin := p.at
	p.at++
	p.spaces()
	if !p.lineBreak() {
		p.at = begin
		return false
	}
	for {
		p.spaces()
		if !p.lineBreak() {
			return true
		}
	}
}

func (p *toml) escape() (rune, error) {
	if p.at+1 < len(p.src) {
		c := p.src[p.at+1]
		if r, ok := jsonEscapes[c]; ok && c != '/' {
			p.at += 2
			return r, nil
		}
		digits := map[byte]int{'u': 4, 'U': 8}[c]
		if digits > 0 && len(p.src)-p.at >= 2+digits {
			v, err := strconv.ParseUint(string(p.src[p.at+2:p.at+2+digits]), 16, 32)
			if err == nil && v <= utf8.MaxRune && utf8.ValidRune(rune(v)) {
				p.at += 2 + digits
				return rune(v), nil
			}
		}
	}
	return 0, syntaxError(p.src, p.at, "this escape does not exist")
}

// otherWord is a number, a date or a time.
var otherWord = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`[+-]?(?:0|[1-9](?:_?[0-9])*)`,
	`0x[0-9A-Fa-f](?:_?[0-9A-Fa-f])*`,
	`0o[0-7](?:_?[0-7])*`,
	`0b[01](?:_?[01])*`,
	`[+-]?(?:inf|nan)`,
	`[+-]?(?:0|[1-9](?:_?[0-9])*)(?:\.[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?`,
	`[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})?)?`,
	`[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?`,
}, "|") + `)$`)

// word reads what has no quotes.
func (p *toml) word(n *node) error {
	end := p.at
	isPart := func(i int) bool {
		return i < len(p.src) && (isBare(p.src[i]) || p.src[i] == '+' || p.src[i] == '.' || p.src[i] == ':')
	}
	for isPart(end) {
		end++
	}
	if end-p.at == len("2026-11-30") && end+1 < len(p.src) && p.src[end] == ' ' && isDigit(p.src[end+1]) {
		for end++; isPart(end); {
			end++
		}
	}
	switch w := string(p.src[p.at:end]); {
	case w == "true" || w == "false":
		n.kind, n.yes = boolean, w == "true"
	case otherWord.MatchString(w):
		n.kind = other
	default:
		return p.unexpected("where a value is expected")
	}
	p.at = end
	return nil
}
