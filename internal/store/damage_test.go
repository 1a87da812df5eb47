package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var four = []string{"zero", "", "two", "three"}

// logFile returns the file of log l.
func logFile(t testing.TB, o Options) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(o.Dir, sessionsDir, "*", "log-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("logs: %q, %v", found, err)
	}
	return found[0]
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func overwrite(t testing.TB, name string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err == nil {
		_, err = f.Write(b)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// frames cuts a log whose entries are those of four.
func frames(b []byte) (head []byte, f [][]byte) {
	head, b = b[:logStart], b[logStart:]
	for _, e := range four {
		n := len(e) + frameExtra
		f = append(f, b[:n:n])
		b = b[n:]
	}
	return head, f
}

func join4(head []byte, f ...[]byte) []byte {
	return append(slices.Clone(head), bytes.Join(f, nil)...)
}

// Whatever is done to a log, one that joins, one that has read it and one that appends
// refuse it.
func TestDamage(t *testing.T) {
	type damage struct {
		name string
		text []byte
	}
	o := newOptions(t)
	a := openAs(t, o)
	appendTo(t, a, "l", four...)
	path := logFile(t, o)
	good := readFile(t, path)
	head, f := frames(good)
	var all []damage
	for i := range good {
		b := slices.Clone(good)
		b[i] ^= 0x10
		all = append(all, damage{fmt.Sprintf("byte %d changed", i), b}, damage{fmt.Sprintf("cut to %d", i), good[:i]})
	}
	all = append(
		all,
		damage{"first removed", join4(head, f[1], f[2], f[3])},
		damage{"middle removed", join4(head, f[0], f[2], f[3])},
		damage{"swapped", join4(head, f[0], f[2], f[1], f[3])},
		damage{"repeated", join4(head, f[0], f[1], f[1], f[2], f[3])},
		damage{"repeated at the end", join4(head, f[0], f[1], f[2], f[3], f[3])},
		damage{"all twice", join4(head, f[0], f[1], f[2], f[3], f[0], f[1], f[2], f[3])},
		damage{"text behind", append(slices.Clone(good), "some text that is longer than a head"...)},
		damage{"no head", good[logStart:]},
	)
	for _, d := range all {
		overwrite(t, path, good)
		readAll, appender := openAs(t, o), openAs(t, o)
		wantEntries(t, readAll, "l", 0, four...)
		overwrite(t, path, d.text)
		fresh := openAs(t, o)
		if e, err := fresh.Read(t.Context(), "l", 0, 0); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: one that joins reads %q, %v", d.name, e, err)
		}
		if _, err := appender.Append(t.Context(), "l", nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: one that joins appends, %v", d.name, err)
		}
		overwrite(t, path, good)
		if _, err := fresh.Read(t.Context(), "l", 0, 0); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: damage is forgotten: %v", d.name, err)
		}
		overwrite(t, path, d.text)
		for i := range four { // read again, one by one
			if e, err := readAll.Read(t.Context(), "l", i, 1); err == nil && (len(e) != 1 || string(e[0]) != four[i]) {
				t.Errorf("%s: entry %d is read again as %q", d.name, i, e)
			}
		}
		if e, err := readAll.Read(t.Context(), "l", len(four), 0); len(e) != 0 || len(d.text) < len(good) && err == nil {
			t.Errorf("%s: one that has read it reads %q more, %v", d.name, e, err)
		}
		for _, s := range []*Store{fresh, appender, readAll} {
			_ = s.Close()
		}
	}
}

// An entry that was cut off before this process read it is missed when it appends.
func TestCutUnread(t *testing.T) {
	o := newOptions(t)
	a := openAs(t, o)
	appendTo(t, a, "l", "one")
	path := logFile(t, o)
	one := len(readFile(t, path))
	b := openAs(t, o)
	appendTo(t, b, "l", "two")
	two := readFile(t, path)
	for n := one; n < len(two); n++ {
		overwrite(t, path, two)
		c := openAs(t, o)
		wantEntries(t, c, "l", 0, "one", "two")
		overwrite(t, path, two[:n])
		if _, err := a.Append(t.Context(), "l", nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d: appended, %v", n, err)
		}
		if e, err := c.Read(t.Context(), "l", 2, 0); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d: read %q, %v", n, e, err)
		}
		l, _ := a.Log("l")
		l.damage = nil // as if this had been another process
		_ = c.Close()
	}
}

// Logs of two names or sessions cannot stand for each other.
func TestForeignLog(t *testing.T) {
	o := newOptions(t)
	a := openAs(t, o)
	appendTo(t, a, "l", four...)
	l := logFile(t, o)
	appendTo(t, a, "m", four...)
	k := a.names.name(kindLog, "m")
	overwrite(t, filepath.Join(filepath.Dir(l), logFileName(k)), readFile(t, l))
	if _, err := openAs(t, o).Read(t.Context(), "m", 0, 0); !errors.Is(err, ErrDamaged) {
		t.Errorf("another log's text: %v", err)
	}
	other := newOptions(t)
	appendTo(t, openAs(t, other), "l", four...)
	overwrite(t, l, readFile(t, logFile(t, other)))
	if _, err := openAs(t, o).Read(t.Context(), "l", 0, 0); !errors.Is(err, ErrDamaged) {
		t.Errorf("another session's text: %v", err)
	}
}

