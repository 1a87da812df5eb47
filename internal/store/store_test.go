package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/storetest"
)

func options(dir string) Options { return Options{Dir: dir, Session: "boot/1/2"} }

func openAs(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func newOptions(t testing.TB) Options {
	return options(filepath.Join(t.TempDir(), "state"))
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) sallyport.Store {
		o := newOptions(t)
		o.Now = now
		return openAs(t, o)
	})
}

// turns uses two stores by turns, as two processes would.
type turns struct {
	mu   sync.Mutex
	next int
	s    [2]*Store
}

func (a *turns) one() *Store {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next++
	return a.s[a.next%2]
}

func (a *turns) Append(ctx context.Context, log string, e []byte) (int, error) {
	return a.one().Append(ctx, log, e)
}

func (a *turns) Read(ctx context.Context, log string, from, max int) ([][]byte, error) {
	return a.one().Read(ctx, log, from, max)
}

func (a *turns) Add(ctx context.Context, c string, n, limit int64) (int64, bool, error) {
	return a.one().Add(ctx, c, n, limit)
}

func (a *turns) Take(ctx context.Context, b []sallyport.Bucket, debit bool) (bool, time.Duration, error) {
	return a.one().Take(ctx, b, debit)
}

func (a *turns) Put(ctx context.Context, k string, v []byte, ttl time.Duration) error {
	return a.one().Put(ctx, k, v, ttl)
}

func (a *turns) Claim(ctx context.Context, k string) ([]byte, bool, error) {
	return a.one().Claim(ctx, k)
}

func TestConformanceOpenedTwice(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) sallyport.Store {
		o := newOptions(t)
		o.Now = now
		return &turns{s: [2]*Store{openAs(t, o), openAs(t, o)}}
	})
}

func appendTo(t testing.TB, s *Store, log string, entries ...string) {
	t.Helper()
	for _, e := range entries {
		if _, err := s.Append(context.Background(), log, []byte(e)); err != nil {
			t.Fatal(err)
		}
	}
}

func wantEntries(t testing.TB, s *Store, log string, from int, want ...string) {
	t.Helper()
	got, err := s.Read(context.Background(), log, from, 0)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Fatalf("read %.200q, want %.200q", got, want)
	}
}

func TestTwoProcessesSeeOneLog(t *testing.T) {
	o := newOptions(t)
	a, b := openAs(t, o), openAs(t, o)
	appendTo(t, a, "l", "0", "1")
	wantEntries(t, b, "l", 0, "0", "1")
	appendTo(t, b, "l", "2")
	appendTo(t, a, "l", "3")
	wantEntries(t, a, "l", 1, "1", "2", "3")
	wantEntries(t, b, "l", 3, "3")
	wantEntries(t, openAs(t, o), "l", 2, "2", "3")
	if a.Derive("x") != b.Derive("x") || a.Derive("x") == a.Derive("y") {
		t.Error("derived keys: the same purpose must give the same key, another another")
	}
	other := openAs(t, Options{Dir: o.Dir, Session: "other"})
	wantEntries(t, other, "l", 0)
	if other.Derive("x") == a.Derive("x") {
		t.Error("two sessions have the same key")
	}
}

func TestAppendReturnsIndex(t *testing.T) {
	o := newOptions(t)
	a, b := openAs(t, o), openAs(t, o)
	for i := range 6 {
		s := []*Store{a, b}[i%2]
		l, err := s.Log("l")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := l.Append(t.Context(), nil); got != i || err != nil {
			t.Fatalf("append %d: index %d, %v", i, got, err)
		}
	}
}

func TestLargeEntries(t *testing.T) {
	o := newOptions(t)
	a, b := openAs(t, o), openAs(t, o)
	sizes := []int{0, 1, readAhead - frameExtra - 1, readAhead - frameExtra, readAhead, readAhead + 1, MaxEntry, 5}
	for i, n := range sizes {
		if _, err := a.Append(t.Context(), "l", bytes.Repeat([]byte{byte(i)}, n)); err != nil {
			t.Fatal(err)
		}
	}
	for _, max := range []int{0, 3} {
		s := openAs(t, o)
		var got [][]byte
		for len(got) < len(sizes) {
			more, err := s.Read(t.Context(), "l", len(got), max)
			if err != nil || len(more) == 0 {
				t.Fatalf("%d entries, %v", len(more), err)
			}
			got = append(got, more...)
		}
		for i, n := range sizes {
			if len(got[i]) != n || bytes.Count(got[i], []byte{byte(i)}) != n {
				t.Errorf("max %d: entry %d is wrong", max, i)
			}
		}
	}
	if _, err := a.Append(t.Context(), "l", make([]byte, MaxEntry+1)); !errors.Is(err, ErrFull) {
		t.Errorf("too large an entry: %v", err)
	}
	appendTo(t, b, "l", "x")
	wantEntries(t, b, "l", 7, "\a\a\a\a\a", "x")
}

