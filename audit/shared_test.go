//go:build unix

package audit

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	each  = flag.Int("records", 1000, "records that each of the processes of TestManyProcesses writes")
	kills = flag.Int("kills", 30, "how often TestKilledProcess kills")
)

// childOptions are what a child's log is opened with, by what the parent asks for.
func childOptions() Options {
	opt, err := optionsOf(os.Getenv("AUDIT_TEST_OPTIONS"), os.Getenv("AUDIT_TEST_PATH"))
	fatal(err)
	return opt
}

// optionsOf are a process's options for the log at path. The parent has made the signing key.
func optionsOf(name, path string) (Options, error) {
	opt := map[string]Options{
		"":                  {},
		"rotate":            {Rotate: Rotation{MaxSize: 20_000, Compress: true}},
		"always":            {Sync: SyncAlways, Rotate: Rotation{MaxSize: 50_000, Keep: 3}},
		"checkpoints":       {Checkpoints: &Checkpoints{Records: 100, Interval: time.Second}},
		"checkpoints, keep": {Checkpoints: &Checkpoints{Records: 10}, Rotate: Rotation{MaxSize: 20_000, Keep: 3, Compress: true}},
	}[name]
	if opt.Checkpoints == nil {
		return opt, nil
	}
	// Nobody changes these logs: whatever is told is a false alarm or a failure.
	opt.Warn = func(what string, err error) { fatal(fmt.Errorf("told: %s: %w", what, err)) }
	var err error
	opt.Checkpoints.Path = path + ".points"
	opt.Checkpoints.Key, err = ReadSigningKey(path + ".key")
	return opt, err
}

// verifyWith verifies a log, with its checkpoints if it has such options.
func verifyWith(t *testing.T, opt, path string) Report {
	t.Helper()
	if !strings.HasPrefix(opt, "checkpoints") {
		return verifySet(t, path)
	}
	k, err := ReadSigningKey(path + ".key")
	if err != nil {
		t.Fatal(err)
	}
	rep := against(t, path, k.Verifier(), path+".points")
	if rep.Checkpoints.Fit == 0 || rep.Checkpoints.MoreUnused > 0 {
		t.Errorf("checkpoints %+v", rep.Checkpoints)
	}
	return rep
}

// appendInChild writes records and says on standard output which it may forward by now.
func appendInChild() {
	l := childOpen()
	n, err := strconv.Atoi(os.Getenv("AUDIT_TEST_COUNT"))
	fatal(err)
	for i := range n {
		seq, err := l.Append(Record{Event: "tools/call", Caller: strconv.Itoa(os.Getpid()), Call: uint64(i + 1)})
		fatal(err)
		if os.Getenv("AUDIT_TEST_TELL") != "" {
			_, err = fmt.Println(seq)
			fatal(err)
		}
	}
	fatal(l.Close())
}

func TestManyProcesses(t *testing.T) {
	const processes = 8
	for _, opt := range []string{"", "rotate", "checkpoints", "checkpoints, keep"} {
		t.Run("options "+opt, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			must(NewSigningKey(path+".key", ""))
			var running []*exec.Cmd
			for range processes {
				cmd := child(t, "append", path, fmt.Sprintf("AUDIT_TEST_COUNT=%d", *each), "AUDIT_TEST_OPTIONS="+opt)
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
			rep := verifyWith(t, opt, path)
			if rep.StartsAfter > 0 {
				if !rep.Intact() || rep.Records+int64(rep.StartsAfter) != int64(rep.LastSeq) || rep.LastSeq < uint64(processes**each) {
					t.Errorf("%d records after %d, last number %d: %v", rep.Records, rep.StartsAfter, rep.LastSeq, rep.Problems)
				}
				return
			}
			want := int64(processes * *each)
			if rep.Files > 1 {
				want += int64(rep.Files - 1) // the records of rotations
			}
			if !rep.Intact() || rep.Records != want || rep.LastSeq != uint64(want) || (opt == "rotate") != (rep.Files > 1) {
				t.Errorf("%d records in %d files, last number %d: %v", rep.Records, rep.Files, rep.LastSeq, rep.Problems)
			}
			if c := rep.Checkpoints; c != nil && (c.UpTo != rep.LastSeq || c.Fit < 3) {
				t.Errorf("of %d records: %+v", rep.LastSeq, c)
			}
		})
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

// However a process dies, the log verifies after the next start, and every call that it
// forwarded has its record.
func TestKilledProcess(t *testing.T) {
	options := []string{"", "rotate", "always", "checkpoints", "checkpoints, keep"}
	rng := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for _, opt := range options {
		t.Run("options "+opt, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			must(NewSigningKey(path+".key", ""))
			for i := range (*kills + len(options) - 1) / len(options) {
				killed := kill(t, path, opt, 1+rng.IntN(60))
				l := openLog(t, path, must(optionsOf(opt, path)))
				add(t, l, Record{})
				_ = l.Close()
				rep := verifyWith(t, opt, path)
				if !rep.Intact() {
					t.Fatalf("run %d: %v", i, rep.Problems)
				}
				if killed >= rep.LastSeq {
					t.Fatalf("run %d: call %d was forwarded, the last record is %d", i, killed, rep.LastSeq)
				}
			}
		})
	}
}

// kill starts a process that writes records and kills it once it has forwarded n calls,
// while it writes the next. It returns the last that it forwarded.
func kill(t *testing.T, path, opt string, n int) (last uint64) {
	t.Helper()
	cmd := child(t, "append", path, "AUDIT_TEST_COUNT=1000000", "AUDIT_TEST_TELL=1", "AUDIT_TEST_OPTIONS="+opt)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); n-- {
		seq, err := strconv.ParseUint(lines.Text(), 10, 64)
		if err != nil {
			break // cut by the kill
		}
		last = seq
		if n == 0 {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return last
}
