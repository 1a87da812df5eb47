package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Limits of one document.
const (
	MaxSize  = 4 << 20 // bytes of the file
	MaxDepth = 100     // nesting, aliases followed
	MaxNodes = 200_000 // keys and values, aliases followed
	maxSubst = 4 << 20 // bytes that variables may bring in
)

// Parse reads one document: at most [MaxSize] bytes of UTF-8, [MaxDepth] levels and
// [MaxNodes] keys and values, counted after aliases and merge keys are followed. A
// second document, a duplicate key, a tag, a key that is not plain text are problems.
//
// lookup resolves ${VAR} in text values, after parsing, so that a variable cannot
// add structure; $${ stands for ${ itself. An unset variable is a problem. A nil
// lookup knows no variable.
//
// What is wrong goes to p. The result is nil when nothing is left to read; when it is
// not nil, p may still hold problems, and the caller goes on to collect its own.
func Parse(file string, data []byte, lookup func(string) (string, bool), p *Problems) *Node {
	if len(data) > MaxSize {
		p.AddFile(file, "the file has %d bytes; at most %d are read", len(data), MaxSize)
		return nil
	}
	if q, bad := checkText(file, data); bad {
		p.add(q)
		return nil
	}
	root := loadDocument(file, data, p)
	if root == nil {
		return nil
	}
	c := &converter{file: file, lookup: lookup, p: p, nodes: MaxNodes, subst: maxSubst}
	n := c.node(root, 0)
	if c.stopped {
		return nil
	}
	return n
}

// loadDocument returns the root of the only document.
func loadDocument(file string, data []byte, p *Problems) *yaml.Node {
	l, err := yaml.NewLoader(bytes.NewReader(data),
		yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(MaxDepth))))
	if err != nil {
		p.AddFile(file, "cannot be read as YAML: %v", err)
		return nil
	}
	var doc, second yaml.Node
	err = l.Load(&doc)
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		p.AddFile(file, "the file is empty")
		return nil
	}
	if err != nil {
		p.add(syntaxProblem(file, err))
		return nil
	}
	switch err := l.Load(&second); {
	case err == nil:
		p.add(Problem{
			File: file, Line: second.Line, Col: second.Column,
			Text: "a second document starts here; a file holds one, so nothing after --- would be read",
		})
	case !errors.Is(err, io.EOF):
		p.add(syntaxProblem(file, err))
		return nil
	}
	return doc.Content[0]
}

func syntaxProblem(file string, err error) Problem {
	le, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return Problem{File: file, Text: "not readable as YAML: " + err.Error()}
	}
	q := Problem{File: file, Text: "not readable as YAML: " + le.Message}
	if le.ContextMsg != "" {
		q.Text += " (" + le.ContextMsg
		if le.ContextMark.Line > 0 {
			q.Text += fmt.Sprintf(" that starts in line %d", le.ContextMark.Line)
		}
		q.Text += ")"
	}
	if le.Mark.Line > 0 {
		q.Line, q.Col = le.Mark.Line, max(le.Mark.Column, 1)
	}
	return q
}

// checkText finds the first byte that is not UTF-8 or not allowed in YAML: the
// library names no place for them.
func checkText(file string, data []byte) (Problem, bool) {
	line, start := 1, 0
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		text := ""
		switch {
		case r == utf8.RuneError && size <= 1:
			text = "the file is not UTF-8; save it as UTF-8"
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f, r >= 0x80 && r < 0xa0 && r != 0x85,
			r == 0xfffe, r == 0xffff:
			text = "a control character is not allowed here"
		case r == 0x85, r == 0x2028, r == 0x2029, r == '\r' && !bytes.HasPrefix(data[i+1:], []byte("\n")):
			text = "YAML ends a line here, a comment too, and many editors do not; use a plain line feed"
		case unicode.Is(unicode.Bidi_Control, r):
			text = "a bidirectional control character makes the file look other than it is; remove it, or write it as \\u in double quotes"
		case r == '\n':
			line, start = line+1, i+1
		}
		if text != "" {
			return Problem{File: file, Line: line, Col: utf8.RuneCount(data[start:i]) + 1, Text: text}, true
		}
		i += size
	}
	return Problem{}, false
}

// converter turns the library's nodes into this package's. It follows aliases by
// copying, so that the limits count what a reader of the result walks over.
type converter struct {
	file    string
	lookup  func(string) (string, bool)
	p       *Problems
	nodes   int // left
	subst   int // bytes left
	stopped bool
}

func (c *converter) at(y *yaml.Node) *Node {
	return &Node{file: c.file, line: y.Line, col: max(y.Column, 1)}
}

// stop reports a limit once; nothing more is converted.
func (c *converter) stop(n *Node, format string, args ...any) *Node {
	if !c.stopped {
		c.p.Add(n, format, args...)
	}
	c.stopped = true
	return n
}