func TestFullLog(t *testing.T) {
	o := newOptions(t)
	o.MaxLog = logStart + 2*frameExtra + 10
	a, b := openAs(t, o), openAs(t, o)
	appendTo(t, a, "l", "0123456")
	for range 2 {
		if _, err := b.Append(t.Context(), "l", []byte("0123")); !errors.Is(err, ErrFull) {
			t.Errorf("appended beyond the bound: %v", err)
		}
	}
	appendTo(t, b, "l", "012")
	wantEntries(t, a, "l", 0, "0123456", "012")
}

func TestTableIsBounded(t *testing.T) {
	s := openAs(t, newOptions(t))
	if err := s.Put(t.Context(), "k", make([]byte, MaxValue+1), time.Hour); !errors.Is(err, ErrFull) {
		t.Errorf("too large a value: %v", err)
	}
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		err = s.Put(t.Context(), fmt.Sprint(n), make([]byte, MaxValue), time.Hour)
	}
	if !errors.Is(err, ErrFull) || n < 50 {
		t.Errorf("put %d: %v", n, err)
	}
	if v, ok, err := s.Claim(t.Context(), "0"); !ok || err != nil || len(v) != MaxValue {
		t.Errorf("a full table: %v, %v", ok, err)
	}
	if err := s.Put(t.Context(), "k", make([]byte, MaxValue), time.Hour); err != nil {
		t.Error(err)
	}
}

func TestExpiredValuesGo(t *testing.T) {
	o := newOptions(t)
	now := time.Unix(1_000_000, 0)
	o.Now = func() time.Time { return now }
	s := openAs(t, o)
	for i := range 30 {
		if err := s.Put(t.Context(), fmt.Sprint(i), make([]byte, 1000), time.Minute); err != nil {
			t.Fatal(err)
		}
		now = now.Add(10 * time.Second)
	}
	_, table, err := readTable(s.names, s.table.f)
	if err != nil || len(table) > 8 {
		t.Errorf("the table has %d records, %v", len(table), err)
	}
}

func TestNoNamesOnDisk(t *testing.T) {
	o := newOptions(t)
	s := openAs(t, o)
	const name = "plain-name"
	appendTo(t, s, name, "x")
	_, _, err := s.Add(t.Context(), name, 1, 2)
	_, _, err2 := s.Take(t.Context(), []sallyport.Bucket{{Name: name, Rate: 1, Burst: 2}}, true)
	if err := errors.Join(err, err2, s.Put(t.Context(), name, []byte("x"), time.Hour)); err != nil {
		t.Fatal(err)
	}
	n := 0
	err = filepath.WalkDir(o.Dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		n++
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if st.Mode().Perm() != want {
			t.Errorf("%s: mode %o", p, st.Mode().Perm())
		}
		if bytes.Contains([]byte(p), []byte(name)) {
			t.Errorf("%s names it", p)
		}
		if d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(p)
		if bytes.Contains(text, []byte(name)) {
			t.Errorf("%s contains it", p)
		}
		return err
	})
	if err != nil || n < 8 {
		t.Errorf("%d files, %v", n, err)
	}
}

func TestClosed(t *testing.T) {
	s := openAs(t, newOptions(t))
	appendTo(t, s, "l", "x")
	l, _ := s.Log("l")
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, readErr := s.Read(t.Context(), "l", 0, 0)
	_, handleErr := l.Append(t.Context(), nil)
	_, _, addErr := s.Add(t.Context(), "c", 1, 1)
	for i, err := range []error{readErr, handleErr, addErr, s.Put(t.Context(), "k", nil, 1)} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("use %d: %v", i, err)
		}
	}
}

func TestBadNames(t *testing.T) {
	for _, name := range []string{"", "a b", "a\n", "ä", string(bytes.Repeat([]byte("x"), 201))} {
		if _, err := Open(t.Context(), Options{Dir: t.TempDir(), Session: name}); err == nil {
			t.Errorf("%.20q was taken", name)
		}
	}
}

// A lock that another holds is waited for within the context and the option.
func TestLockIsBounded(t *testing.T) {
	o := newOptions(t)
	o.LockWait = time.Millisecond
	a, b := openAs(t, o), openAs(t, o)
	appendTo(t, a, "l", "x")
	wantEntries(t, b, "l", 0, "x")
	l, _ := b.Log("l")
	if err := lock(t.Context(), l.f, true, time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Append(t.Context(), "l", nil); err == nil {
		t.Error("appended without the lock")
	}
	a.wait = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := a.Append(ctx, "l", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the context ended: %v", err)
	}
	wantEntries(t, a, "l", 0, "x")
	unlock(l.f)
	appendTo(t, a, "l", "y")
	wantEntries(t, b, "l", 1, "y")
}
