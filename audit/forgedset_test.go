//go:build unix

package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// forgedRotation is what somebody who can write a log makes of all of it: one record that says that
// rotation removed the others. The tree that it carries on is the true one.
func forgedRotation(t *testing.T, text []byte, number int, keptFrom uint64) []byte {
	t.Helper()
	var e edge
	var last head
	for _, line := range linesOf(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		h, err := readHead(line)
		mustDo(t, err)
		mustDo(t, e.add(recordHash(line, &h)))
		last = h
	}
	var tree []tlog.Hash = e.hashes()
	leaf := fmt.Appendf(nil, `{"seq":%d,"time":"%s","event":"rotation","before":{"seq":%d,"hash":"%s","file":"audit.jsonl.%06d","kept_from":%d`,
		last.seq+1, last.time.Format(timeLayout), last.seq, last.hash[:], number, keptFrom)
	leaf = appendTree(leaf, tree)
	leaf = fmt.Appendf(leaf, `},"prev":"%s"`, last.hash[:])
	own := newSummer().of(&last.hash, leaf, brace)
	return fmt.Appendf(leaf, `,"hash":"%s"}`+"\n", own[:])
}

// A rotation that only a record says for which no checkpoint stands did not happen.
func TestForgedRotationHidesNothing(t *testing.T) {
	write := func(t *testing.T, rotation Rotation) (path string, key *SigningKey, all []byte) {
		path = filepath.Join(t.TempDir(), "audit.jsonl")
		opt, key := pointsIn(t, path, 10)
		opt.Rotate = rotation
		rotated(t, path, opt, 40)
		wantFit(t, path, key.Verifier(), path+".points")
		for _, n := range names(t, path) {
			if isPart(n) {
				all = append(all, readFile(t, filepath.Join(filepath.Dir(path), n))...)
			}
		}
		return path, key, append(all, readFile(t, path)...)
	}
	refused := func(t *testing.T, rep Report) {
		t.Helper()
		if rep.Intact() {
			t.Fatalf("a log without its records is called intact: %s\n%+v", rep.Conclusion(), rep.Checkpoints)
		}
	}
	t.Run("all of a log", func(t *testing.T) {
		path, key, all := write(t, Rotation{})
		writeFile(t, path, forgedRotation(t, all, 1, 41))
		rep := against(t, path, key.Verifier(), path+".points")
		refused(t, rep)
		if strings.Contains(rep.Conclusion(), "is the one that was signed") || rep.Checkpoints.Fit != 0 {
			t.Errorf("%s\n%+v", rep.Conclusion(), rep.Checkpoints)
		}
		n, err := NewNoted(key.Verifier())
		mustDo(t, err)
		mustDo(t, n.ReadFile(path+".points"))
		rep, err = n.Verify(bytes.NewReader(readFile(t, path)))
		mustDo(t, err)
		refused(t, rep)
	})
	t.Run("the older files of a set", func(t *testing.T) {
		path, key, all := write(t, Rotation{MaxSize: 3000})
		current := readFile(t, path)
		first, err := readHead(bytes.TrimSuffix(linesOf(current)[0], []byte("\n")))
		mustDo(t, err)
		last := 0
		for _, n := range names(t, path) {
			if isPart(n) {
				last++
				mustDo(t, os.Remove(filepath.Join(filepath.Dir(path), n)))
			}
		}
		mustDo(t, os.Rename(path, partName(path, last+1)))
		writeFile(t, path, forgedRotation(t, all, last+1, first.seq))
		rep := against(t, path, key.Verifier(), path+".points")
		refused(t, rep)
		if len(rep.Problems) != 1 || rep.Problems[0].Kind != KindRemoved || !strings.Contains(rep.Problems[0].Text, "no checkpoint covers") {
			t.Errorf("%v", rep.Problems)
		}
	})
}