// node converts y. It never returns nil.
func (c *converter) node(y *yaml.Node, depth int) *Node {
	n := c.at(y)
	if c.stopped {
		return n
	}
	if depth > MaxDepth {
		return c.stop(n, "nested more than %d levels deep, aliases followed", MaxDepth)
	}
	if c.nodes--; c.nodes < 0 {
		return c.stop(n, "more than %d keys and values, aliases followed", MaxNodes)
	}
	switch y.Kind {
	case yaml.AliasNode:
		if y.Alias == nil {
			return c.stop(n, "an alias that names nothing")
		}
		// One level per alias, so that a value inside itself ends at the depth limit.
		return c.node(y.Alias, depth+1)
	case yaml.ScalarNode:
		c.scalar(n, y)
	case yaml.SequenceNode:
		c.checkTag(n, y, "!!seq")
		n.kind = list
		for _, item := range y.Content {
			if c.stopped {
				break
			}
			n.items = append(n.items, c.node(item, depth+1))
		}
	case yaml.MappingNode:
		c.checkTag(n, y, "!!map")
		n.kind = mapping
		c.mapping(n, y, depth)
	default:
		return c.stop(n, "not readable as YAML")
	}
	return n
}

func (c *converter) checkTag(n *Node, y *yaml.Node, want string) {
	if tag := y.ShortTag(); y.Style&yaml.TaggedStyle != 0 && tag != want {
		c.p.Add(n, "the tag %s is not known here; remove it", Quote(tag))
	}
}

func (c *converter) scalar(n *Node, y *yaml.Node) {
	n.kind, n.text = scalar, y.Value
	switch tag := y.ShortTag(); {
	case y.Style&yaml.TaggedStyle != 0:
		c.checkTag(n, y, "!!str")
		n.tag = "!!str"
	case y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		n.tag = "!!str"
	default:
		n.tag, n.plain = tag, true
	}
	if n.tag == "!!str" && strings.Contains(n.text, "${") {
		n.raw = n.text
		n.text = c.substitute(n, n.text)
		n.plain = false // a variable's value is text, whatever it looks like
	}
}

// mapping reads keys and values. Keys that it sets itself beat merged ones.
func (c *converter) mapping(n *Node, y *yaml.Node, depth int) {
	own := make(map[string]*Node, len(y.Content)/2)
	var merge *Entry
	for i := 0; i+1 < len(y.Content) && !c.stopped; i += 2 {
		key, isMerge := c.key(y.Content[i])
		value := c.node(y.Content[i+1], depth+1)
		if key == nil || c.stopped {
			continue
		}
		entry := Entry{Key: key, Name: key.text, Value: value}
		first := own[key.text]
		if isMerge {
			first = nil
			if merge != nil {
				first = merge.Key
			}
		}
		switch {
		case first != nil:
			c.p.Add(key, "the key %s is already set in line %d; remove one", Quote(key.text), first.line)
		case isMerge:
			merge = &entry
		default:
			own[key.text] = key
			n.entries = append(n.entries, entry)
		}
	}
	if merge != nil {
		c.merge(n, *merge, own)
	}
}

// key reads one key of a mapping; nil if it cannot be one.
func (c *converter) key(y *yaml.Node) (key *Node, merge bool) {
	n := c.at(y)
	if c.nodes--; c.nodes < 0 {
		return c.stop(n, "more than %d keys and values, aliases followed", MaxNodes), false
	}
	if y.Kind != yaml.ScalarNode {
		c.p.Add(n, "a key must be text, not %s", map[yaml.Kind]string{
			yaml.SequenceNode: "a list", yaml.MappingNode: "a mapping", yaml.AliasNode: "an alias",
		}[y.Kind])
		return nil, false
	}
	if y.Style&yaml.TaggedStyle == 0 && y.ShortTag() == "!!merge" {
		n.kind, n.text = scalar, y.Value
		return n, true
	}
	n.kind, n.text, n.tag = scalar, y.Value, "!!str"
	quoted := y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	switch tag := y.ShortTag(); {
	case y.Style&yaml.TaggedStyle != 0:
		c.checkTag(n, y, "!!str")
	case strings.Contains(y.Value, "${"):
		c.p.Add(n, "variables are not read in keys; write the key %s out", Quote(y.Value))
	case quoted:
	case y.Value == "" || tag == "!!null":
		c.p.Add(n, "a key is missing here; write it, or in quotes if %s is meant", Quote(y.Value))
		return nil, false
	case tag != "!!str" && tag != "!!timestamp" || isBoolWord(y.Value):
		c.p.Add(n, "the key %s could be read as another type; write it in quotes", y.Value)
	}
	return n, false
}

// merge brings in the entries of << that the mapping does not set itself.
func (c *converter) merge(n *Node, m Entry, own map[string]*Node) {
	sources := []*Node{m.Value}
	if m.Value.kind == list {
		sources = m.Value.items
	}
	merged := map[string]bool{}
	for _, s := range sources {
		if s.kind != mapping {
			c.p.Add(s, "<< takes a mapping or a list of mappings, not %s", s.describe())
			continue
		}
		for _, e := range s.entries {
			switch {
			case own[e.Name] != nil:
			case merged[e.Name]:
				c.p.Add(m.Key, "two merged mappings set the key %s; set it here", Quote(e.Name))
			default:
				merged[e.Name] = true
				n.entries = append(n.entries, e)
			}
		}
	}
}
