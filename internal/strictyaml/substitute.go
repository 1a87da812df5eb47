package strictyaml

import (
	"strings"
	"unicode/utf8"
)

// substitute replaces ${VAR} in one text value. What cannot be replaced is a problem
// and stays as it is.
func (c *converter) substitute(n *Node, s string) string {
	var b strings.Builder
	for s != "" {
		i := strings.Index(s, "${")
		if i < 0 {
			break
		}
		if i > 0 && s[i-1] == '$' { // $${ is ${
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		name, rest, closed := strings.Cut(s[i+2:], "}")
		if !closed || !isVariable(name) {
			c.p.Add(n, "${ must be followed by a variable's name and }; write $${ for the two characters themselves")
			b.WriteString(s[i:])
			return b.String()
		}
		b.WriteString(c.variable(n, name))
		s = rest
	}
	return b.String() + s
}

func (c *converter) variable(n *Node, name string) string {
	var value string
	set := false
	if c.lookup != nil {
		value, set = c.lookup(name)
	}
	switch {
	case !set:
		c.p.Add(n, "the variable %s is not set; set it, or write $${ if ${ itself is meant", Quote(name))
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		c.p.Add(n, "the variable %s holds bytes that are not text", Quote(name))
	default:
		if c.subst -= len(value); c.subst >= 0 {
			return value
		}
		c.stop(n, "variables bring in more than %d bytes", maxSubst)
	}
	return ""
}

func isVariable(s string) bool {
	for i := range len(s) {
		b := s[i]
		letter := b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
		if !letter && (i == 0 || b < '0' || b > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 256
}
