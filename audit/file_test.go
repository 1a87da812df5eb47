//go:build unix

package audit

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	switch os.Getenv("AUDIT_TEST_CHILD") {
	case "":
		os.Exit(m.Run())
	case "append":
		appendInChild()
	case "umask":
		syscall.Umask(0)
		childOpen()
	case "full":
		fullDiskInChild()
	}
}

// child runs this test binary as another process.
func child(t testing.TB, what, path string, more ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "AUDIT_TEST_CHILD="+what, "AUDIT_TEST_PATH="+path)
	cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, more...)
	cmd.Stderr = os.Stderr
	return cmd
}

func fatal(err error) {
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

func childOpen() *Log {
	l, err := Open(os.Getenv("AUDIT_TEST_PATH"), childOptions())
	fatal(err)
	return l
}

func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "audit.jsonl")
	if err := child(t, "umask", path).Run(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, dir: 0o700, filepath.Dir(dir): 0o700} {
		st, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := st.Mode().Perm(); got != want {
			t.Errorf("%s: mode %o, want %o", name, got, want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"symbolic link": {func(p string) error {
			target := p + ".target"
			if err := os.WriteFile(target, nil, 0o600); err != nil {
				return err
			}
			return os.Symlink(target, p)
		}, "symbolic link"},
		"dangling link": {func(p string) error { return os.Symlink(p+".none", p) }, "symbolic link"},
		"directory":     {func(p string) error { return os.Mkdir(p, 0o700) }, "no regular file"},
		"pipe":          {func(p string) error { return syscall.Mkfifo(p, 0o600) }, "no regular file"},
		"group":         {func(p string) error { return writeMode(p, 0o620) }, "others may write it (mode 0620)"},
		"world":         {func(p string) error { return writeMode(p, 0o602) }, "others may write it (mode 0602)"},
		"other's": {func(p string) error {
			if os.Geteuid() != 0 {
				return errSkip
			}
			return errors.Join(writeMode(p, 0o600), os.Chown(p, 65534, -1))
		}, "belongs to user 65534"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			if err := c.make(path); errors.Is(err, errSkip) {
				// Only root can give a file away. The check itself is a comparison of two ids.
				t.Skip("not root")
			} else if err != nil {
				t.Fatal(err)
			}
			l, err := Open(path, Options{})
			if err == nil {
				_ = l.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q does not say %q", err, c.want)
			}
			if _, err := os.Lstat(path + ".none"); err == nil {
				t.Error("the link's target was created")
			}
		})
	}
}

var errSkip = errors.New("cannot be made here")

func writeMode(path string, mode os.FileMode) error {
	return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, mode))
}

func TestDefaultPath(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	t.Setenv("XDG_STATE_HOME", "/state")
	if got, err := DefaultPath(); got != "/state/sallyport/audit.jsonl" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("XDG_STATE_HOME", "relative")
	got, err := DefaultPath()
	if err != nil || !strings.HasPrefix(got, "/home/u/") || !strings.HasSuffix(got, "/sallyport/audit.jsonl") {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("HOME", "relative")
	if got, err := DefaultPath(); err == nil {
		t.Errorf("a relative home: %q", got)
	}
}

// A log that is taken away under the program is an error once, and then a new log whose
// first record says so.
func TestGoneLog(t *testing.T) {
	for name, c := range map[string]struct {
		take    func(path string) error
		records int64
		line    int64
	}{
		"deleted":           {os.Remove, 2, 1},
		"directory deleted": {func(p string) error { return os.RemoveAll(filepath.Dir(p)) }, 2, 1},
		"moved":             {func(p string) error { return os.Rename(p, p+".1") }, 2, 1},
		"replaced":          {func(p string) error { return errors.Join(os.Remove(p), os.WriteFile(p, nil, 0o600)) }, 2, 1},
		"cut":               {func(p string) error { return os.Truncate(p, 0) }, 2, 1},
		"cut by a record":   {cutLast, 3, 2},
		"overwritten":       {repeatFirst, 5, 4},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "d", "audit.jsonl")
			l := openLog(t, path, Options{})
			add(t, l, Record{})
			add(t, l, Record{})
			known := verify(t, readFile(t, path)).LastHash
			if err := c.take(path); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Append(Record{Event: "lost"}); !errors.Is(err, ErrGone) {
				t.Fatalf("the first append after it: %v", err)
			}
			add(t, l, Record{})
			text := readFile(t, path)
			rep := verify(t, text)
			found := false
			for _, p := range rep.Problems {
				found = found || p.Kind == KindRemoved && p.Line == c.line && strings.Contains(p.Text, known)
			}
			if !found || rep.Records != c.records {
				t.Errorf("%d records, problems: %v\n%s", rep.Records, rep.Problems, text)
			}
		})
	}
}

func cutLast(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, int64(strings.IndexByte(string(text), '\n')+1))
}

func repeatFirst(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	first := text[:strings.IndexByte(string(text), '\n')+1]
	return os.WriteFile(path, append(text, first...), 0o600)
}

// A log to which nothing was written is no loss.
func TestEmptyLogDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(Record{Event: "x"}); !errors.Is(err, ErrGone) {
		t.Fatal(err)
	}
	add(t, l, Record{})
	wantIntact(t, path, 1)
}

// B106: a disk that is full, here a limit on the size of files, and then is not.
func TestB106FullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if out, err := child(t, "full", path).Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rep := verify(t, readFile(t, path))
	if !rep.Intact() || rep.Records < 5 || len(rep.Repairs) != 0 {
		t.Errorf("report: %+v", rep)
	}
}

func fullDiskInChild() {
	signal.Ignore(syscall.SIGXFSZ)
	var old syscall.Rlimit
	fatal(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	fatal(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 2000, Max: old.Max}))
	l := childOpen()
	n, failed := 0, 0
	for failed < 3 {
		if _, err := l.Append(Record{Event: "x"}); err != nil {
			failed++
		} else {
			n++
		}
	}
	if n < 4 {
		fatal(errors.New("the limit came too early"))
	}
	fatal(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old))
	seq, err := l.Append(Record{Event: "x"})
	fatal(err)
	if seq != uint64(n+1) {
		fatal(errors.New("a failed append was counted"))
	}
}

func TestLockIsBounded(t *testing.T) {
	old := lockWait
	lockWait = time.Millisecond
	defer func() { lockWait = old }()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	a, b := openLog(t, path, Options{}), openLog(t, path, Options{})
	if err := lock(a.f); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Append(Record{Event: "x"}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("while another has the lock: %v", err)
	}
	unlock(a.f)
	lockWait = old
	add(t, b, Record{})
	add(t, a, Record{})
	wantIntact(t, path, 2)
}
