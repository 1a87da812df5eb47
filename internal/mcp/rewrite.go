package mcp

import (
	"errors"
	"slices"
)

// Edit sets one member of a message, or takes it out. Path names the objects on the way
// from the envelope, and the member last: {"params", "_meta", "progressToken"}. Value is one
// raw JSON value, from a message that was judged or built by this program; nil removes.
type Edit struct {
	Path  []string
	Value []byte
}

var (
	errEdit      = errors.New("the edits contradict each other or name nothing")
	errNoObject  = errors.New("a member on the way to what is edited is not an object")
	errRewritten = errors.New("the message cannot be edited")
)

// Rewrite returns m with the edits made in its original bytes; all other bytes stay as
// they are. Members that do not exist are added at the end of their object, with the
// objects on the way to them; removing what does not exist changes nothing. m itself is
// not changed. The error says that an edit meets something that is no object.
//
// What comes out was read again: its fields are those of the new bytes.
func Rewrite(m Message, edits ...Edit) (Message, error) {
	out, err := editObject(m.Raw, edits)
	if err != nil {
		return Message{}, err
	}
	e := envelope{raw: out}
	rewritten, reason := e.decode()
	if reason != "" {
		return Message{}, errRewritten
	}
	rewritten.Own = m.Own
	return rewritten, nil
}

// RewriteObject is [Rewrite] for a raw object that was judged as part of a message: paths
// begin in it.
func RewriteObject(object []byte, edits ...Edit) ([]byte, error) {
	return editObject(trimSpace(object), edits)
}

func editObject(raw []byte, edits []Edit) ([]byte, error) {
	root := new(edited)
	room := len(raw)
	for _, e := range edits {
		if !root.add(e.Path, e.Value) {
			return nil, errEdit
		}
		room += len(e.Value) + 64
	}
	w := rewriter{cutter: cutter{src: raw, out: make([]byte, 0, room)}}
	if end := w.object(0, root); end != len(raw) {
		if w.err == nil {
			w.err = errNoObject
		}
		return nil, w.err
	}
	return append(w.out, w.src[w.done:]...), nil
}

// EditList returns a response whose list result[name] has its elements edited, each as
// edit says; drop takes one out, with one comma. Elements without edits keep their bytes.
// m itself is returned, without copying, when there is no such list or nothing changes. edit
// gets each element's raw bytes, in order; an element that is no object can only be
// dropped.
func EditList(m Message, name string, edit func(element []byte) (edits []Edit, drop bool)) (Message, error) {
	from, to := resultList(m, name)
	if from < 0 {
		return m, nil
	}
	var failed error
	list, changed := mapElements(m.Raw[from:to], func(element []byte) ([]byte, bool) {
		edits, drop := edit(element)
		if drop || len(edits) == 0 {
			return element, !drop
		}
		after, err := editObject(element, edits)
		if err != nil {
			failed = err
		}
		return after, true
	})
	if failed != nil {
		return Message{}, failed
	}
	if !changed {
		return m, nil
	}
	e := envelope{raw: slices.Concat(m.Raw[:from], list, m.Raw[to:])}
	after, reason := e.decode()
	if reason != "" {
		return Message{}, errRewritten
	}
	return after, nil
}

// edited is a tree of edits: what becomes of one member, or of those below it.
type edited struct {
	name  string
	set   bool // the member itself is set, or removed if value is nil
	value []byte
	below []*edited // in the order of the edits
	seen  bool
}

func (n *edited) child(name string) *edited {
	for _, c := range n.below {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (n *edited) add(path []string, value []byte) bool {
	if len(path) == 0 {
		return false
	}
	c := n.child(path[0])
	if c == nil {
		c = &edited{name: path[0]}
		n.below = append(n.below, c)
	} else if c.set || len(path) == 1 {
		return false
	}
	if len(path) > 1 {
		return c.add(path[1:], value)
	}
	c.set, c.value = true, value
	return true
}

// adds reports whether a member has to be made for n where there is none.
func (n *edited) adds() bool {
	return n.value != nil || slices.ContainsFunc(n.below, (*edited).adds)
}

// appendNew writes the value of a member that did not exist.
func (n *edited) appendNew(out []byte) []byte {
	if n.set {
		return append(out, n.value...)
	}
	out = append(out, '{')
	comma := false
	for _, c := range n.below {
		if !c.adds() {
			continue
		}
		if comma {
			out = append(out, ',')
		}
		comma = true
		out = c.appendNew(append(appendString(out, c.name), ':'))
	}
	return append(out, '}')
}

// rewriter copies src to out with edits.
type rewriter struct {
	cutter
	err error
}

func (w *rewriter) stop(err error) int {
	w.err = err
	return -1
}

// object rewrites the object that opens at src[i] and returns the index behind it.
func (w *rewriter) object(i int, n *edited) int {
	kept := 0
	end := walk(w.src, i, func(rawName []byte, i int) int {
		c := n.child(string(unquoteName(rawName)))
		if c != nil {
			c.seen = true
		}
		if c == nil || c.set && c.value != nil {
			kept++
		}
		switch {
		case c == nil:
			return skipValue(w.src, i)
		case c.set && c.value == nil:
			return w.cut(rawName, i)
		case c.set:
			w.out = append(append(w.out, w.src[w.done:i]...), c.value...)
			w.done = skipValue(w.src, i)
			return w.done
		case at(w.src, i) != '{':
			return w.stop(errNoObject)
		}
		kept++
		return w.object(i, c)
	})
	if end < 0 {
		return -1
	}
	for _, c := range n.below {
		if c.seen || !c.adds() {
			continue
		}
		w.out = append(w.out, w.src[w.done:end-1]...)
		w.done = end - 1
		if kept > 0 {
			w.out = append(w.out, ',')
		}
		kept++
		w.out = c.appendNew(append(appendString(w.out, c.name), ':'))
	}
	return end
}
