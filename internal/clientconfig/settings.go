package clientconfig

import (
	"bytes"
	"errors"
	"os"
)

// Settings reads a client's other settings (JSON with comments) as maps, slices, strings
// and booleans; numbers and null are nil. A file that is not there is fs.ErrNotExist.
func Settings(path string) (map[string]any, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("this is no plain file")
	}
	raw, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	src := bytes.TrimPrefix(raw, byteOrderMark)
	if err := checkEncoding(src); err != nil {
		return nil, err
	}
	root, err := parseJSONC(src)
	if err != nil {
		return nil, err
	}
	if m, ok := root.plain().(map[string]any); ok {
		return m, nil
	}
	return nil, syntaxError(src, root.start, "settings are an object in braces")
}

func (n *node) plain() any {
	switch n.kind {
	case object:
		m := make(map[string]any, len(n.members))
		for _, x := range n.members {
			m[x.key] = x.val.plain()
		}
		return m
	case array:
		l := make([]any, len(n.elems))
		for i, x := range n.elems {
			l[i] = x.plain()
		}
		return l
	case text:
		return n.text
	case boolean:
		return n.yes
	}
	return nil
}
