//go:build unix

package stdio

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets the test binary stand for the programs that the tests start: the guard,
// and what SALLYPORT_TEST_ROLE names.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__guard" {
		os.Exit(RunGuard(os.Args[2:]))
	}
	if role := os.Getenv("SALLYPORT_TEST_ROLE"); role != "" {
		roles[role]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var roles = map[string]func(){
	// echo answers each frame with itself.
	"echo": func() {
		r, w := NewReader(os.Stdin, 0), NewWriter(os.Stdout)
		for {
			frame, err := r.Next()
			if err != nil || w.Write(frame) != nil {
				return
			}
		}
	},
	// noisy fills stderr before it answers.
	"noisy": func() {
		os.Stderr.Write([]byte("first\n"))
		os.Stderr.Write([]byte(strings.Repeat("x", 128<<10)))
		for i := range 5000 {
			fmt.Fprintf(os.Stderr, "line %d of many that nobody may be reading\n", i)
		}
		fmt.Println(`{"answer":1}`)
		io.Copy(io.Discard, os.Stdin)
	},
	// environ prints its environment, directory and whether its pipes block.
	"environ": func() {
		for _, entry := range os.Environ() {
			fmt.Println(entry)
		}
		dir, _ := os.Getwd()
		fmt.Println("dir " + dir)
		for fd := range 3 {
			flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
			fmt.Println("nonblock", flags&syscall.O_NONBLOCK != 0)
		}
	},
	// escape starts a process in a session of its own that holds stdout and stderr.
	"escape": func() {
		sleep := exec.Command("/bin/sleep", "600")
		sleep.Stdout, sleep.Stderr = os.Stdout, os.Stderr
		sleep.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := sleep.Start(); err != nil {
			fmt.Println(err)
		}
		fmt.Println(sleep.Process.Pid)
		io.Copy(io.Discard, os.Stdin)
	},
	// gateway starts a tree of processes and waits to be killed.
	"gateway": func() {
		child, err := Start(Command{
			Path: "/bin/sh", Args: []string{"-c", os.Getenv("SCRIPT")}, Env: os.Environ()[:0:0],
			Grace: 500 * time.Millisecond,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		io.Copy(os.Stdout, child.Out)
		select {}
	},
}

// asRole is a Command that runs this test binary in a role.
func asRole(t *testing.T, role string) Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Path: self, Env: []string{"SALLYPORT_TEST_ROLE=" + role, noSleep}}
}

// noSleep keeps a program with the race detector from sleeping at its end.
const noSleep = "GORACE=atexit_sleep_ms=0"

// script is a Command that runs a shell script.
func script(text string) Command {
	return Command{Path: "sh", Args: []string{"-c", text}, Env: []string{"PATH=/usr/bin:/bin"}, Grace: 300 * time.Millisecond}
}

func start(t *testing.T, c Command) *Child {
	t.Helper()
	child, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		child.Stop(ctx)
		io.Copy(io.Discard, child.Out)
	})
	return child
}

// patience is how long a test waits for what must happen, before it fails.
const patience = 20 * time.Second

func await(t *testing.T, what string, step <-chan struct{}) {
	t.Helper()
	select {
	case <-step:
	case <-time.After(patience):
		t.Fatalf("%s: not within %s", what, patience)
	}
}

// lifeline is a FIFO that a tree of processes holds open for writing: extinct is closed
// when the last of them is gone. Scripts open it as descriptor 9.
type lifeline struct {
	path    string
	extinct chan struct{}
}

func newLifeline(t *testing.T) lifeline {
	t.Helper()
	l := lifeline{filepath.Join(t.TempDir(), "life"), make(chan struct{})}
	if err := syscall.Mkfifo(l.path, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(l.extinct)
		f, err := os.Open(l.path) // waits for the first writer
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		io.Copy(io.Discard, f)
	}()
	return l
}

func (l lifeline) hold() string { return "exec 9>'" + l.path + "'; " }

func readLine(t *testing.T, r io.Reader) string {
	t.Helper()
	line, err := NewReader(r, 0).Next()
	if err != nil {
		t.Fatalf("no line from the child: %v", err)
	}
	return string(line)
}

func TestB001EchoAfterLargeFrame(t *testing.T) {
	child := start(t, asRole(t, "echo"))
	w, r := NewWriter(child.In), NewReader(child.Out, 0)
	for _, frame := range []string{`"` + strings.Repeat("x", 65_535) + `"`, `{"method":"ping"}`} {
		errs := make(chan error, 1)
		go func() { errs <- w.Write([]byte(frame)) }()
		got, err := r.Next()
		if err != nil || string(got) != frame {
			t.Fatalf("sent %d bytes, got %d, %v", len(frame), len(got), err)
		}
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	state := child.Stop(context.Background())
	if state == nil || !state.Success() {
		t.Errorf("a child that ends with its input: %v", state)
	}
	if child.State() != state {
		t.Error("State differs from what Stop returned")
	}
}

func TestB009NoSurvivors(t *testing.T) {
	for name, tree := range map[string]string{
		"ends with its input":       `sleep 600 & echo up; cat`,
		"wrapper that waits":        `sh -c 'sleep 600; true' & echo up; wait; true`,
		"exec":                      `sleep 600 & echo up; exec cat`,
		"ignores SIGTERM":           `trap '' TERM; sh -c 'trap "" TERM; sleep 600; sleep 600' & echo up; while :; do sleep 600; done`,
		"survivor ignores SIGTERM":  `sh -c 'trap "" TERM; sleep 600; sleep 600' & echo up; cat`,
		"survivor without a stderr": `sh -c 'trap "" TERM; sleep 600; sleep 600' 2>/dev/null & echo up; cat`,
	} {
		t.Run(name, func(t *testing.T) {
			life := newLifeline(t)
			child := start(t, script(life.hold()+tree))
			if got := readLine(t, child.Out); got != "up" {
				t.Fatal(got)
			}
			if child.Stop(context.Background()) == nil {
				t.Error("Stop does not know how it ended")
			}
			await(t, "the tree is gone", life.extinct)
			gone(t, child.group.guard.Process.Pid)
		})
	}
}

// gone checks that no process has this id, not even as a zombie.
func gone(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("kill(%d, 0) = %v", pid, err)
	}
}

