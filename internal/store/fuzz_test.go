package store

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"
	"time"
)

// fuzzStore is a session whose keys are always the same, so that seeds mean something.
func fuzzStore(dir *os.Root) *Store {
	secret := bytes.Repeat([]byte{7}, secretSize)
	s := &Store{
		dir: dir, secret: secret, names: newSealer(secret), wait: time.Second,
		maxLog: DefaultMaxLog, logs: make(map[string]*Log),
	}
	s.table = &tableFile{now: time.Now, wait: time.Second, sem: make(chan struct{}, 1), sealer: s.names}
	return s
}

// fuzzLog is a genuine log: the only source of entries that verify.
func fuzzLog(s *Store) []byte {
	c := newChain(newSealer(s.secret), "l")
	var b []byte
	for _, e := range four {
		b = c.add(b, []byte(e))
	}
	head := c.addMark([]byte(logMagic), mark{2, logStart + int64(2*frameExtra+len(four[0])+len(four[1]))})
	return append(head, b...)
}

// Hostile bytes never panic and never give an entry that was not appended at that place.
// The seeds are genuine logs, whole and changed.
func FuzzLog(f *testing.F) {
	dir, err := os.OpenRoot(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	s := fuzzStore(dir)
	file, err := openFile(dir, "table", true)
	if err != nil {
		f.Fatal(err)
	}
	t := table{tableKey{kindLog, s.names.name(kindLog, "l")}: record{}}
	head, sealed := sealTable(s.names, 1, t)
	if _, err := file.WriteAt(append([]byte(tableMagic), head...), 0); err != nil {
		f.Fatal(err)
	}
	if _, err := file.WriteAt(sealed, slot(1)); err != nil {
		f.Fatal(err)
	}
	s.table.f = file
	good := fuzzLog(s)
	h, fr := frames(good)
	for _, b := range [][]byte{
		good, good[:len(good)-1], good[:logStart], nil, join4(h, fr[1]), join4(h, fr[0], fr[1], fr[3]),
		append(slices.Clone(good), 0), append(slices.Clone(good), good...),
	} {
		f.Add(b, uint8(0), uint8(0))
		f.Add(b, uint8(2), uint8(1))
	}
	path := logFileName(s.names.name(kindLog, "l"))
	f.Fuzz(func(t *testing.T, text []byte, from, max uint8) {
		w, err := openFile(dir, path, true)
		if err == nil {
			err = w.Truncate(0)
		}
		if err == nil {
			_, err = w.WriteAt(text, 0)
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		l := newLog(s, "l")
		defer l.close()
		for range 2 {
			got, err := l.Read(t.Context(), int(from), int(max))
			if err != nil && !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			for i, e := range got {
				if at := int(from) + i; at >= len(four) || string(e) != four[at] {
					t.Fatalf("entry %d: %q was never appended", at, e)
				}
			}
		}
		if _, err := l.Append(t.Context(), []byte("five")); err == nil {
			l2 := newLog(s, "l")
			defer l2.close()
			got, err := l2.Read(t.Context(), 0, 0)
			if n := len(got); err != nil || n == 0 || string(got[n-1]) != "five" {
				t.Fatalf("appended and not there: %q, %v", got, err)
			}
		} else if !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}

// A content that parses is the content of the table it parses to.
func FuzzTable(f *testing.F) {
	f.Add([]byte(nil))
	name := [nameSize]byte{1}
	f.Add(table{tableKey{kindCounter, name}: record{value: make([]byte, 8)}}.encode())
	f.Add(table{
		tableKey{kindBucket, name}: record{value: make([]byte, 16)},
		tableKey{kindValue, name}:  record{expires: 5, value: []byte("x")},
		tableKey{kindLog, name}:    record{},
	}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		parsed, err := parseTable(b)
		if err == nil && !bytes.Equal(parsed.encode(), b) {
			t.Fatalf("%x is read as %x", b, parsed.encode())
		}
	})
}
