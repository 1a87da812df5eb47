package pins

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
)

// Bounds of a file.
const (
	MaxFile    = 32 << 20 // bytes
	maxSets    = 64
	maxPins    = 10_000  // of one set
	maxWaiting = 500     // of one set
	maxHeld    = 8 << 20 // bytes of waiting definitions, over all sets
	maxNames   = 16
	maxName    = 256
	maxShown   = 4 << 10
)

// How says why a definition is pinned.
type How string

const (
	First    How = "first"    // trusted on first use
	Same     How = "same"     // it was pinned under another set
	Accepted How = "accepted" // a person said yes
)

// File is what is kept of one upstream. Not safe for concurrent use.
type File struct {
	ID    string // 64 hexadecimal characters
	Names []string
	Shown string // hostile text, escape before showing
	Sets  []*Set
}

// Set is what one set of client capabilities was shown.
type Set struct {
	ID           string
	Capabilities []string
	First        time.Time
	Pins         map[string]Pin
	Waiting      map[string]Pin // listed and refused; How is ""
}

// Pin is one definition.
type Pin struct {
	sallyport.Pinned
	Since time.Time
	How   How
}

// Waits is a definition that was listed and refused, and what it differs from.
type Waits struct {
	Set  *Set
	Tool string // hostile text
	Was  Pin    // the zero Pin: a new name
	Own  bool   // Was is pinned under the same set
	Now  Pin
}

// Waits lists what waits for a person, by set and then by name.
func (f *File) Waits() []Waits {
	var all []Waits
	for _, s := range f.Sets {
		for _, name := range slices.Sorted(maps.Keys(s.Waiting)) {
			w := Waits{Set: s, Tool: name, Now: s.Waiting[name]}
			if w.Was, w.Own = s.Pins[name]; !w.Own {
				for _, other := range f.Sets {
					if p, ok := other.Pins[name]; ok {
						w.Was = p
						break
					}
				}
			}
			all = append(all, w)
		}
	}
	return all
}

func (f *File) set(id string) *Set {
	for _, s := range f.Sets {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// known is what the engine judges a list by.
func (f *File) known(c Capabilities) sallyport.KnownPins {
	k := sallyport.KnownPins{
		Set: c.id, Own: make(map[string]sallyport.Pinned), Other: make(map[string][]sallyport.Pinned),
		Accepted: make(map[string][]sallyport.PinDigest),
	}
	own := f.set(c.id)
	if own == nil {
		own = &Set{}
	}
	k.First = own.First
	for name, p := range own.Pins {
		k.Own[name] = p.Pinned
	}
	for _, s := range f.Sets {
		if s == own {
			continue
		}
		for name, p := range s.Pins {
			k.Other[name] = append(k.Other[name], p.Pinned)
			if mine, has := own.Pins[name]; has && p.How == Accepted && !p.Since.Before(mine.Since) {
				k.Accepted[name] = append(k.Accepted[name], p.Digest)
			}
		}
	}
	return k
}

// encode writes the file. It is an error if it would be too large.
func (f *File) encode() ([]byte, error) {
	defs := make(map[string]any)
	sets := make([]any, 0, len(f.Sets))
	list := func(pins map[string]Pin) map[string]any {
		out := make(map[string]any, len(pins))
		for name, p := range pins {
			defs[p.Digest.String()] = p.Definition
			one := map[string]any{"digest": p.Digest.String(), "since": p.Since.UTC().Format(time.RFC3339)}
			if p.How != "" {
				one["how"] = string(p.How)
			}
			out[name] = one
		}
		return out
	}
	for _, s := range f.Sets {
		sets = append(sets, map[string]any{
			"id": s.ID, "capabilities": s.Capabilities, "first": s.First.UTC().Format(time.RFC3339Nano),
			"pins": list(s.Pins), "waiting": list(s.Waiting),
		})
	}
	v, err := doc.FromGo(map[string]any{
		"version": 1, "id": f.ID, "names": f.Names, "shown": f.Shown, "definitions": defs, "sets": sets,
	})
	if err != nil {
		return nil, err
	}
	data := append(v.AppendJSON(nil), '\n')
	if len(data) > MaxFile {
		return nil, fmt.Errorf("the tool definitions of this server are larger than can be pinned (%d MiB)", MaxFile>>20)
	}
	return data, nil
}

// bytes is the file as it has to stand on disk, nil if that is what stands there. What
// could not be read again is never written.
func (f *File) bytes(before []byte) ([]byte, error) {
	data, err := f.encode()
	if err != nil || bytes.Equal(data, before) {
		return nil, err
	}
	if _, err := decode(data); err != nil {
		return nil, fmt.Errorf("the tool definitions of this server cannot be kept: %w", err)
	}
	return data, nil
}

// wrappedAs notes the name that an upstream was wrapped under.
func (f *File) wrappedAs(name string) {
	name = clip(name, maxName)
	if name == "" || len(f.Names) > 0 && f.Names[len(f.Names)-1] == name {
		return
	}
	f.Names = append(slices.DeleteFunc(f.Names, func(n string) bool { return n == name }), name)
	if len(f.Names) > maxNames {
		f.Names = f.Names[len(f.Names)-maxNames:]
	}
}

// Is reports whether a person who names an upstream so means this one.
func (f *File) Is(name string) bool {
	return slices.Contains(f.Names, name) || len(name) >= shortID && strings.HasPrefix(f.ID, name)
}

// Short is the beginning of the ID, as commands take it.
func (f *File) Short() string { return f.ID[:shortID] }
