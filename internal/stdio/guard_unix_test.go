//go:build unix

package stdio

import (
	"bufio"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestB010TreeDiesWithAKilledGateway(t *testing.T) {
	for name, tree := range map[string]string{
		"plain":             `sleep 600 & echo up; sleep 600; true`,
		"ignores SIGTERM":   `trap '' TERM; sh -c 'trap "" TERM; sleep 600; sleep 600' & echo up; while :; do sleep 600; done`,
		"signals its group": `trap '' TERM INT HUP QUIT USR1; for s in TERM INT HUP QUIT USR1; do kill -$s 0; done; echo up; while :; do sleep 600; done`,
	} {
		t.Run(name, func(t *testing.T) {
			life := newLifeline(t)
			self := asRole(t, "gateway")
			gateway := exec.Command(self.Path)
			gateway.Env = append(self.Env, "SCRIPT=PATH=/usr/bin:/bin; "+life.hold()+tree)
			gateway.Stderr = os.Stderr
			out, err := gateway.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := gateway.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
				t.Fatalf("%q, %v", line, err)
			}
			if err := gateway.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			gateway.Wait()
			killed := time.Now()
			await(t, "the tree is gone", life.extinct)
			if took := time.Since(killed); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestChildDiesWithItsGuard(t *testing.T) {
	var log strings.Builder
	c := script(`sleep 600 & echo up; exec sleep 600`)
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	child := start(t, c)
	readLine(t, child.Out)
	syscall.Kill(child.group.guard.Process.Pid, syscall.SIGKILL)
	await(t, "the child ended", child.Done())
	child.Stop(context.Background())
	if got := log.String(); !strings.Contains(got, "guard process is gone") {
		t.Errorf("log: %q", got)
	}
}

// What a person starts by hand is no guard, and must not kill anything.
func TestGuardByHand(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.Close()
	own := &syscall.SysProcAttr{Setpgid: true}
	for name, cmd := range map[string]*exec.Cmd{
		"no pipes":        {Args: []string{"sallyport", "__guard", "10"}, SysProcAttr: own},
		"no arguments":    {Args: []string{"sallyport", "__guard"}, SysProcAttr: own, ExtraFiles: []*os.File{r, r}},
		"bad argument":    {Args: []string{"sallyport", "__guard", "x"}, SysProcAttr: own, ExtraFiles: []*os.File{r, r}},
		"group of others": {Args: []string{"sallyport", "__guard", "10"}, ExtraFiles: []*os.File{r, r}},
		"one pipe":        {Args: []string{"sallyport", "__guard", "10"}, SysProcAttr: own, ExtraFiles: []*os.File{r}},
	} {
		cmd.Path = asRole(t, "").Path
		cmd.Env = []string{noSleep}
		if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
