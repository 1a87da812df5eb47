//go:build unix

package stdio

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestB016CommandNotFound(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "npx-of-test")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\necho found $0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := Command{Path: "npx-of-test", Env: []string{"PATH=/wrong", "PATH=/usr/bin:/bin"}}
	_, err := Start(c)
	if err == nil || !strings.Contains(err.Error(), "'npx-of-test'") || !strings.Contains(err.Error(), "'/usr/bin:/bin'") {
		t.Errorf("%v", err)
	}
	c.Env = nil
	if _, err := Start(c); err == nil || !strings.Contains(err.Error(), "no PATH") {
		t.Errorf("%v", err)
	}
	c.Env = []string{"PATH=/usr/bin:" + dir}
	if got := readLine(t, start(t, c).Out); got != "found "+tool {
		t.Errorf("%q", got)
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	notGuard, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	write("plain", "#!/bin/sh\n", 0o600)
	orphan := write("orphan", "#!/no/such/interpreter\n", 0o700)
	for _, tt := range []struct {
		c    Command
		want []string
	}{
		{Command{}, []string{"without a name"}},
		{Command{Path: "./nothing", Dir: dir}, []string{"'./nothing'", "no such file"}},
		{Command{Path: "/nowhere/x\x1b[2J"}, []string{`'/nowhere/x\u{001b}[2J'`, "no such file"}},
		{Command{Path: orphan}, []string{"orphan'", "interpreter"}},
		{Command{Path: "./plain", Dir: dir}, []string{"'./plain'", "permission denied"}},
		{Command{Path: "plain", Env: []string{"PATH=" + dir}}, []string{"cannot find"}},
		{Command{Path: "orphan", Env: []string{"PATH=.:"}, Dir: dir}, []string{"cannot find"}},
		{Command{Path: "/bin/sh", Dir: filepath.Join(dir, "none")}, []string{"working directory", "none'", "no such file"}},
		{Command{Path: "/bin/sh", Dir: orphan}, []string{"working directory", "not a directory"}},
		{Command{Path: "/bin/sh", Guard: []string{"/no/guard"}}, []string{"'/bin/sh'", "guard", "no such file"}},
		{Command{Path: "/bin/sh", Guard: []string{notGuard}}, []string{"'/bin/sh'", "guard", "does not start"}},
	} {
		child, err := Start(tt.c)
		if err == nil {
			t.Errorf("%+v started", tt.c)
			child.Stop(context.Background())
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %q has no %q", tt.c, err, want)
			}
		}
	}
}

func TestB011StderrIsDrained(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	c := asRole(t, "noisy")
	c.Stderr = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}
	child := start(t, c)
	if got := readLine(t, child.Out); got != `{"answer":1}` {
		t.Errorf("%q", got)
	}
	child.Stop(context.Background())
	mu.Lock()
	defer mu.Unlock()
	if len(lines) < 3 || lines[0] != "first" {
		t.Fatalf("%d lines, %.40q", len(lines), lines)
	}
	for _, line := range lines {
		if len(line) > maxLine {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

func TestB011ReceiverThatHangs(t *testing.T) {
	release := make(chan struct{})
	c := asRole(t, "noisy")
	c.Grace = 300 * time.Millisecond
	c.Stderr = func(string) { <-release }
	child := start(t, c)
	if got := readLine(t, child.Out); got != `{"answer":1}` {
		t.Errorf("%q", got)
	}
	if state := child.Stop(context.Background()); !state.Success() {
		t.Errorf("%v", state)
	}
	close(release)
	await(t, "the lines are delivered", child.stderr.delivered)
}
