package clientconfig

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

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
