package confine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Clients are the configurations of MCP clients. Who writes one decides what its client
// starts, and whether Sallyport stands in front of it.
type Clients struct {
	// Files are absolute paths. They lie inside no prefix; a path above one of them is
	// refused too.
	Files []string
	// Names are those of files in a project, with slashes between their parts, such as
	// ".cursor/mcp.json". None of them lies inside a prefix, at any depth, and neither does a
	// directory of a name: one that is moved there could bring the file. Case makes no
	// difference in any style: a system that tells case apart has file systems that do not.
	Names []string
}

// clients is Clients compiled.
type clients struct {
	files []location
	names []clientName
}

// clientName is one of the names: its parts, and those parts folded.
type clientName struct{ parts, folded []string }

// WithClients returns a Root that refuses the configurations of clients as well; r stays as
// it is. An error says which path or name is wrong.
func (r *Root) WithClients(c Clients) (*Root, error) {
	with := *r
	with.clients = clients{}
	for _, f := range c.Files {
		loc, err := r.style.split(f)
		if err != nil {
			return nil, fmt.Errorf("client's configuration %s: %w", quote.Value(f, maxShown), err)
		}
		with.clients.files = append(with.clients.files, loc)
	}
	for _, s := range c.Names {
		n := clientName{parts: strings.Split(s, "/")}
		for _, p := range n.parts {
			if p == "" || p == "." || p == ".." {
				return nil, fmt.Errorf("client's configuration %s: it is no name inside a project", quote.Value(s, maxShown))
			}
			n.folded = append(n.folded, foldName(p))
		}
		with.clients.names = append(with.clients.names, n)
	}
	return &with, nil
}

var errClient = errors.New("it is, or holds, a client's configuration")

// check reports nil if no reading of a path touches a client's configuration. Before links
// are resolved the path was spelled as asked.
func (c *clients) check(r *Root, asked location, readings []location, lookup func(location) (location, error)) error {
	if len(c.files)+len(c.names) == 0 {
		return nil
	}
	for _, l := range append([]location{asked}, readings...) {
		if c.named(l) {
			return errClient
		}
	}
	for _, f := range c.files {
		if err := touches(f, readings, lookup); err != nil {
			return err
		}
	}
	return c.linked(r, readings, lookup)
}

// named says whether a path is one of the names, lies below one, or is a directory of one.
func (c *clients) named(l location) bool {
	folded := make([]string, len(l.parts))
	for i, p := range l.parts {
		folded[i] = foldName(p)
	}
	for _, n := range c.names {
		for i := range folded {
			end := min(len(folded)-i, len(n.folded))
			if slices.Equal(folded[i:i+end], n.folded[:end]) {
				return true
			}
		}
	}
	return false
}

// linked looks for names in a prefix itself that are links to other files of the prefix.
func (c *clients) linked(r *Root, readings []location, lookup func(location) (location, error)) error {
	for _, prefix := range r.prefixes {
		real, err := lookup(prefix)
		if err != nil {
			continue // nothing was found to be inside it
		}
		below := slices.DeleteFunc(slices.Clone(readings), func(l location) bool {
			return len(l.parts) == len(real.parts) || !l.within(real, strict)
		})
		if len(below) == 0 {
			continue
		}
		for _, n := range c.names {
			if err := touches(real.join(n.parts), below, lookup); err != nil {
				return err
			}
		}
	}
	return nil
}

// touches reports errClient if a reading is a file, lies below it or above it.
func touches(file location, readings []location, lookup func(location) (location, error)) error {
	real, err := lookup(file)
	if err != nil {
		return fmt.Errorf("a client's configuration: %w", err)
	}
	for _, l := range readings {
		for _, d := range []location{file, real} {
			if l.within(d, loose) || d.within(l, loose) {
				return errClient
			}
		}
	}
	return nil
}
