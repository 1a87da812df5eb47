//go:build unix

package audit

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// verifySet verifies the log and its older files.
func verifySet(t testing.TB, path string) Report {
	t.Helper()
	rep, err := VerifyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// names are the base names of a log's files.
func names(t testing.TB, path string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestRotationCarriesTheChain(t *testing.T) {
	for name, c := range map[string]struct {
		opt   Options
		after uint64 // the set begins after this record
		files int
		gone  bool
	}{
		"by size":    {opt: Options{Rotate: Rotation{MaxSize: 3000}}, files: 7},
		"compressed": {opt: Options{Rotate: Rotation{MaxSize: 3000, Compress: true}}, files: 7},
		"three kept": {opt: Options{Rotate: Rotation{MaxSize: 3000, Keep: 3, Compress: true}}, files: 4, gone: true},
		"unchained":  {opt: Options{NoChain: true, Rotate: Rotation{MaxSize: 3000}}, files: 3},
		"never":      {opt: Options{}, files: 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			l := openLog(t, path, c.opt)
			for i := range 50 {
				add(t, l, Record{Call: uint64(i + 1), Detail: strings.Repeat("d", 100)})
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			rep := verifySet(t, path)
			if c.opt.NoChain != !rep.Intact() || (rep.StartsAfter > 0) != c.gone || rep.Files < c.files || c.files == 0 && rep.Files != 0 {
				t.Errorf("%d files, starts after %d, problems %v", rep.Files, rep.StartsAfter, rep.Problems)
			}
			if want := uint64(rep.Records) + rep.StartsAfter; rep.LastSeq != want {
				t.Errorf("%d records up to number %d", rep.Records, rep.LastSeq)
			}
			for _, n := range names(t, path) {
				st, err := os.Stat(filepath.Join(filepath.Dir(path), n))
				if err != nil || st.Mode().Perm() != 0o600 {
					t.Errorf("%s: mode %v, %v", n, st.Mode(), err)
				}
				if packed := strings.HasSuffix(n, ".gz"); n != "audit.jsonl" && packed != c.opt.Rotate.Compress {
					t.Errorf("%s: compressed or not", n)
				}
			}
		})
	}
}

// readPart returns what was written to a rotated file.
func readPartFile(t testing.TB, path string) []byte {
	t.Helper()
	text := readFile(t, path)
	if !strings.HasSuffix(path, ".gz") {
		return text
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if text, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRotationByAge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{Rotate: Rotation{MaxAge: time.Hour}})
	add(t, l, Record{})
	add(t, l, Record{})
	l.first.began = l.first.began.Add(-time.Hour)
	add(t, l, Record{})
	add(t, l, Record{})
	if rep := verifySet(t, path); !rep.Intact() || rep.Files != 2 || rep.Records != 5 {
		t.Errorf("report: %+v", rep)
	}
	// The age counts from the first record, also for the next process.
	writeFile(t, path, bytes.Replace(readFile(t, path), []byte("x"), []byte("x"), 1))
	if other := openLog(t, path, Options{Rotate: Rotation{MaxAge: time.Hour}}); other.first.seq != 3 || time.Since(other.first.began) > time.Minute {
		t.Errorf("first record: %+v", other.first)
	}
}

// What one process rotates, others go on with, however often it happened meanwhile.
func TestOthersFollowARotation(t *testing.T) {
	for _, rotations := range []int{1, 2, 5} {
		for _, keep := range []int{0, 1} {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			a := openLog(t, path, Options{Rotate: Rotation{MaxSize: 2000, Keep: keep, Compress: true}})
			b := openLog(t, path, Options{})
			add(t, b, Record{})
			for a.Stats().Rotations < uint64(rotations) {
				add(t, a, Record{Detail: strings.Repeat("d", 100)})
			}
			a.packing.Wait()
			if seq := add(t, b, Record{}); seq != a.seq+1 {
				t.Errorf("record %d after %d", seq, a.seq)
			}
			if rep := verifySet(t, path); !rep.Intact() || keep > 0 && rep.Files > keep+1 {
				t.Errorf("%d rotations, %d kept: %v", rotations, keep, rep.Problems)
			}
		}
	}
}

// A file in the log's place that does not go on the chain is no rotation.
func TestForgedRotationIsALoss(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "other.jsonl")
	l := openLog(t, path, Options{})
	add(t, l, Record{})
	add(t, l, Record{})
	o := openLog(t, other, Options{Rotate: Rotation{MaxSize: 1000}})
	for o.Stats().Rotations == 0 {
		add(t, o, Record{Detail: strings.Repeat("d", 100)})
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(Record{Event: "x"}); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("error %v", err)
	}
}

// A rotation that a crash cuts short at any step leaves a log that goes on.
func TestRotationCutShort(t *testing.T) {
	for name, left := range map[string]func(t *testing.T, path string){
		"new file begun":  func(t *testing.T, p string) { writeFile(t, p+".next", []byte(`{"seq":`)) },
		"second name":     func(t *testing.T, p string) { mustDo(t, os.Link(p, p+".000001")) },
		"both":            func(t *testing.T, p string) { writeFile(t, p+".next", nil); mustDo(t, os.Link(p, p+".000001")) },
		"packing":         func(t *testing.T, p string) { writeFile(t, p+".000001.tmp", []byte("x")) },
		"link in the way": func(t *testing.T, p string) { mustDo(t, os.Symlink(p+".none", p+".next")) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			l := openLog(t, path, Options{})
			for range 4 {
				add(t, l, Record{Detail: strings.Repeat("d", 300)})
			}
			_ = l.Close()
			left(t, path)
			l = openLog(t, path, Options{Rotate: Rotation{MaxSize: 1500, Compress: true}})
			for l.Stats().Rotations < 2 {
				add(t, l, Record{Detail: strings.Repeat("d", 300)})
			}
			_ = l.Close()
			if rep := verifySet(t, path); !rep.Intact() || rep.FirstSeq != 1 || rep.Files != 3 {
				t.Errorf("report: %+v", rep)
			}
			if want := []string{"audit.jsonl", "audit.jsonl.000001.gz", "audit.jsonl.000002.gz"}; !slices.Equal(names(t, path), want) {
				t.Errorf("files: %v", names(t, path))
			}
		})
	}
}