// What a process leaves that is killed at any byte of its write is not an entry, is cut
// off by the next that appends, and by no reader.
func TestTornTail(t *testing.T) {
	o := newOptions(t)
	a := openAs(t, o)
	appendTo(t, a, "l", four...)
	path := logFile(t, o)
	good := readFile(t, path)
	l, _ := a.Log("l")
	c := l.c
	torn := c.add(nil, []byte("never there"))
	for n := 1; n < len(torn); n++ {
		overwrite(t, path, append(slices.Clone(good), torn[:n]...))
		reader, knows, appender := openAs(t, o), openAs(t, o), openAs(t, o)
		wantEntries(t, reader, "l", 0, four...)
		wantEntries(t, knows, "l", 0, four...)
		wantEntries(t, knows, "l", 4)
		if got := len(readFile(t, path)); got != len(good)+n {
			t.Fatalf("%d bytes: a reader changed the log", n)
		}
		appendTo(t, appender, "l", "next")
		wantEntries(t, knows, "l", 4, "next")
		wantEntries(t, reader, "l", 3, "three", "next")
		appendTo(t, knows, "l", "and next")
		wantEntries(t, openAs(t, o), "l", 4, "next", "and next")
		for _, s := range []*Store{reader, knows, appender} {
			_ = s.Close()
		}
	}
	// A killed process may also have written the entry and not the mark.
	overwrite(t, path, append(slices.Clone(good), torn...))
	wantEntries(t, openAs(t, o), "l", 4, "never there")
	appendTo(t, a, "l", "next")
	wantEntries(t, openAs(t, o), "l", 4, "never there", "next")
}

// A session that loses a file is refused by those in it and by those that join.
func TestMissingFiles(t *testing.T) {
	for file, joins := range map[string]bool{"log-*": true, "table": false, "key": false, "live": false, "session": false} {
		t.Run(file, func(t *testing.T) {
			o := newOptions(t)
			a := openAs(t, o)
			appendTo(t, a, "l", four...)
			found, err := filepath.Glob(filepath.Join(o.Dir, sessionsDir, "*", file))
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			if err := os.Remove(found[0]); err != nil {
				t.Fatal(err)
			}
			b, err := Open(t.Context(), o)
			if !joins {
				if !errors.Is(err, ErrDamaged) {
					t.Errorf("joined: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			for _, s := range []*Store{a, b} {
				if _, err := s.Read(t.Context(), "l", 4, 0); !errors.Is(err, ErrDamaged) {
					t.Errorf("read: %v", err)
				}
				if _, err := s.Append(t.Context(), "l", nil); !errors.Is(err, ErrDamaged) {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
}

func TestDamagedTable(t *testing.T) {
	o := newOptions(t)
	a := openAs(t, o)
	path := filepath.Join(o.Dir, sessionsDir, dirOf(o.Session), "table")
	add := func(s *Store) error {
		_, _, err := s.Add(t.Context(), "c", 1, 100)
		return err
	}
	if err := add(a); err != nil {
		t.Fatal(err)
	}
	old := readFile(t, path)
	if err := add(a); err != nil {
		t.Fatal(err)
	}
	good := readFile(t, path)
	bytesOf := [][2]int64{{0, int64(pointerAt + pointer)}, {slot(0), slot(0) + recordHead + 8 + sealSize}}
	for _, at := range bytesOf {
		for i := at[0]; i < at[1]; i++ {
			flip(t, path, i)
			if err := add(a); !errors.Is(err, ErrDamaged) {
				t.Fatalf("byte %d changed: %v", i, err)
			}
			flip(t, path, i)
		}
	}
	overwrite(t, path, old)
	if err := add(a); !errors.Is(err, ErrDamaged) {
		t.Errorf("an old table: %v", err)
	}
	overwrite(t, path, good[:pointerAt])
	if err := add(a); !errors.Is(err, ErrDamaged) {
		t.Errorf("a cut table: %v", err)
	}
	// What a process leaves that is killed before it moves the pointer.
	b := append(slices.Clone(good), make([]byte, 100)...)
	copy(b[slot(3):], "half of a content")
	overwrite(t, path, b)
	if total, ok, err := a.Add(t.Context(), "c", 1, 100); total != 3 || !ok || err != nil {
		t.Errorf("after a killed write: %d, %v, %v", total, ok, err)
	}
}

// flip changes a bit of one byte of a file.
func flip(t *testing.T, name string, at int64) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	if _, err = f.ReadAt(b[:], at); err == nil {
		b[0] ^= 1
		_, err = f.WriteAt(b[:], at)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
