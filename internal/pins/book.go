package pins

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
)

// Book is the pins of one upstream. Safe for concurrent use.
type Book struct {
	store    *Store
	upstream Upstream
	name     string
	now      func() time.Time
	opened   time.Time
}

// Book returns the pins of an upstream that is called name in rules and in the log, for
// sessions that begin now: what was first pinned before is not added to without a person. It
// reads the file, so that one that cannot be used is known before anything runs.
func (s *Store) Book(u Upstream, name string) (*Book, error) {
	b := &Book{store: s, upstream: u, name: name, now: time.Now, opened: time.Now()}
	_, _, err := s.read(s.path(u.id))
	return b, err
}

// Command is what a person types for a command of pins, such as list.
func (b *Book) Command(name string) string {
	return cmp.Or(b.store.Program, "sallyport") + " pins " + name
}

// Event is one thing that a list changed in the pins.
type Event struct {
	Tool   string // hostile text; "" for the list as a whole
	Detail string // safe to show
	Denied bool
}

// maxEvents bounds the events of one list.
const maxEvents = 100

// List tells a session what the upstream lists to a client with these capabilities, and
// keeps what is pinned and what waits. With an error the session allows nothing of the
// upstream. The notices are those of [sallyport.Session.Pin].
func (b *Book) List(ctx context.Context, s *sallyport.Session, c Capabilities, tools []contract.Tool) (notices []contract.Notice, events []Event, err error) {
	err = b.store.update(ctx, b.upstream, func(f *File, save func() error) error {
		known := f.known(c)
		known.Later = !known.First.IsZero() && known.First.Before(b.opened)
		known.Hint = "a person can see the difference with: " + b.Command("diff") + " --upstream " + b.named()
		var err error
		changed := ""
		notices, err = s.PinKnown(b.name, tools, known, func(r sallyport.PinReport) error {
			f.wrappedAs(b.name)
			var err error
			if len(f.Sets) == 0 && r.First {
				changed = b.another()
			}
			if events, err = f.apply(c, r, b.now()); err != nil {
				return err
			}
			return save()
		})
		if changed != "" {
			notices = append(notices, contract.Notice{Warning: true, Text: changed})
			events = append(events, Event{Detail: changed})
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return notices, events, nil
}

// named is how the upstream is named on a command line.
func (b *Book) named() string {
	if plainName.MatchString(b.name) && b.name[0] != '-' {
		return b.name
	}
	return b.upstream.Short()
}

// apply puts a report into the file.
func (f *File) apply(c Capabilities, r sallyport.PinReport, now time.Time) ([]Event, error) {
	set := f.set(c.id)
	if set == nil && len(r.Learnt)+len(r.Refused) == 0 {
		return nil, nil // a server that is not ready yet has not been seen
	}
	if set == nil {
		if len(f.Sets) >= maxSets {
			return nil, unusable(fmt.Errorf("this server was used by clients with %d sets of capabilities, and no more are kept", maxSets))
		}
		set = &Set{ID: c.id, Capabilities: c.names, First: now.UTC(), Pins: make(map[string]Pin)}
		f.Sets = append(f.Sets, set)
	}
	var e events
	for _, t := range r.Learnt {
		how := First
		if f.pinnedElsewhere(set, t) {
			how = Same
		}
		if _, has := set.Pins[t.Name]; !has && len(set.Pins) >= maxPins {
			return nil, unusable(fmt.Errorf("no more than %d tools of a server are pinned", maxPins))
		}
		set.Pins[t.Name] = Pin{sallyport.Pinned{Digest: t.Digest, Definition: t.Definition}, now.UTC().Truncate(time.Second), how}
	}
	switch {
	case r.First:
		e.add(Event{Detail: fmt.Sprintf("first list to a client with these capabilities: %d tools pinned", len(r.Learnt))})
	case len(r.Learnt) > 0:
		e.add(Event{Detail: fmt.Sprintf("%d more tools pinned", len(r.Learnt))})
	}
	before := set.Waiting
	set.Waiting = make(map[string]Pin)
	held := f.held()
	left := 0
	for _, t := range r.Refused {
		p := Pin{Pinned: sallyport.Pinned{Digest: t.Digest, Definition: t.Definition}, Since: now.UTC().Truncate(time.Second)}
		old, known := before[t.Name]
		if known = known && old.Digest == t.Digest; known {
			p.Since = old.Since
		}
		size := len(t.Definition.AppendJSON(nil))
		if len(set.Waiting) >= maxWaiting || held+size > maxHeld {
			left++
			continue
		}
		held += size
		set.Waiting[t.Name] = p
		if !known {
			e.add(Event{Tool: t.Name, Detail: t.Why + "; digest " + t.Digest.String(), Denied: true})
		}
	}
	if left > 0 {
		e.add(Event{Detail: fmt.Sprintf("%d more tools are refused than are kept for a person to look at", left), Denied: true})
	}
	return e.all(), nil
}

// held is how many bytes of definitions wait.
func (f *File) held() int {
	n := 0
	for _, s := range f.Sets {
		for _, p := range s.Waiting {
			n += len(p.Definition.AppendJSON(nil))
		}
	}
	return n
}

func (f *File) pinnedElsewhere(set *Set, t sallyport.ListedTool) bool {
	return slices.ContainsFunc(f.Sets, func(s *Set) bool {
		p, ok := s.Pins[t.Name]
		return s != set && ok && p.Digest == t.Digest
	})
}

type events struct {
	list []Event
	more int
}

func (e *events) add(one Event) {
	if len(e.list) < maxEvents {
		e.list = append(e.list, one)
	} else {
		e.more++
	}
}

func (e *events) all() []Event {
	if e.more > 0 {
		return append(e.list, Event{Detail: fmt.Sprintf("and %d more", e.more), Denied: true})
	}
	return e.list
}

// ErrChanged is returned by Accept when what was shown is not what waits any more.
var ErrChanged = errors.New("the pins were changed in the meantime: look at the difference again")

// Accept pins what a person has seen. Every w is of one tool, with one Was and Now. Sets
// that it does not wait in get Now when they are shown it: see
// [sallyport.KnownPins.Accepted]. record is called before anything is kept and can stop it.
func (s *Store) Accept(ctx context.Context, id string, ws []Waits, now time.Time, record func() error) error {
	return s.update(ctx, Upstream{id: id}, func(f *File, save func() error) error {
		for _, w := range ws {
			set := f.set(w.Set.ID)
			if set == nil {
				return ErrChanged
			}
			own, has := set.Pins[w.Tool]
			waits, still := set.Waiting[w.Tool]
			if !still || waits.Digest != w.Now.Digest || has != w.Own || has && own.Digest != w.Was.Digest {
				return ErrChanged
			}
		}
		for _, w := range ws {
			set := f.set(w.Set.ID)
			set.Pins[w.Tool] = Pin{w.Now.Pinned, now.UTC().Truncate(time.Second), Accepted}
			delete(set.Waiting, w.Tool)
		}
		if err := record(); err != nil {
			return err
		}
		return save()
	})
}

// Tools lists the names of a set's pins, in order.
func (s *Set) Tools() []string { return slices.Sorted(maps.Keys(s.Pins)) }
