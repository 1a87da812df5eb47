//go:build unix

package stdio

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	canTerminate = true
	batchFiles   = false
	separators   = "/"
)

func extensions(string, []string) []string { return []string{""} }

func runnable(info fs.FileInfo) bool { return info.Mode().IsRegular() && info.Mode()&0o111 != 0 }

func sameVariable(a, b string) bool { return a == b }

// group is the process group of a child. Its leader is the guard, for three reasons: the
// group's id is known before the child exists, so that there is no moment at which a
// child is not guarded; the id cannot come to stand for another group as long as the
// guard was not waited for; and whatever kills the group takes the guard along.
type group struct {
	guard *exec.Cmd
	pipe  *os.File // breaks for the guard when this process is gone
	alive *os.File // breaks for this process when the guard is gone

	mu       sync.Mutex
	killed   bool
	released bool
}

// guardStart is how long a guard may take to be ready.
const guardStart = 15 * time.Second

// guardError is a failure of the guard, not of the command.
type guardError struct{ err error }

func (e *guardError) Error() string { return "its guard process: " + e.err.Error() }
func (e *guardError) Unwrap() error { return e.err }

// startInGroup starts a guard, then cmd in the guard's group.
func startInGroup(cmd *exec.Cmd, guard []string, grace time.Duration) (*group, error) {
	g, err := startGuard(guard, grace)
	if err != nil {
		return nil, &guardError{err}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.guard.Process.Pid}
	if err := cmd.Start(); err != nil {
		g.abandon()
		return nil, err
	}
	return g, nil
}

func startGuard(command []string, grace time.Duration) (*group, error) {
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = []string{self, "__guard"}
	}
	watched, own, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer watched.Close()
	alive, sign, err := os.Pipe()
	if err != nil {
		own.Close()
		return nil, err
	}
	defer sign.Close()
	// No stdin, stdout and stderr: the guard must not hold the client's pipes.
	guard := &exec.Cmd{
		Path: command[0], Args: append(append([]string{}, command...), strconv.FormatInt(grace.Milliseconds(), 10)),
		Env: []string{}, Dir: "/", ExtraFiles: []*os.File{watched, sign},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	g := &group{guard: guard, pipe: own, alive: alive}
	if err := guard.Start(); err != nil {
		own.Close()
		alive.Close()
		return nil, err
	}
	sign.Close()
	if err := g.awaitReady(); err != nil {
		g.abandon()
		return nil, err
	}
	return g, nil
}

// awaitReady waits until the guard ignores the signals that its group may get. A program
// that is no guard, because nobody wired RunGuard, is found out here.
func (g *group) awaitReady() error {
	_ = g.alive.SetReadDeadline(time.Now().Add(guardStart))
	var b [1]byte
	if _, err := io.ReadFull(g.alive, b[:]); err != nil {
		return errors.New("it does not start")
	}
	return g.alive.SetReadDeadline(time.Time{})
}

// watch calls lost if the guard ends before the group is killed, and returns when it ended.
func (g *group) watch(lost func()) {
	_, _ = io.Copy(io.Discard, g.alive)
	g.alive.Close()
	g.mu.Lock()
	expected := g.killed
	g.mu.Unlock()
	if !expected {
		lost()
	}
}

// terminate sends SIGTERM to the group. The guard ignores it.
func (g *group) terminate() { g.signal(syscall.SIGTERM) }

// kill sends SIGKILL to the group.
func (g *group) kill() {
	g.mu.Lock()
	g.killed = true
	g.mu.Unlock()
	g.signal(syscall.SIGKILL)
}

func (g *group) signal(sig syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.released {
		// An error means that nobody is left.
		_ = syscall.Kill(-g.guard.Process.Pid, sig)
	}
}

// release lets the guard go, after the group was killed. From then on the group's id may
// stand for another.
func (g *group) release() {
	g.mu.Lock()
	g.killed, g.released = true, true
	g.mu.Unlock()
	_ = g.guard.Process.Kill()
	_ = g.guard.Wait() // always "killed"
	g.pipe.Close()
}

// abandon is release for a group that nobody watches.
func (g *group) abandon() {
	g.release()
	g.alive.Close()
}

// readNow reads what a pipe holds, without waiting for more.
func readNow(f *os.File, p []byte) int {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	var n int
	_ = conn.Control(func(fd uintptr) {
		for {
			n, err = syscall.Read(int(fd), p)
			if err != syscall.EINTR {
				return
			}
		}
	})
	return max(n, 0)
}
