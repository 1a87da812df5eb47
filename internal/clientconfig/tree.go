package clientconfig

import (
	"fmt"
	"unicode/utf8"
)

// Bounds of a file. Claude Code keeps its history in the file of its servers, which so
// grows to some megabytes.
const (
	maxFile    = 32 << 20 // bytes
	maxDepth   = 100
	maxNodes   = 1 << 20
	maxServers = 1000
)

type kind uint8

const (
	object kind = iota + 1
	array
	text
	boolean
	other // numbers, null, dates: what no edit looks at
)

// node is a value with its place in the file: src[start:end]. A table of TOML that is
// written as several lines has no such place.
type node struct {
	kind       kind
	start, end int
	text       string // of a text, decoded
	yes        bool   // of a boolean
	comma      int    // where the comma after it is, 0 for none
	members    []*member
	elems      []*node
	scattered  bool // a TOML table whose members stand on lines of their own

	index    map[string]*member // of a large object
	comments []edit             // of the whole file, in its root
	// TOML only
	closed, header bool // cannot be added to; has a header of its own
	dotted         int  // the section whose dotted key made it, 0 for none
}

// member is one key with its value.
type member struct {
	key              string
	keyStart, keyEnd int // the key as it is written, dots included
	last             int // where its last part begins; keyStart in JSON
	val              *node
}

func (n *node) get(key string) *member {
	if n == nil || n.kind != object {
		return nil
	}
	if n.index != nil {
		return n.index[key]
	}
	for _, m := range n.members {
		if m.key == key {
			return m
		}
	}
	return nil
}

// add reports false if the key is there already.
func (n *node) add(m *member) bool {
	if n.get(m.key) != nil {
		return false
	}
	n.members = append(n.members, m)
	switch {
	case n.index != nil:
		n.index[m.key] = m
	case len(n.members) > 8:
		n.index = make(map[string]*member, 2*len(n.members))
		for _, m := range n.members {
			n.index[m.key] = m
		}
	}
	return true
}

// SyntaxError says where a file stops being readable.
type SyntaxError struct {
	Line, Column int // from 1; columns are characters
	Text         string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Text)
}

func syntaxError(src []byte, at int, format string, args ...any) error {
	at = min(at, len(src))
	e := &SyntaxError{Line: 1, Text: fmt.Sprintf(format, args...)}
	begin := 0
	for i := range src[:at] {
		if src[i] == '\n' {
			e.Line++
			begin = i + 1
		}
	}
	e.Column = utf8.RuneCount(src[begin:at]) + 1
	return e
}
