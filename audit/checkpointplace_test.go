//go:build unix

package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A pipe takes what fits at once; neither a missing reader nor one that does not read is waited
// for, and the bytes of two notes never mix.
func TestNotesIntoAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	mustDo(t, unix.Mkfifo(path, 0o600))
	text := []byte(strings.Repeat("x", 400) + "\n")
	if err := appendNote(path, text, true); err == nil || !strings.Contains(err.Error(), "nobody reads from the pipe") {
		t.Errorf("without a reader: %v", err)
	}
	r, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	for ; n < 10_000; n++ {
		if err = appendNote(path, text, true); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "is full") || n == 0 {
		t.Fatalf("%d notes, %v", n, err)
	}
	all := make([]byte, n*len(text)+1)
	got := 0
	for got < n*len(text) {
		k, err := r.Read(all[got:])
		if err != nil {
			t.Fatal(err)
		}
		got += k
	}
	if !bytes.Equal(all[:got], bytes.Repeat(text, n)) {
		t.Error("what came through is not what was written")
	}
	mustDo(t, appendNote(path, text, true))
}

func TestPlacesThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	mustDo(t, os.Symlink(filepath.Join(dir, "target"), filepath.Join(dir, "link")))
	for _, path := range []string{dir, filepath.Join(dir, "link"), "/dev/null", filepath.Join(dir, "none", "x")} {
		if err := appendNote(path, []byte("x\n"), false); err == nil {
			t.Errorf("%s was written to", path)
		}
	}
	if isThere(filepath.Join(dir, "target")) {
		t.Error("a link was followed")
	}
}

// What was changed between its writing and its checkpoint gets no signature, whether or not the
// chain was rebuilt.
func TestChangedRecordsAreNotSigned(t *testing.T) {
	for name, change := range map[string]func(lines [][]byte) [][]byte{
		"edited":  func(l [][]byte) [][]byte { l[4] = bytes.Replace(l[4], []byte("read"), []byte("send"), 1); return l },
		"rebuilt": func(l [][]byte) [][]byte { return chainFrom(t, l, 4, len(l)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			opt, _ := pointsIn(t, path, 1000)
			l := openLog(t, path, opt)
			for range 10 {
				add(t, l, Record{Target: "read"})
			}
			// In place: a file that another took the name of would be noticed by the log itself.
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.Write(joined(change(linesOf(readFile(t, path)))))
			mustDo(t, err)
			mustDo(t, f.Close())
			mustDo(t, l.Close())
			if s := l.Stats(); s.Checkpoints != 0 || s.CheckpointFailures == 0 || isThere(path+".points") {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A log that is deleted while it is written begins anew, and so does its tree; the checkpoints of
// the old one show that it is gone.
func TestCheckpointsOfALogThatIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key := pointsIn(t, path, 5)
	told := make(chan string, 100)
	opt.Warn = func(what string, err error) { told <- what + ": " + err.Error() }
	l := openLog(t, path, opt)
	for range 20 {
		add(t, l, Record{})
	}
	waitCheckpoints(t, l, 1)
	mustDo(t, os.Remove(path))
	if _, err := l.Append(Record{Event: "x"}); err == nil {
		t.Fatal("no error")
	}
	for range 4 {
		add(t, l, Record{})
	}
	mustDo(t, l.Close())
	select {
	case text := <-told:
		if !strings.Contains(text, "the log was changed since its last checkpoint, or begins anew") {
			t.Error(text)
		}
	case <-time.After(20 * time.Second):
		t.Error("nothing was told")
	}
	all := sizes(t, path+".points", key)
	if all[len(all)-1] != 5 { // the restart record and four more
		t.Errorf("sizes %v", all)
	}
	rep := against(t, path, key.Verifier(), path+".points")
	kinds := map[string]bool{}
	for _, p := range append(rep.Problems, rep.Checkpoints.Problems...) {
		kinds[p.Kind] = true
	}
	if !kinds[KindRemoved] || !kinds[KindTruncated] {
		t.Errorf("%v %+v", rep.Problems, rep.Checkpoints)
	}
}

// Close does not wait for a place, or another process, that does not answer.
func TestCloseIsBounded(t *testing.T) {
	old := closeWait
	closeWait = 50 * time.Millisecond
	t.Cleanup(func() { closeWait = old })
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, _ := pointsIn(t, path, 1000)
	l := openLog(t, path, opt)
	f, _, err := openFile(path + stateEnd)
	if err != nil {
		t.Fatal(err)
	}
	mustDo(t, lock(f))
	for range 20 {
		add(t, l, Record{})
	}
	began := time.Now()
	mustDo(t, l.Close())
	if took := time.Since(began); took > lockWait/2 {
		t.Errorf("Close took %v", took)
	}
	if l.Stats().CheckpointFailures == 0 {
		t.Error("no failure was counted")
	}
	unlock(f)
	mustDo(t, f.Close())
	<-l.points.done // it ends by itself
}

// A crash while a checkpoint is written leaves a part of it; the next stands for itself.
func TestTornCheckpointFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key := pointsIn(t, path, 1000)
	for i, cut := range []int{0, 1, 30, 80, 150} {
		l := openLog(t, path, opt)
		add(t, l, Record{})
		mustDo(t, l.Close())
		rep := against(t, path, key.Verifier(), path+".points")
		if !rep.Intact() || rep.Checkpoints.UpTo != uint64(i+1) {
			t.Fatalf("%d: %v %+v", cut, rep.Problems, rep.Checkpoints)
		}
		text := readFile(t, path+".points")
		writeFile(t, path+".points", append(text, text[:cut]...))
	}
}