// A rotation that removes files is signed at once, so that the log does not look cut meanwhile.
func TestRotationThatRemovesIsSigned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key := pointsIn(t, path, 1000)
	opt.Rotate = Rotation{MaxSize: 3000, Keep: 2}
	l := openLog(t, path, opt)
	defer l.Close()
	for l.Stats().Rotations < 4 {
		add(t, l, Record{Detail: strings.Repeat("d", 100)})
	}
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path + ".points"); err == nil {
			if rep := against(t, path, key.Verifier(), path+".points"); rep.Intact() {
				return
			} else if time.Now().After(until) {
				t.Fatalf("%v %+v", rep.Problems, rep.Checkpoints)
			}
		} else if time.Now().After(until) {
			t.Fatal(err)
		}
	}
}

// Names and records of a set are hostile: the numbers in them are not counted through.
func TestNumbersOfPartsAreNotCountedThrough(t *testing.T) {
	_, text := newLog(t, 3)
	for name, number := range map[string]int{"far": 1 << 50, "the largest": 1<<63 - 1} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			writeFile(t, path, text)
			writeFile(t, partName(path, 1), nil)
			writeFile(t, partName(path, number), nil)
			within(t, func() { _, _ = VerifyFile(path) })
			writeFile(t, path, forgedRotation(t, text, number, 1))
			within(t, func() { _, _ = VerifyFile(path) })
			l := openLog(t, path, Options{Rotate: Rotation{MaxSize: 1}})
			within(t, func() { add(t, l, Record{}); add(t, l, Record{}); mustDo(t, l.Close()) })
			if n := names(t, path); len(n) < 3 {
				t.Errorf("%q", n)
			}
		})
	}
}

func within(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
}

// A log whose name is that of a rotated file would be verified as one: cut off its end it would
// look like one that goes on in other files.
func TestLogIsNotNamedAsAPart(t *testing.T) {
	for _, name := range []string{"audit.20261130", "audit.jsonl.000001", "audit.000001.gz"} {
		if l, err := Open(filepath.Join(t.TempDir(), name), Options{}); err == nil {
			_ = l.Close()
			t.Errorf("%s is opened as a log", name)
		}
	}
}

// Evidence is copied to names with a date.
func TestCutCopyWithADateIsCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key := pointsIn(t, path, 1)
	l := openLog(t, path, opt)
	for i := range uint64(4) {
		add(t, l, Record{})
		waitCheckpoints(t, l, i+1)
	}
	mustDo(t, l.Close())
	dated := filepath.Join(t.TempDir(), "evidence.20260131")
	writeFile(t, dated, readFile(t, path))
	wantFit(t, dated, key.Verifier(), path+".points")
	writeFile(t, dated, bytes.Join(linesOf(readFile(t, path))[:2], nil))
	rep := against(t, dated, key.Verifier(), path+".points")
	if len(rep.Problems) != 1 || rep.Problems[0].Kind != KindTruncated {
		t.Errorf("%v, %s", rep.Problems, rep.Conclusion())
	}
}

// Checkpoints do not go into the log, nor into what is kept beside it.
func TestCheckpointsAreApartFromTheLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	mustDo(t, os.Symlink(dir, dir+"-link"))
	l := openLog(t, path, Options{})
	add(t, l, Record{})
	mustDo(t, l.Close())
	mustDo(t, os.Link(path, filepath.Join(dir, "second")))
	k := newKey(t)
	for _, place := range []string{path, filepath.Join(dir+"-link", "audit.jsonl"), filepath.Join(dir, "second"), path + ".tree", path + ".next", path + ".000007", path + ".000007.gz"} {
		l, err := Open(path, Options{Checkpoints: &Checkpoints{Path: place, Key: k, Records: 1}})
		if err == nil {
			_ = l.Close()
			t.Errorf("%s is taken", place)
		}
	}
	if rep, err := VerifyFile(path); err != nil || !rep.Intact() || rep.Records != 1 {
		t.Errorf("%v %v", err, rep.Problems)
	}
}
