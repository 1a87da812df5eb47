package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func sessionPath(o Options) string { return filepath.Join(o.Dir, sessionsDir, dirOf(o.Session)) }

func exists(t testing.TB, name string) bool {
	t.Helper()
	_, err := os.Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// others lists what is in the directory of all sessions besides its lock.
func others(t testing.TB, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(filepath.Join(dir, sessionsDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Name() != "lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestLastRemoves(t *testing.T) {
	o := newOptions(t)
	a, b := openAs(t, o), openAs(t, o)
	appendTo(t, a, "l", "x")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, b, "l", 0, "x")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if left := others(t, o.Dir); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
	wantEntries(t, openAs(t, o), "l", 0) // a new session
}

// A session whose client lives on outlasts its processes.
func TestSessionGoesOn(t *testing.T) {
	o := newOptions(t)
	over := false
	o.Ended = func(session string, idle time.Duration) bool {
		if session != o.Session || idle != 0 {
			t.Errorf("asked about %q, idle %v", session, idle)
		}
		return over
	}
	a := openAs(t, o)
	appendTo(t, a, "l", "x")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b := openAs(t, o)
	wantEntries(t, b, "l", 0, "x")
	over = true
	if err := b.Close(); err != nil || exists(t, sessionPath(o)) {
		t.Errorf("not removed: %v", err)
	}
}

func sweep(t testing.TB, dir string, ended func(string, time.Duration) bool, want int) {
	t.Helper()
	if n, err := Sweep(t.Context(), dir, ended); n != want || err != nil {
		t.Errorf("swept %d, %v; want %d", n, err, want)
	}
}

func TestSweep(t *testing.T) {
	o := newOptions(t)
	sweep(t, o.Dir, nil, 0) // nothing there
	dead := startChild(t, "live", Options{Dir: o.Dir, Session: "dead"})
	dead.line(t)
	live := startChild(t, "live", Options{Dir: o.Dir, Session: "live"})
	live.line(t)
	sweep(t, o.Dir, nil, 0)
	_ = dead.Process.Kill()
	_ = dead.Wait()
	for _, name := range []string{newPrefix + "x", gonePrefix + "x", "not ours"} {
		if err := os.Mkdir(filepath.Join(o.Dir, sessionsDir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	asked := ""
	sweep(t, o.Dir, func(s string, idle time.Duration) bool {
		if idle < 0 || idle > time.Hour {
			t.Errorf("idle %v", idle)
		}
		asked += s
		return false
	}, 0)
	if asked != "dead" {
		t.Errorf("asked about %q", asked)
	}
	sweep(t, o.Dir, nil, 1)
	if got, want := fmt.Sprint(others(t, o.Dir)), fmt.Sprint([]string{dirOf("live"), "not ours"}); got != want {
		t.Errorf("left %s, want %s", got, want)
	}
	live.in.Close()
	if err := live.Wait(); err != nil {
		t.Error(err)
	}
	if left := others(t, o.Dir); len(left) != 1 {
		t.Errorf("left: %q", left)
	}
}

func TestSweepIdle(t *testing.T) {
	o := newOptions(t)
	o.Ended = func(string, time.Duration) bool { return false }
	if err := openAs(t, o).Close(); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-9 * time.Hour)
	for _, e := range append(mustGlob(t, sessionPath(o)+"/*"), sessionPath(o)) {
		if err := os.Chtimes(e, long, long); err != nil {
			t.Fatal(err)
		}
	}
	idle := func(_ string, d time.Duration) bool { return d > 8*time.Hour && d < 10*time.Hour }
	sweep(t, o.Dir, idle, 1)
}

func mustGlob(t testing.TB, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	return found
}

// A session that does not say its name is nobody's, but may be somebody's yet.
func TestSweepNameless(t *testing.T) {
	o := newOptions(t)
	if err := openAs(t, o).dir.Remove("session"); err != nil {
		t.Fatal(err)
	}
	sweep(t, o.Dir, nil, 0)
	old := time.Now().Add(-8 * 24 * time.Hour)
	for _, e := range append(mustGlob(t, sessionPath(o)+"/*"), sessionPath(o)) {
		if err := os.Chtimes(e, old, old); err != nil {
			t.Fatal(err)
		}
	}
	sweep(t, o.Dir, nil, 0) // a process is in it
	if err := os.Remove(filepath.Join(sessionPath(o), "live")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(sessionPath(o), old, old); err != nil {
		t.Fatal(err)
	}
	sweep(t, o.Dir, nil, 1)
}

// A directory that is taken away is noticed by those in it.
func TestDirectoryTakenAway(t *testing.T) {
	o := newOptions(t)
	a := openAs(t, o)
	appendTo(t, a, "l", "x")
	if err := os.RemoveAll(filepath.Join(o.Dir, sessionsDir)); err != nil {
		t.Fatal(err)
	}
	b := openAs(t, o)
	wantEntries(t, b, "l", 0)
	_, readErr := a.Read(t.Context(), "l", 1, 0)
	_, newErr := a.Read(t.Context(), "m", 0, 0)
	_, _, addErr := a.Add(t.Context(), "c", 1, 1)
	_, appendErr := a.Append(t.Context(), "l", nil)
	_, otherErr := a.Append(t.Context(), "m", nil)
	for i, err := range []error{readErr, newErr, addErr, appendErr, otherErr} {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("use %d: %v", i, err)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	appendTo(t, b, "l", "y") // a's end did not remove what is not a's
	wantEntries(t, openAs(t, o), "l", 0, "y")
}

func joinAndLeave(o Options) {
	for i := range 40 {
		s, err := Open(context.Background(), o)
		fatal(err)
		e := fmt.Appendf(nil, "%d %d", os.Getpid(), i)
		_, err = s.Append(context.Background(), "l", e)
		fatal(err)
		got, err := s.Read(context.Background(), "l", 0, 0)
		fatal(err)
		found := false
		for _, g := range got {
			found = found || string(g) == string(e)
		}
		if !found {
			fatal(errors.New("its entry is gone"))
		}
		fatal(s.Close())
		_, err = Sweep(context.Background(), o.Dir, nil)
		fatal(err)
	}
}

// Processes that make, join, leave, remove and sweep one session at once: none loses its
// entry while it is in it, and nothing is left.
func TestJoinLeaveSweep(t *testing.T) {
	o := newOptions(t)
	var kids []*childProcess
	for range 6 {
		kids = append(kids, startChild(t, "joinleave", o))
	}
	for _, k := range kids {
		if err := k.Wait(); err != nil {
			t.Error(err)
		}
	}
	if left := others(t, o.Dir); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// The same within one process, for the race detector.
func TestManyUsers(t *testing.T) {
	o := newOptions(t)
	shared := openAs(t, o)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				s := shared
				if j%2 == 0 {
					var err error
					if s, err = Open(context.Background(), o); err != nil {
						t.Error(err)
						return
					}
				}
				_, err := s.Append(context.Background(), "l", fmt.Appendf(nil, "%d %d", i, j))
				_, readErr := s.Read(context.Background(), "l", j, 3)
				_, _, addErr := s.Add(context.Background(), "c", 1, 1000)
				if err = errors.Join(err, readErr, addErr); err != nil {
					t.Error(err)
				}
				if s != shared {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	got, err := shared.Read(t.Context(), "l", 0, 0)
	total, _, addErr := shared.Add(t.Context(), "c", 1, 0)
	if len(got) != 160 || total != 160 || errors.Join(err, addErr) != nil {
		t.Errorf("%d entries, counter %d, %v, %v", len(got), total, err, addErr)
	}
	seen := map[string]bool{}
	for _, g := range got {
		seen[string(g)] = true
	}
	if len(seen) != 160 {
		t.Errorf("%d different entries", len(seen))
	}
}

func TestUnsafe(t *testing.T) {
	for name, spoil := range map[string]func(o Options) error{
		"state directory open to others": func(o Options) error { return os.Chmod(o.Dir, 0o770) },
		"sessions open to others":        func(o Options) error { return os.Chmod(filepath.Join(o.Dir, sessionsDir), 0o750) },
		"session open to others":         func(o Options) error { return os.Chmod(sessionPath(o), 0o701) },
		"key readable":                   func(o Options) error { return os.Chmod(filepath.Join(sessionPath(o), "key"), 0o640) },
		"key has a second name": func(o Options) error {
			return os.Link(filepath.Join(sessionPath(o), "key"), filepath.Join(o.Dir, "second"))
		},
		"key is a link": func(o Options) error {
			key := filepath.Join(sessionPath(o), "key")
			return errors.Join(os.Rename(key, key+"2"), os.Symlink("key2", key))
		},
		"session is a link": func(o Options) error {
			return errors.Join(os.Rename(sessionPath(o), sessionPath(o)+"2"), os.Symlink(dirOf(o.Session)+"2", sessionPath(o)))
		},
		"session is a file": func(o Options) error {
			return errors.Join(os.Rename(sessionPath(o), sessionPath(o)+"2"), os.WriteFile(sessionPath(o), nil, 0o600))
		},
		"lock is a directory": func(o Options) error {
			lock := filepath.Join(o.Dir, sessionsDir, "lock")
			return errors.Join(os.Remove(lock), os.Mkdir(lock, 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOptions(t)
			openAs(t, o)
			if err := spoil(o); err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), o)
			if err == nil {
				_ = s.Close()
			}
			if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), o.Dir) {
				t.Errorf("opened: %v", err)
			}
		})
	}
}
