//go:build unix

package pins

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain lets the test program be another gateway too.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PINS_TEST_DIR"); dir != "" {
		if err := child(dir, os.Getenv("PINS_TEST_STEP"), os.Getenv("PINS_TEST_CAPS")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child says "ready", waits for a line and runs ten sessions that each pin something; or,
// with a step, stops for ever before that step of its write.
func child(dir, step, caps string) error {
	store, err := Open(dir)
	if err != nil {
		return err
	}
	store.wrote = func(s string) error {
		if s == step {
			fmt.Println("stopped")
			select {}
		}
		return nil
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	t := &testing.T{} // only to report through: whatever fails stops the child
	for i := range 10 {
		s := newSession(t)
		b, err := store.Book(here, "u")
		if err != nil {
			return err
		}
		c := CapabilitiesOf(value(t, fmt.Sprintf(`{"experimental":{%q:%d}}`, caps, i%5)))
		_, _, err = b.List(context.Background(), s, c, toolsOf(t, named("a"), named("only-"+caps)))
		if err != nil {
			return err
		}
		if why := refusal(t, s, "a"); why != "" {
			return errors.New(why)
		}
	}
	return nil
}

type process struct {
	*exec.Cmd
	said   *bufio.Reader
	stderr bytes.Buffer
	start  func()
}

func startChild(t *testing.T, dir, step, caps string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(self)}
	p.Env = append(os.Environ(), "PINS_TEST_DIR="+dir, "PINS_TEST_STEP="+step, "PINS_TEST_CAPS="+caps)
	p.Stderr = &p.stderr
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.said = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	p.start = func() { fmt.Fprintln(in) }
	p.says(t, "ready")
	return p
}

func (p *process) says(t *testing.T, want string) {
	t.Helper()
	if line, err := p.said.ReadString('\n'); strings.TrimSpace(line) != want {
		t.Fatalf("the child says %q (%v), want %q; %s", line, err, want, &p.stderr)
	}
}

func TestProcessesAtOnceLoseNothing(t *testing.T) {
	dir := storeDir(t)
	store := open(t, dir)
	var all []*process
	for i := range 4 {
		all = append(all, startChild(t, dir, "", fmt.Sprintf("c%d", i)))
	}
	var wait sync.WaitGroup
	for _, p := range all {
		wait.Go(func() {
			p.start()
			if err := p.Wait(); err != nil {
				t.Errorf("%v: %s", err, &p.stderr)
			}
		})
	}
	wait.Wait()
	f := the(t, store)
	if len(f.Sets) != 20 {
		t.Errorf("%d sets, want 20", len(f.Sets))
	}
	for _, s := range f.Sets {
		if len(s.Pins) != 2 || len(s.Waiting) != 0 {
			t.Errorf("set %s: %d pins, %d wait", s.ID, len(s.Pins), len(s.Waiting))
		}
	}
}

// Killed at any step of a write, the old file or the new one is there, nobody is locked
// out, and what was left is swept.
func TestKilledWhileWriting(t *testing.T) {
	for _, step := range []string{"write", "sync", "close", "rename"} {
		t.Run(step, func(t *testing.T) {
			dir := storeDir(t)
			store := open(t, dir)
			run(t, store, `{}`, named("a"))
			before, err := os.ReadFile(file(t, store))
			if err != nil {
				t.Fatal(err)
			}
			p := startChild(t, dir, step, "killed")
			p.start()
			p.says(t, "stopped")
			wait := lockWait
			lockWait = 50 * time.Millisecond
			defer func() { lockWait = wait }()
			if _, err := store.lock(context.Background()); !errors.Is(err, ErrUnusable) {
				t.Errorf("two hold the lock: %v", err)
			}
			if err := p.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = p.Wait()
			lockWait = wait
			if after, err := os.ReadFile(file(t, store)); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file is another: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, fresh+"*")); len(left) != 1 {
				t.Errorf("left: %q; the child was not in the middle", left)
			}
			s, _ := run(t, store, `{"roots":{}}`, named("a"), named("b"))
			if why := refusal(t, s, "a") + refusal(t, s, "b"); why != "" {
				t.Error(why)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, fresh+"*")); len(left) != 0 {
				t.Errorf("left: %q", left)
			}
			if n := len(the(t, store).Sets); n != 2 {
				t.Errorf("%d sets", n)
			}
		})
	}
}
