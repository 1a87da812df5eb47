package instance

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func register(t *testing.T, dir, config string) *Instance {
	t.Helper()
	i, err := Register(dir, config, "http")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

func pids(t *testing.T, dir, config string, pid int) []int {
	t.Helper()
	found, err := Find(dir, config, pid)
	if err != nil {
		t.Fatal(err)
	}
	var l []int
	for _, f := range found {
		l = append(l, f.PID)
	}
	return l
}

func TestFind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gateways")
	me := os.Getpid()
	if got := pids(t, dir, "", 0); got != nil {
		t.Errorf("without a directory: %v", got)
	}
	a := register(t, dir, "/etc/a.yaml")
	register(t, dir, "/etc/b.yaml")
	for _, tt := range []struct {
		config string
		pid    int
		want   []int
	}{
		{"/etc/a.yaml", 0, []int{me}},
		{"/etc/a.yaml", me, []int{me}},
		{"", me, []int{me, me}},
		{"", 0, []int{me, me}},
		{"/etc/c.yaml", 0, nil},
		{"/etc/a.yaml", me + 1, nil},
	} {
		if got := pids(t, dir, tt.config, tt.pid); !slices.Equal(got, tt.want) {
			t.Errorf("%q, %d: %v", tt.config, tt.pid, got)
		}
	}
	a.Close()
	if got := pids(t, dir, "", 0); len(got) != 1 {
		t.Errorf("after Close: %v", got)
	}
}

// Files that no process holds are what a killed gateway left, whatever process has its id
// now.
func TestFindProvesItself(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, key("/etc/a.yaml")+"-"+strconv.Itoa(os.Getpid()))
	state := `{"pid":` + strconv.Itoa(os.Getpid()) + `,"config":"/etc/a.yaml"}`
	write := func(end, text string) {
		if err := os.WriteFile(base+end, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(lockName, "")
	write(fileName, state)
	if got := pids(t, dir, "/etc/a.yaml", 0); got != nil {
		t.Errorf("nobody holds it: %v", got)
	}
	if _, err := os.Stat(base + fileName); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	// Held, but what it says is another process's, or nothing.
	l := flock.New(base + lockName)
	if ok, err := l.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer l.Close()
	for _, text := range []string{"", "{", `{"pid":1,"config":"/etc/a.yaml"}`, `{"pid":` + strconv.Itoa(os.Getpid()) + `,"config":"/etc/b.yaml"}`} {
		write(fileName, text)
		if got := pids(t, dir, "", 0); got != nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	write(fileName, state)
	if got := pids(t, dir, "/etc/a.yaml", 0); len(got) != 1 {
		t.Errorf("held: %v", got)
	}
}

func TestDirectoryIsPrivate(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Register(dir, "/etc/a.yaml", "http"); err == nil {
		t.Error("others may write it")
	}
	if _, err := Find(dir, "", 0); err == nil {
		t.Error("others may write it")
	}
}

func TestReload(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gateways")
	i := register(t, dir, "/etc/a.yaml")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	requests := i.Requests()
	found, err := Find(dir, "/etc/a.yaml", 0)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	served := make(chan error, 1)
	for n, want := range []Outcome{{Done: true, Before: "1", After: "2"}, {Before: "2", Text: "a.yaml:1:1: no\n"}, {Text: strings.Repeat("x", 2*maxText)}} {
		go func() {
			<-requests
			served <- i.Report(want)
		}()
		got, err := found[0].Reload(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-served; err != nil {
			t.Fatal(err)
		}
		if n < 2 && got != want || n == 2 && (len(got.Text) > maxText+10 || len(got.Text) < maxText) {
			t.Errorf("%.200v", got)
		}
	}
	// Nobody answers.
	short, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	if _, err := found[0].Reload(short); err == nil || !strings.Contains(err.Error(), "has not answered") {
		t.Error(err)
	}
	<-requests
	// It ends before it answers.
	go func() {
		<-requests
		i.Close()
	}()
	if _, err := found[0].Reload(ctx); err == nil || err.Error() != "it has ended" {
		t.Error(err)
	}
	if _, err := found[0].Reload(ctx); err == nil || err.Error() != "it has ended" {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) == 0 {
		t.Errorf("nobody could still read the last outcome: %v, %v", left, err)
	}
	register(t, dir, "/etc/b.yaml").Close()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A gateway that answers and ends at once was still heard.
func TestLastWord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gateways")
	for range 20 {
		i := register(t, dir, "/etc/a.yaml")
		found, err := Find(dir, "/etc/a.yaml", 0)
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		go func() {
			<-i.Requests()
			if err := i.Report(Outcome{Done: true}); err != nil {
				t.Error(err)
			}
			i.Close()
		}()
		if o, err := found[0].Reload(t.Context()); err != nil || !o.Done {
			t.Fatal(o, err)
		}
	}
}

// Where there is no signal, a file asks; once.
func TestPoll(t *testing.T) {
	i := register(t, filepath.Join(t.TempDir(), "gateways"), "/etc/a.yaml")
	stop := i.poll(time.Millisecond)
	defer stop()
	for range 2 {
		if err := os.WriteFile(i.base+askName, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		<-i.Requests()
	}
	stop()
	stop() // again is harmless
	if len(i.Requests()) != 0 {
		t.Error("asked without a request")
	}
}

// A clean end leaves nothing but an outcome that somebody may still wait for, and a start
// takes away what others left, whatever of it is there.
func TestNothingIsLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gateways")
	left := func() (names []string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	i := register(t, dir, "/etc/a.yaml")
	if err := i.Report(Outcome{Done: true}); err != nil {
		t.Fatal(err)
	}
	i.reported = i.reported.Add(-2 * heard)
	i.Close()
	if got := left(); got != nil {
		t.Errorf("after a reload long ago: %q", got)
	}
	if err := i.Report(Outcome{Done: true}); err != nil {
		t.Error(err)
	}
	if got := left(); got != nil {
		t.Errorf("after a report that came late: %q", got)
	}
	for _, end := range []string{fileName, ".new", askName} {
		if err := os.WriteFile(filepath.Join(dir, key("/etc/b.yaml")+"-1"+end), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	register(t, dir, "/etc/a.yaml").Close()
	if got := left(); !slices.Equal(got, []string{"notes"}) {
		t.Errorf("without a lock: %q", got)
	}
}
