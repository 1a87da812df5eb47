package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// DefaultGrace is the time between the steps of Stop.
const DefaultGrace = 2 * time.Second

// killWait is how long Stop waits for a process to be gone after it was killed. Only one
// that hangs inside the kernel takes longer.
const killWait = 5 * time.Second

// Command says how to start a child.
type Command struct {
	Path   string            // as given; a bare name is looked up in Env's PATH
	Args   []string          // without the name of the program
	Env    []string          // the whole environment; nil means an empty one
	Dir    string            // working directory; "" means that of this process
	Stderr func(line string) // gets each line of the child's stderr, safe to print; may be nil
	Log    *slog.Logger      // what happened to the process; may be nil
	Grace  time.Duration     // between the steps of Stop; 0 means DefaultGrace

	// Guard is the command line of a program that runs [RunGuard]; nil means this
	// executable with the argument "__guard". Not used on Windows.
	Guard []string
}

// Child is a running process in a group of its own (on Windows, a job).
//
// In and Out are its stdin and stdout. Out gives io.EOF as soon as nobody holds the
// child's stdout any more, which may be while the child runs on; a grandchild that
// inherited it keeps it open. Out must be read to its end or Stop be called. One
// goroutine may use In, one Out, and any number the methods.
type Child struct {
	In  io.WriteCloser
	Out io.Reader

	cmd    *exec.Cmd
	group  *group
	grace  time.Duration
	log    *slog.Logger
	stdout *os.File
	stderr *stderr

	stop    sync.Once
	done    chan struct{}    // the process ended
	state   *os.ProcessState // set before done is closed
	gone    chan struct{}    // so did what was left of its group
	stuck   chan struct{}    // it was killed and did not end
	hurry   chan struct{}    // closed when nothing is to be waited for any more
	hurried sync.Once
}

// Start starts a child. An error names the command and, if that was not found, the PATH
// that was searched.
//
// If this process is killed, the child and whatever is still in its group die too, within
// about Grace and half a second: a guard process waits for a pipe to break, whose other
// end only this process holds. A process that leaves the group (setsid) is out of reach,
// then and in Stop.
func Start(c Command) (*Child, error) {
	path, err := lookPath(c)
	if err != nil {
		return nil, err
	}
	if err := checkDir(c); err != nil {
		return nil, err
	}
	if batchFiles {
		if err := checkBatch(path, c.Args); err != nil {
			return nil, err
		}
	}
	p, err := newPipes()
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", shown(c.Path), err)
	}
	child := &Child{
		grace: c.Grace, log: c.Log,
		done: make(chan struct{}), gone: make(chan struct{}), stuck: make(chan struct{}), hurry: make(chan struct{}),
	}
	if child.grace <= 0 {
		child.grace = DefaultGrace
	}
	if child.log == nil {
		child.log = slog.New(slog.DiscardHandler)
	}
	child.cmd = &exec.Cmd{
		Path: path, Args: append([]string{c.Path}, c.Args...), Env: append([]string{}, c.Env...), Dir: c.Dir,
		Stdin: p.childIn, Stdout: p.childOut, Stderr: p.childErr,
	}
	child.group, err = startInGroup(child.cmd, c.Guard, child.grace)
	p.closeChildEnds()
	if err != nil {
		p.closeOwnEnds()
		return nil, startError(c, path, err)
	}
	child.In, child.Out, child.stdout = p.in, &output{f: p.out}, p.out
	child.stderr = drain(p.err, c.Stderr)
	go child.supervise()
	go child.group.watch(func() {
		child.log.Error("the guard process is gone; killing the process that it guarded", "pid", child.Pid())
		child.group.kill()
	})
	return child, nil
}

func checkDir(c Command) error {
	if c.Dir == "" {
		return nil
	}
	info, err := os.Stat(c.Dir)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return fmt.Errorf("cannot start %s: working directory %s: %w", shown(c.Path), shown(c.Dir), cause(err))
	}
	return nil
}

// startError names the command. Systems say "no such file" also when the file is there
// and the interpreter in its first line is not.
func startError(c Command, path string, err error) error {
	var guard *guardError
	if errors.As(err, &guard) {
		return fmt.Errorf("cannot start %s: %w", shown(c.Path), err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot start %s: %s is there, but not what it needs to run (an interpreter?): %w", shown(c.Path), shown(path), cause(err))
	}
	return fmt.Errorf("cannot start %s (%s): %w", shown(c.Path), shown(path), cause(err))
}

// cause takes the path, which is shown elsewhere, out of an error.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// shown is how a command or path stands in an error.
func shown(s string) string { return quote.Value(s, 1024) }

// Done is closed when the process ended; State then says how.
func (c *Child) Done() <-chan struct{} { return c.done }

// State returns how the process ended, nil while it runs.
func (c *Child) State() *os.ProcessState {
	select {
	case <-c.done:
		return c.state
	default:
		return nil
	}
}

// Pid returns the process id of the child.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Stop closes stdin, waits Grace, sends SIGTERM to the group, waits Grace, sends SIGKILL
// to the group, and waits until the child is gone and its last lines of stderr were
// delivered. Each step is skipped when the child has already ended; what is left of its
// group then gets SIGTERM and, when it let go of stderr or after Grace, SIGKILL. When
// ctx ends, SIGKILL is sent at once. Safe to call more than once and from several
// goroutines. It returns nil only when the process could not be killed within 5 s.
//
// On Windows, where there is no SIGTERM, that step is left out.
func (c *Child) Stop(ctx context.Context) *os.ProcessState {
	c.stop.Do(func() { go c.shutDown() })
	select {
	case <-c.gone:
	case <-c.stuck:
	case <-ctx.Done():
		c.hurried.Do(func() { close(c.hurry) })
		select {
		case <-c.gone:
		case <-c.stuck:
		}
	}
	return c.State()
}

// shutDown takes the steps of Stop.
func (c *Child) shutDown() {
	c.In.Close()
	if c.wait(c.done) {
		return
	}
	if canTerminate {
		c.log.Warn("the process does not end at the end of its input; terminating it", "pid", c.Pid())
		c.group.terminate()
		if c.wait(c.done) {
			return
		}
	}
	c.log.Warn("killing the process", "pid", c.Pid())
	c.group.kill()
	t := time.NewTimer(killWait)
	defer t.Stop()
	select {
	case <-c.done:
	case <-t.C:
		c.log.Error("the process does not end though it was killed", "pid", c.Pid())
		close(c.stuck)
	}
}

// wait waits for a step to be done, for at most Grace. It does not wait when there is
// hurry.
func (c *Child) wait(step <-chan struct{}) bool {
	t := time.NewTimer(c.grace)
	defer t.Stop()
	select {
	case <-step:
		return true
	case <-t.C:
	case <-c.hurry:
	}
	return false
}

// supervise waits for the child to end, then ends what is left of its group.
func (c *Child) supervise() {
	err := c.cmd.Wait()
	c.state = c.cmd.ProcessState
	if c.state == nil {
		c.log.Error("cannot tell how the process ended", "pid", c.Pid(), "error", err)
	}
	close(c.done)
	c.group.terminate()
	c.wait(c.stderr.eof)
	c.group.kill()
	c.group.release()
	c.In.Close()
	// What was written can still be read. A process that left the group may hold the
	// pipes open, and nobody waits for what it will write.
	now := time.Now()
	_ = c.stdout.SetReadDeadline(now)
	_ = c.stderr.f.SetReadDeadline(now)
	c.wait(c.stderr.delivered)
	close(c.gone)
}
