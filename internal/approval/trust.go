package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Bounds of the user's list.
const (
	MaxTrusted  = 1000
	maxBecause  = 500 // bytes
	maxToolName = 200 // bytes
)

// Trusted is an entry of the user's own list of destinations.
type Trusted struct {
	ID          string // 8 hexadecimal digits
	Destination string // as trusted_destinations take it
	Tool        string `json:",omitempty"` // upstream/tool; "": every tool
	Because     string
	Added       time.Time
	Expires     time.Time `json:",omitzero"` // zero: never
}

// Over reports that the entry counts no more. One that the clock says is not made yet does not
// count either: how long ago it was made is not known.
func (t Trusted) Over(now time.Time) bool {
	return now.Before(t.Added.Add(-MaxBack)) || !t.Expires.IsZero() && !now.Before(t.Expires)
}

// Check reports what is wrong with a new entry. The error is safe to show.
func (t Trusted) Check() error {
	if _, err := flow.ParsePattern(t.Destination); err != nil || len(t.Destination) > MaxDestination {
		if err == nil {
			err = fmt.Errorf("it is longer than %d bytes", MaxDestination)
		}
		return fmt.Errorf("the destination %s: %w", quote.Value(t.Destination, 120), err)
	}
	switch {
	case strings.TrimSpace(t.Because) == "":
		return errors.New("say why it is trusted: in half a year nobody else knows")
	case len(t.Because) > maxBecause:
		return fmt.Errorf("the reason is longer than %d bytes", maxBecause)
	case len(t.Tool) > maxToolName || t.Nowhere():
		return errors.New("write the tool as SERVER/TOOL: another server's tool of that name is another tool")
	}
	return nil
}

// Nowhere reports that the entry is for a tool and does not say of which server. It trusts for
// none: any server can give a tool of its own that name.
func (t Trusted) Nowhere() bool {
	upstream, tool, _ := strings.Cut(t.Tool, "/")
	return t.Tool != "" && (upstream == "" || tool == "")
}

// entry is what the engine is given.
func (t Trusted) entry() (sallyport.TrustedDestination, error) {
	p, err := flow.ParsePattern(t.Destination)
	if err != nil {
		return sallyport.TrustedDestination{}, err
	}
	e := sallyport.TrustedDestination{
		Pattern: p, Expires: t.Expires,
		Name: fmt.Sprintf("your trust list (entry %s: %s)", t.ID, quote.Text(t.Because, 80)),
	}
	e.Upstream, e.Tool, _ = strings.Cut(t.Tool, "/")
	return e, nil
}

// Trust adds an entry, with a new ID and from now on. record is called with it first; if it
// fails nothing is added. An entry for the same destination and tool is replaced.
func (s *Store) Trust(ctx context.Context, t Trusted, record func(Trusted) error) (Trusted, error) {
	if err := t.Check(); err != nil {
		return Trusted{}, err
	}
	t.Destination = strings.TrimSpace(t.Destination)
	t.ID = newID()[:8]
	t.Added = s.opt.Now().Round(0)
	err := s.changeTrust(ctx, func(all []Trusted) ([]Trusted, error) {
		all = slices.DeleteFunc(all, func(o Trusted) bool { return o.Destination == t.Destination && o.Tool == t.Tool })
		if len(all) >= MaxTrusted {
			return nil, fmt.Errorf("the list has %d entries, which is the most: remove some", len(all))
		}
		return append(all, t), record(t)
	})
	return t, err
}

// Untrust removes the entries that have an ID or a destination. record is called for each
// first; if it fails nothing is removed.
func (s *Store) Untrust(ctx context.Context, which string, record func(Trusted) error) (removed []Trusted, err error) {
	err = s.changeTrust(ctx, func(all []Trusted) ([]Trusted, error) {
		removed = nil
		kept := slices.DeleteFunc(slices.Clone(all), func(t Trusted) bool {
			is := t.ID == which || t.Destination == strings.TrimSpace(which)
			if is {
				removed = append(removed, t)
			}
			return is
		})
		for _, t := range removed {
			if err := record(t); err != nil {
				return nil, err
			}
		}
		return kept, nil
	})
	if err != nil {
		return nil, err
	}
	return removed, nil
}

func (s *Store) changeTrust(ctx context.Context, change func([]Trusted) ([]Trusted, error)) error {
	return s.locked(ctx, func(f files) error {
		content, generation, err := f.read(trustFile)
		if err != nil {
			return err
		}
		all, err := readTrusted(f, content)
		if err != nil {
			return err
		}
		if all, err = change(all); err != nil {
			return err
		}
		if content, err = json.Marshal(all); err != nil {
			return err
		}
		return f.write(trustFile, content, generation)
	})
}

func readTrusted(f files, content []byte) (all []Trusted, err error) {
	if content == nil {
		return nil, nil
	}
	if err := json.Unmarshal(content, &all); err != nil {
		return nil, f.unusable(trustFile, fmt.Errorf("%w: %w", ErrDamaged, err))
	}
	return all, nil
}

// TrustList returns the whole list, the oldest first, with what is over.
func (s *Store) TrustList(ctx context.Context) (all []Trusted, err error) {
	err = s.locked(ctx, func(f files) error {
		content, _, err := f.read(trustFile)
		if err == nil {
			all, err = readTrusted(f, content)
		}
		return err
	})
	return all, err
}

// Trusted returns a function for [sallyport.Options.Trusted]: the list as it is now, read
// again when the file has changed. A list that cannot be used trusts nothing; warn is told
// once for each way in which it cannot. The function is safe for concurrent use and takes a
// few microseconds while nothing changes.
func (s *Store) Trusted(warn func(error)) func() []sallyport.TrustedDestination {
	r := &trustReader{s: s, warn: warn}
	return r.list
}

type trustReader struct {
	s    *Store
	warn func(error)

	mu   sync.Mutex
	was  fs.FileInfo // of the file that list holds
	all  []sallyport.TrustedDestination
	told string
}

func (r *trustReader) list() []sallyport.TrustedDestination {
	st, err := os.Lstat(filepath.Join(r.s.opt.Dir, dirName, trustFile))
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(err, fs.ErrNotExist) {
		r.was, r.all = nil, nil
		return nil
	}
	if err == nil && r.was != nil && os.SameFile(st, r.was) && st.ModTime().Equal(r.was.ModTime()) && st.Size() == r.was.Size() && st.Mode() == r.was.Mode() {
		return r.all
	}
	all, err := r.read()
	if err != nil {
		r.was, r.all = nil, nil
		if text := err.Error(); text != r.told && r.warn != nil {
			r.told = text
			r.warn(err)
		}
		return nil
	}
	r.was, r.all, r.told = st, all, ""
	return all
}

func (r *trustReader) read() ([]sallyport.TrustedDestination, error) {
	list, err := r.s.TrustList(context.Background())
	if err != nil {
		return nil, err
	}
	now := r.s.opt.Now()
	var all []sallyport.TrustedDestination
	for _, t := range list {
		if t.Over(now) || t.Nowhere() {
			continue
		}
		e, err := t.entry()
		if err != nil {
			return nil, fmt.Errorf("entry %s: %w", t.ID, err)
		}
		all = append(all, e)
	}
	return all, nil
}
