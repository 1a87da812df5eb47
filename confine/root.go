package confine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Style says how paths are spelled.
type Style uint8

// The styles.
const (
	POSIX   Style = iota
	Darwin        // as POSIX, compared without case and in one Unicode normal form
	Windows       // drive letters, both separators, compared without case
)

// Resolver resolves the symbolic links of an absolute, clean path as far as it
// exists, and returns the real path of the deepest existing ancestor joined with the
// rest. A link that dangles is followed to where it points. Whatever it cannot find
// out is an error.
type Resolver func(path string) (string, error)

// Root is a compiled set of prefixes. Safe for concurrent use.
type Root struct {
	style    Style
	prefixes []location
	base     *location // nil: relative paths are refused
	deny     []location
	clients  clients
}

// NewRoot compiles absolute prefixes; with none, every path is outside. base, if not
// "", is the absolute directory against which relative paths are read; without it they
// are refused. deny lists absolute paths (files or directories) that lie inside no
// prefix; a path above one of them is refused too, because who moves a directory moves
// what is in it.
func NewRoot(style Style, prefixes []string, base string, deny []string) (*Root, error) {
	r := &Root{style: style}
	for _, p := range prefixes {
		loc, err := r.directory(p)
		if err != nil {
			return nil, fmt.Errorf("prefix %s: %w", quote.Value(p, maxShown), err)
		}
		r.prefixes = append(r.prefixes, loc)
	}
	if base != "" {
		loc, err := r.directory(base)
		if err != nil {
			return nil, fmt.Errorf("base %s: %w", quote.Value(base, maxShown), err)
		}
		r.base = &loc
	}
	for _, d := range deny {
		loc, err := style.split(d)
		if err != nil {
			return nil, fmt.Errorf("own file %s: %w", quote.Value(d, maxShown), err)
		}
		r.deny = append(r.deny, loc)
	}
	return r, nil
}

// Prefixes lists the prefixes as they are compared, before links are resolved.
func (r *Root) Prefixes() []string {
	all := make([]string, len(r.prefixes))
	for i, p := range r.prefixes {
		all[i] = p.String()
	}
	return all
}

// directory reads a path from the configuration: spelled as calls must spell theirs,
// and written in full.
func (r *Root) directory(s string) (location, error) {
	sp, err := r.style.parse(s)
	switch {
	case err != nil:
		return location{}, err
	case sp.relative:
		return location{}, errors.New("it is not an absolute path")
	case slices.Contains(sp.parts, ".."):
		return location{}, errors.New(`write it without ".."`)
	}
	return sp.location, nil
}

const (
	maxShown = 120 // characters of a path that an error quotes
	// Each ".." after a name costs a look at the file system.
	maxClimbs = 32
)

// Check reports whether path lies inside. resolve may be nil: then the check is
// lexical. The error says why not, in words that are safe to show: it quotes path only
// escaped and bounded. resolved is the path that was compared.
//
// With a resolver, prefixes and own files are resolved too. A path with ".." must lie
// inside both when ".." is collapsed first and when links are followed first, because
// programs differ on that.
func (r *Root) Check(path string, resolve Resolver) (resolved string, err error) {
	resolved, err = r.check(path, resolve)
	if err != nil {
		return "", fmt.Errorf("path %s: %w", quote.Value(path, maxShown), err)
	}
	return resolved, nil
}

// ErrOutside is in the chain of Check's error when a path that could be read lies
// outside every prefix.
var ErrOutside = errors.New("it is outside the allowed directories")

var errOwn = errors.New("it is, or holds, one of Sallyport's own files")

func (r *Root) check(path string, resolve Resolver) (string, error) {
	sp, err := r.style.parse(path)
	if err != nil {
		return "", err
	}
	if sp.relative {
		if r.base == nil {
			return "", errors.New("it is relative, and no path_base says to what; use an absolute path")
		}
		sp.location = r.base.join(sp.parts)
		if err := r.style.length(sp.String()); err != nil {
			return "", err
		}
	}
	lookup := r.resolver(resolve)
	lexical, err := lookup(sp.collapse())
	if err != nil {
		return "", err
	}
	readings := []location{lexical}
	if resolve != nil && slices.Contains(sp.parts, "..") {
		physical, err := walkUp(sp.location, lookup)
		if err != nil {
			return "", err
		}
		readings = append(readings, physical)
	}
	if err := r.inside(readings, lookup); err != nil {
		return "", err
	}
	if err := r.clients.check(r, sp.collapse(), readings, lookup); err != nil {
		return "", err
	}
	return lexical.String(), nil
}

// resolver wraps resolve so that it takes and returns locations.
func (r *Root) resolver(resolve Resolver) func(location) (location, error) {
	return func(l location) (location, error) {
		if resolve == nil {
			return l, nil
		}
		s, err := resolve(l.String())
		if err != nil {
			return location{}, fmt.Errorf("its links cannot be resolved: %s", quote.Text(err.Error(), 2*maxShown))
		}
		real, err := r.style.split(s)
		if err != nil {
			return location{}, fmt.Errorf("its links resolve to no absolute path: %w", err)
		}
		return real, nil
	}
}

// walkUp reads a path as the system does: a link is followed before the ".." behind it.
func walkUp(l location, lookup func(location) (location, error)) (location, error) {
	at := location{style: l.style, volume: l.volume}
	resolved, climbs := true, 0
	for _, part := range l.parts {
		if part != ".." {
			at.parts = append(at.parts, part)
			resolved = false
			continue
		}
		if !resolved {
			if climbs++; climbs > maxClimbs {
				return location{}, errors.New(`it has too many ".."`)
			}
			real, err := lookup(at)
			if err != nil {
				return location{}, err
			}
			at, resolved = location{real.style, real.volume, slices.Clone(real.parts)}, true
		}
		at.parts = at.parts[:max(0, len(at.parts)-1)]
	}
	return lookup(at)
}

// inside reports nil if every reading lies inside a prefix and touches no own file.
func (r *Root) inside(readings []location, lookup func(location) (location, error)) error {
	missing := slices.Clone(readings)
	var failed error
	for _, prefix := range r.prefixes {
		real, err := lookup(prefix)
		if err != nil {
			failed = fmt.Errorf("an allowed directory: %w", err)
			continue
		}
		missing = slices.DeleteFunc(missing, func(l location) bool { return l.within(real, strict) })
		if len(missing) == 0 {
			break
		}
	}
	if len(missing) > 0 {
		if failed != nil {
			return failed
		}
		return ErrOutside
	}
	for _, own := range r.deny {
		real, err := lookup(own)
		if err != nil {
			return fmt.Errorf("one of Sallyport's own files: %w", err)
		}
		for _, l := range readings {
			for _, d := range []location{own, real} {
				if l.within(d, loose) || d.within(l, loose) {
					return errOwn
				}
			}
		}
	}
	return nil
}