// A crash between compressing a file and removing it leaves both; the plain one goes only
// if the other holds the same.
func TestPackedTwice(t *testing.T) {
	for _, same := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := openLog(t, path, Options{Rotate: Rotation{MaxSize: 1500}})
		for l.Stats().Rotations < 1 {
			add(t, l, Record{Detail: strings.Repeat("d", 300)})
		}
		p := part{name: path + ".000001", number: 1}
		text := readFile(t, p.name)
		mustDo(t, p.pack())
		if !same {
			text = append(text, "more\n"...)
		}
		writeFile(t, p.name, text)
		if err := p.pack(); (err == nil) != same {
			t.Errorf("the same %v: %v", same, err)
		}
		if isThere(p.name) == same || !isThere(p.name+".gz") {
			t.Errorf("files: %v", names(t, path))
		}
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Where a rotation fails, the old file goes on, and somebody is told.
func TestRotationThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	told := make(chan error, 10)
	l := openLog(t, path, Options{Rotate: Rotation{MaxSize: 1000}, Warn: func(_ string, err error) { told <- err }})
	mustDo(t, os.Mkdir(path+".next", 0o700))
	mustDo(t, os.WriteFile(path+".next/x", nil, 0o600))
	for range 10 {
		add(t, l, Record{Detail: strings.Repeat("d", 300)})
	}
	if err := <-told; err == nil {
		t.Error("no error")
	}
	mustDo(t, os.RemoveAll(path+".next"))
	l.later = time.Time{}
	add(t, l, Record{})
	if rep := verifySet(t, path); !rep.Intact() || rep.Files != 2 || rep.Records != 12 {
		t.Errorf("report: %+v", rep)
	}
}

func TestRotationWhileManyWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var wg sync.WaitGroup
	const logs, writers, each = 3, 3, 60
	for range logs {
		l := openLog(t, path, Options{Rotate: Rotation{MaxSize: 10_000, Compress: true}, Sync: SyncAlways})
		for range writers {
			wg.Go(func() {
				for range each {
					if _, err := l.Append(Record{Event: "x", Phase: PhaseOutcome}); err != nil {
						t.Error(err)
						return
					}
					if _, err := VerifyFile(path); err != nil && !strings.Contains(err.Error(), "again") {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	rep := verifySet(t, path)
	if !rep.Intact() || rep.Files < 3 || rep.Records != logs*writers*each+int64(rep.Files-1) {
		t.Errorf("%d records in %d files: %v", rep.Records, rep.Files, rep.Problems)
	}
}
