package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Time limits of starts and stops.
const (
	startTime = 30 * time.Second
	stopTime  = 45 * time.Second
)

// Process is a program that was started and is ended by Close. Its methods may be
// called at the same time, Close once.
type Process struct {
	cmd  *exec.Cmd
	log  Log
	done chan struct{}
	err  error // of Wait, once done is closed
	left bool  // processes that hold its stderr, once done is closed
}

func start(cmd *exec.Cmd, stderr io.Writer) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = w
	if cmd.Stdout == nil {
		cmd.Stdout = w
	}
	err = cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	var log io.Writer = &p.log
	if stderr != nil {
		log = io.MultiWriter(log, stderr)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		io.Copy(log, r) //nolint:errcheck // it ends when nobody can write any more
	}()
	go func() {
		p.err = cmd.Wait()
		select {
		case <-read:
		case <-time.After(5 * time.Second):
			p.left = true
		}
		r.Close()
		<-read
		close(p.done)
	}()
	return p, nil
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log is what it wrote to stderr and, unless that is read by someone, to stdout.
func (p *Process) Log() string { return p.log.String() }

// Find returns the first of the marks that stands in what the process wrote, also where
// the text itself was dropped, or "".
func (p *Process) Find() string { return p.log.found() }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.done }

// Signal sends it a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Close asks the process to end and waits for it. It is an error if it was still there
// after 45 seconds, if it left a process behind that holds its stderr, and if it wrote of
// a race or a panic.
func (p *Process) Close() error {
	p.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
	var late error
	select {
	case <-p.done:
	case <-time.After(stopTime):
		late = fmt.Errorf("%s did not end within %v", p.cmd.Path, stopTime)
		p.cmd.Process.Kill() //nolint:errcheck // it may have ended
		<-p.done
	}
	if p.left {
		late = errors.Join(late, fmt.Errorf("%s left processes behind", p.cmd.Path))
	}
	if mark := p.Find(); mark != "" {
		return errors.Join(late, fmt.Errorf("%s wrote %q:\n%s", p.cmd.Path, mark, p.Log()))
	}
	return late
}

// answers waits until url answers with the status.
func (p *Process) answers(ctx context.Context, url string, status int) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	last := errors.New("no answer yet")
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if status == 0 || resp.StatusCode == status {
				return nil
			}
			last = fmt.Errorf("%s answers %d", url, resp.StatusCode)
		} else if ctx.Err() == nil {
			last = err
		}
		select {
		case <-tick.C:
		case <-p.done:
			return fmt.Errorf("%s ended (%v):\n%s", p.cmd.Path, p.err, p.Log())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready within %v: %v\n%s", p.cmd.Path, startTime, last, p.Log())
		}
	}
}

// FreePort returns a loopback port that was free a moment ago.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// marks are what a correct program never writes.
var marks = []string{"DATA RACE", "panic:", "fatal error:"}

// Log keeps the first and the last 64 KiB of what a process writes. The zero value is
// ready; it may be used from several goroutines.
type Log struct {
	mu    sync.Mutex
	first bytes.Buffer
	last  []byte
	mark  string
}

const logPart = 64 << 10

// Write keeps a part of b. It never fails.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := b
	if room := logPart - l.first.Len(); room > 0 {
		n := min(room, len(rest))
		l.first.Write(rest[:n])
		rest = rest[n:]
	}
	if l.last = append(l.last, rest...); len(l.last) > 2*logPart {
		l.last = append(l.last[:0], l.last[len(l.last)-logPart:]...)
	}
	for _, m := range marks {
		if l.mark == "" && bytes.Contains(b, []byte(m)) {
			l.mark = m
		}
	}
	return len(b), nil
}

// String is what was kept.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == 0 {
		return l.first.String()
	}
	return l.first.String() + "\n[…]\n" + strings.TrimSpace(string(l.last))
}

func (l *Log) found() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mark
}
