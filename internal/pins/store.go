package pins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrUnusable is what every error about the state of the directory or of a file is.
var ErrUnusable = errors.New("the pins cannot be used")

// lockWait bounds how long a change waits for another process. A variable for tests.
var lockWait = 5 * time.Second

// Store is a directory of pins. Safe for concurrent use, also by several processes.
type Store struct {
	// Program is how a person calls this program, for texts that name a command. It is set
	// before the store is used; "": sallyport.
	Program string

	dir   string
	wrote func(step string) error // for tests; nil otherwise
}

// Open creates the directory, or checks that it is this user's and that nobody else may
// write it.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unusable(err)
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return nil, unusable(err)
	}
	if !st.IsDir() {
		return nil, unusable(fmt.Errorf("%s is no directory", dir))
	}
	if err := closedToOthers(st); err != nil {
		return nil, unusable(fmt.Errorf("%s: %w", dir, err))
	}
	return &Store{dir: dir}, nil
}

func unusable(err error) error { return fmt.Errorf("%w: %w", ErrUnusable, err) }

// Dir returns where the pins are.
func (s *Store) Dir() string { return s.dir }

const suffix = ".json"

func (s *Store) path(id string) string { return filepath.Join(s.dir, id[:32]+suffix) }

// read returns a file and its bytes, or nil and no error if there is none.
func (s *Store) read(path string) (*File, []byte, error) {
	data, err := readOwn(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	var f *File
	if err == nil {
		f, err = decode(data)
	}
	if err == nil && filepath.Base(s.path(f.ID)) != filepath.Base(path) {
		err = errors.New("it is the file of another upstream")
	}
	if err != nil {
		return nil, nil, unusable(fmt.Errorf("%s: %w. Nothing of it is used. If you do not know why, find out who wrote it; once it is moved away, the server is pinned anew as it is then", path, err))
	}
	return f, data, nil
}

// readOwn reads a regular file of this user's, within bounds.
func readOwn(path string) ([]byte, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(before, st) {
		return nil, errors.New("it was replaced while it was opened")
	}
	if err := closedToOthers(st); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// All reads every file, in the order of their names and then ids. One that cannot be used
// is an error for all: what it hides could be what is looked for.
func (s *Store) All() ([]*File, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, unusable(err)
	}
	var all []*File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		f, _, err := s.read(filepath.Join(s.dir, e.Name()))
		if err != nil {
			return nil, err
		}
		if f != nil {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *File) int {
		return strings.Compare(strings.Join(a.Names, "\x00")+"\x00"+a.ID, strings.Join(b.Names, "\x00")+"\x00"+b.ID)
	})
	return all, nil
}

// update changes the file of an upstream under the lock. What change leaves in the file
// is kept by save, which change has to call, once: whatever it does after that rests on it,
// and no longer keeps others waiting.
func (s *Store) update(ctx context.Context, u Upstream, change func(f *File, save func() error) error) error {
	release, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	f, before, err := s.read(s.path(u.id))
	if err != nil {
		return err
	}
	if f == nil {
		f = &File{ID: u.id}
	}
	if f.ID != u.id {
		return unusable(fmt.Errorf("%s: it is the file of another upstream", s.path(u.id)))
	}
	return change(f, func() error {
		defer release()
		if u.shown != "" {
			f.Shown = u.shown
		}
		data, err := f.bytes(before)
		if err != nil {
			return unusable(err)
		}
		if data == nil {
			return nil
		}
		if err := s.write(s.path(u.id), data); err != nil {
			return unusable(fmt.Errorf("%w. Make room or make the directory writable, then try again", err))
		}
		return nil
	})
}

// lock takes the directory's lock. A process that is killed loses it.
func (s *Store) lock(ctx context.Context) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unusable(err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		switch ok, err := tryLock(f); {
		case err != nil:
			f.Close()
			return nil, unusable(err)
		case ok:
			return func() { f.Close() }, nil // again is harmless
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, unusable(fmt.Errorf("another process has held %s for %v", f.Name(), lockWait))
		case <-time.After(pause):
		}
	}
}

const fresh = ".new-"

// write replaces a file as a whole. The lock must be held.
func (s *Store) write(path string, data []byte) (err error) {
	s.sweep()
	f, err := os.CreateTemp(s.dir, fresh)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"write", func() error { _, err := f.Write(data); return err }},
		{"sync", f.Sync},
		{"close", f.Close},
		{"rename", func() error { return os.Rename(f.Name(), path) }},
	} {
		if s.wrote != nil {
			if err := s.wrote(step.name); err != nil {
				return err
			}
		}
		if err := step.do(); err != nil {
			return err
		}
	}
	return syncDir(s.dir)
}

// sweep removes what a killed process left. The lock must be held.
func (s *Store) sweep() {
	left, _ := filepath.Glob(filepath.Join(s.dir, fresh+"*"))
	for _, p := range left {
		os.Remove(p)
	}
}