func TestSurvivorsDieWhenTheChildEndsByItself(t *testing.T) {
	life := newLifeline(t)
	child := start(t, script(life.hold()+`sleep 600 & exit 7`))
	await(t, "the child ended", child.Done())
	await(t, "the tree is gone", life.extinct)
	if code := child.State().ExitCode(); code != 7 {
		t.Errorf("exit code %d", code)
	}
	if rest, err := io.ReadAll(child.Out); len(rest) != 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestB014ClosedStdoutIsSeenAtOnce(t *testing.T) {
	child := start(t, script(`read request; exec >&-; exec sleep 600`))
	if err := NewWriter(child.In).Write([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := NewReader(child.Out, 0).Next(); err != io.EOF {
		t.Errorf("%v", err)
	}
	if child.State() != nil {
		t.Error("the child ended; the test shows nothing")
	}
}

func TestChildGetsWhatItIsGiven(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SECRET_OF_GATEWAY", "x")
	c := asRole(t, "environ")
	c.Env = append(c.Env, "A=1", "B= 2 ")
	c.Dir = dir
	child := start(t, c)
	got, err := io.ReadAll(child.Out)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(string(got)), "\n") {
		if runtime.GOOS != "darwin" || !strings.HasPrefix(line, "__CF") {
			lines = append(lines, line)
		}
	}
	want := []string{"SALLYPORT_TEST_ROLE=environ", noSleep, "A=1", "B= 2 ", "dir " + dir, "nonblock false", "nonblock false", "nonblock false"}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q\nwant %q", lines, want)
	}
}

func TestStopIsIdempotent(t *testing.T) {
	child := start(t, script(`trap '' TERM; echo up; while :; do sleep 600; done`))
	readLine(t, child.Out)
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if state := child.Stop(context.Background()); state == nil || state.Success() {
				t.Errorf("state %v", state)
			}
		})
	}
	wg.Wait()
	if state := child.Stop(context.Background()); state != child.State() || state == nil {
		t.Errorf("after the end: %v", state)
	}
	if _, err := child.In.Write([]byte("x")); err == nil {
		t.Error("stdin can still be written")
	}
}

func TestStopHurriesWhenTheContextEnds(t *testing.T) {
	c := script(`trap '' TERM; echo up; while :; do sleep 600; done`)
	c.Grace = time.Hour
	child := start(t, c)
	readLine(t, child.Out)
	slow := make(chan struct{})
	go func() {
		defer close(slow)
		child.Stop(context.Background())
	}()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	state := child.Stop(ctx)
	if state == nil || state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("%v", state)
	}
	await(t, "the other Stop returned", slow)
}

func TestStopUnblocksAWriter(t *testing.T) {
	child := start(t, script(`echo up; exec sleep 600`))
	readLine(t, child.Out)
	failed := make(chan struct{})
	go func() {
		defer close(failed)
		w := NewWriter(child.In)
		for w.Write(make([]byte, 60<<10)) == nil { // nobody reads it
		}
	}()
	child.Stop(context.Background())
	await(t, "Write returned", failed)
}

func TestLastWordsAreNotLost(t *testing.T) {
	var said []string
	c := script(`read go; echo '{"last":1}'; echo "last log" >&2; kill -9 $$`)
	c.Stderr = func(line string) { said = append(said, line) }
	child := start(t, c)
	child.In.Write([]byte("go\n"))
	await(t, "the child ended", child.Done())
	state := child.Stop(context.Background())
	// Only now, when all is over, is stdout read.
	if got := readLine(t, child.Out); got != `{"last":1}` {
		t.Errorf("%q", got)
	}
	if strings.Join(said, "|") != "last log" {
		t.Errorf("stderr: %q", said)
	}
	if !state.Sys().(syscall.WaitStatus).Signaled() {
		t.Errorf("%v", state)
	}
}

// A process that left the group and holds the pipes must not keep Stop or a reader.
func TestEscapedProcessHoldsNothingUp(t *testing.T) {
	c := asRole(t, "escape")
	c.Grace = 300 * time.Millisecond
	child := start(t, c)
	pid, err := strconv.Atoi(readLine(t, child.Out))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGKILL)
	if child.Stop(context.Background()) == nil {
		t.Error("no state")
	}
	if rest, err := io.ReadAll(child.Out); len(rest) != 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	if syscall.Kill(pid, 0) != nil {
		t.Error("the process did not escape; the test shows nothing")
	}
}

func TestStopLogsNothingUnexpected(t *testing.T) {
	var log strings.Builder
	c := script(`echo up; cat`)
	c.Grace = patience
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	child := start(t, c)
	readLine(t, child.Out)
	child.Stop(context.Background())
	if log.Len() != 0 {
		t.Errorf("log: %q", log.String())
	}
}

func BenchmarkStartStop(b *testing.B) {
	for b.Loop() {
		child, err := Start(script("cat"))
		if err != nil {
			b.Fatal(err)
		}
		child.Stop(context.Background())
	}
}
