//go:build unix

package audit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

func appendInChild() {
	l := childOpen()
	n, err := strconv.Atoi(os.Getenv("AUDIT_TEST_COUNT"))
	fatal(err)
	for i := range n {
		if _, err := l.Append(Record{Event: "tools/call", Caller: strconv.Itoa(os.Getpid()), Call: uint64(i + 1)}); err != nil {
			fatal(err)
		}
	}
	fatal(l.Close())
}

func TestManyProcesses(t *testing.T) {
	const processes, each = 4, 500
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var running []*exec.Cmd
	for range processes {
		cmd := child(t, "append", path, fmt.Sprintf("AUDIT_TEST_COUNT=%d", each))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if rep := wantIntact(t, path, processes*each); rep.LastSeq != processes*each {
		t.Errorf("last number %d", rep.LastSeq)
	}
}

func TestManyLogsAndGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var wg sync.WaitGroup
	for range 3 {
		l := openLog(t, path, Options{})
		for range 3 {
			wg.Go(func() {
				for range 50 {
					if _, err := l.Append(Record{Event: "x", Arguments: parse(t, `{"password":"p","a":[1,2]}`)}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	wantIntact(t, path, 9*50)
}

// However a process dies, the log verifies after the next start.
func TestKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	for i := range 6 {
		cmd := child(t, "append", path, "AUDIT_TEST_COUNT=1000000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The kill comes while it writes: after it has added some bytes.
		var start, now syscall.Stat_t
		_ = syscall.Stat(path, &start)
		for now.Size < start.Size+int64(1000*(i+1)) {
			if err := syscall.Stat(path, &now); err != nil && !errors.Is(err, syscall.ENOENT) {
				t.Fatal(err)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		l := openLog(t, path, Options{})
		add(t, l, Record{})
		_ = l.Close()
		if rep := verify(t, readFile(t, path)); !rep.Intact() {
			t.Fatalf("run %d: %v", i, rep.Problems)
		}
	}
}
