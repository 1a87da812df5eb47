package clientconfig

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var byteOrderMark = []byte{0xef, 0xbb, 0xbf}

// File is a client's configuration as it was read.
type File struct {
	Location
	Target  string // where the bytes are: Path, or what a symbolic link leads to
	Linked  bool   // Path leads through a symbolic link
	Entries []Entry
	Err     error // why it is not touched

	raw  []byte // with a byte order mark
	src  []byte // without
	toml bool
	info os.FileInfo
}

// Read reads one file. Of a Location without a client every known form is taken.
func (p Places) Read(l Location) *File {
	if l.Client == nil {
		l.Client = anyClient
	}
	f := &File{Location: l, toml: strings.EqualFold(filepath.Ext(l.Path), ".toml")}
	if f.Err = f.load(); f.Err == nil {
		f.Err = f.parse(f.raw, p.Program)
	}
	return f
}

func (f *File) load() error {
	target, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		return cause(err)
	}
	f.Target = target
	if dir, err := filepath.EvalSymlinks(filepath.Dir(f.Path)); err == nil {
		f.Linked = target != filepath.Join(dir, filepath.Base(f.Path))
	}
	if f.info, err = os.Stat(target); err != nil {
		return cause(err)
	}
	if !f.info.Mode().IsRegular() {
		return errors.New("this is no plain file")
	}
	f.raw, err = readBounded(target)
	return err
}

func readBounded(path string) ([]byte, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, cause(err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, cause(err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("it has more than %d MiB", maxFile>>20)
	}
	return data, nil
}

// cause is an error without the path, which stands beside it already.
func cause(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}

func (f *File) parse(raw []byte, program string) error {
	f.src = bytes.TrimPrefix(raw, byteOrderMark)
	if err := checkEncoding(f.src); err != nil {
		return err
	}
	root, err := f.read(f.src)
	if err != nil {
		return err
	}
	f.Entries, err = f.entries(root, program)
	return err
}

func checkEncoding(src []byte) error {
	head := src[:min(len(src), 4)]
	if bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}) || bytes.IndexByte(head, 0) >= 0 {
		return errors.New("it is written in UTF-16 or UTF-32: save it as UTF-8")
	}
	return nil
}

func (f *File) read(src []byte) (*node, error) {
	if f.toml {
		return parseTOML(src)
	}
	root, err := parseJSONC(src)
	if err == nil && root.kind != object {
		return nil, syntaxError(src, root.start, "a client's configuration is an object in braces")
	}
	return root, err
}

// entries collects the servers, in the order of the file.
func (f *File) entries(root *node, program string) ([]Entry, error) {
	var all []Entry
	lines := newLines(f.src)
	for _, way := range f.Client.servers {
		groups, err := follow(root, way, "")
		if err != nil && f.Client != anyClient {
			return nil, err
		}
		for _, found := range groups {
			for _, m := range found.node.members {
				e := readEntry(f.Client, m.key, m.val, f.toml, program)
				e.File, e.Scope, e.Line, e.at = f.Path, found.scope, lines.of(m.keyStart), m.keyStart
				if f.Client == anyClient && len(way) == 1 && way[0] == "mcp" && (m.val.kind != object || m.key == "servers") {
					continue // settings of a client that has its servers elsewhere
				}
				if all = append(all, e); len(all) > maxServers {
					return nil, fmt.Errorf("it has more than %d servers", maxServers)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Compare(a.at, b.at) })
	return all, nil
}

type servers struct {
	node  *node
	scope string
}

func follow(n *node, way []string, scope string) ([]servers, error) {
	switch {
	case n == nil || n.kind == other:
		return nil, nil
	case n.kind != object:
		return nil, errors.New("what should be an object of servers is none")
	case len(way) == 0:
		return []servers{{n, scope}}, nil
	case way[0] != "*":
		return follow(n.get(way[0]).value(), way[1:], scope)
	}
	var all []servers
	for _, m := range n.members {
		found, err := follow(m.val, way[1:], m.key)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// lines finds the line of a place.
type lines []int

func newLines(src []byte) lines {
	var l lines
	for i, c := range src {
		if c == '\n' {
			l = append(l, i)
		}
	}
	return l
}

func (l lines) of(at int) int {
	n, _ := slices.BinarySearch(l, at)
	return n + 1
}
