package strictyaml

// File is the name of the file that the node was read from, as given to [Parse].
func (n *Node) File() string { return n.file }

// Line and column count from 1.
func (n *Node) Line() int { return n.line }

// Col is the column, in characters.
func (n *Node) Col() int { return n.col }

// Written is the text of a scalar as it stands in the file, before variables are
// replaced; "" for anything else. A check for secrets reads it, because what a variable
// brings in does not stand in the file.
func (n *Node) Written() string {
	if n.raw != "" {
		return n.raw
	}
	return n.text
}

// IsText reports a scalar that is text, whatever it would be allowed to hold.
func (n *Node) IsText() bool {
	return n.kind == scalar && (n.tag == "!!str" || n.tag == "!!timestamp")
}

// IsMapping reports a mapping.
func (n *Node) IsMapping() bool { return n.kind == mapping }

// Items are the elements of a list; nil for anything else, a nil node included. It
// reports nothing: it is for readers of a document that is already known to be right.
func (n *Node) Items() []*Node {
	if n == nil {
		return nil
	}
	return n.items
}

// Pairs are the entries of a mapping in order; nil for anything else. Like [Node.Items]
// it reports nothing.
func (n *Node) Pairs() []Entry {
	if n == nil {
		return nil
	}
	return n.entries
}

// Get is the value of a key of a mapping, nil if there is none. It may be called on a
// nil node, so that a path of keys can be followed in one expression.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.entries {
		if n.entries[i].Name == key {
			return n.entries[i].Value
		}
	}
	return nil
}

// Key is the node of a key of a mapping, nil if there is none. It may be called on a nil
// node.
func (n *Node) Key(key string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.entries {
		if n.entries[i].Name == key {
			return n.entries[i].Key
		}
	}
	return nil
}
