//go:build unix

package audit

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTamperingWithASet(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(t *testing.T, path string)
		want string // kind file:line, of the first problem; "" none
	}{
		"nothing":        {func(*testing.T, string) {}, ""},
		"first removed":  {func(t *testing.T, p string) { remove(t, p+".000001") }, "removed audit.jsonl.000002:1"},
		"middle removed": {func(t *testing.T, p string) { remove(t, p+".000002") }, "removed audit.jsonl.000003:1"},
		"all removed": {func(t *testing.T, p string) {
			for _, n := range names(t, p) {
				if n != filepath.Base(p) {
					remove(t, filepath.Join(filepath.Dir(p), n))
				}
			}
		}, "removed :1"},
		"edited": {func(t *testing.T, p string) {
			p += ".000002"
			writeFile(t, p, bytes.Replace(readFile(t, p), []byte(`"detail":"d`), []byte(`"detail":"e`), 1))
		}, "edited audit.jsonl.000002:2"},
		"end cut": {func(t *testing.T, p string) {
			p += ".000002"
			text := readFile(t, p)
			writeFile(t, p, text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1])
		}, "removed audit.jsonl.000003:1"},
		"torn": {func(t *testing.T, p string) {
			p += ".000002"
			text := readFile(t, p)
			writeFile(t, p, text[:len(text)-20])
		}, "torn audit.jsonl.000002:"},
		"swapped": {func(t *testing.T, p string) {
			a, b := readFile(t, p+".000001"), readFile(t, p+".000002")
			writeFile(t, p+".000001", b)
			writeFile(t, p+".000002", a)
		}, "removed audit.jsonl.000001:1"},
		"rotation record taken off": {func(t *testing.T, p string) {
			p += ".000002"
			text := readFile(t, p)
			writeFile(t, p, text[bytes.IndexByte(text, '\n')+1:])
		}, "removed audit.jsonl.000002:1"},
		"packed by hand": {func(t *testing.T, p string) {
			p += ".000002"
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write(readFile(t, p))
			_ = z.Close()
			writeFile(t, p+".gz", b.Bytes())
			remove(t, p)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			l := openLog(t, path, Options{Rotate: Rotation{MaxSize: 2500}})
			for l.Stats().Rotations < 4 {
				add(t, l, Record{Detail: strings.Repeat("d", 100)})
			}
			c.do(t, path)
			rep := verifySet(t, path)
			got := ""
			if !rep.Intact() {
				got = fmt.Sprintf("%s %s:%d", rep.Problems[0].Kind, rep.Problems[0].File, rep.Problems[0].Line)
			}
			if got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got %q, want %q: %v", got, c.want, rep.Problems)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// Removing the oldest files is not hidden by a later rotation that removes files itself.
func TestRotationHidesNoRemoval(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{Rotate: Rotation{MaxSize: 1500, Keep: 4}})
	fill := func(n uint64) {
		for l.Stats().Rotations < n {
			add(t, l, Record{Detail: strings.Repeat("d", 100)})
		}
	}
	fill(3)
	remove(t, path+".000001")
	fill(4)
	if rep := verifySet(t, path); rep.Intact() || rep.Problems[0].Kind != KindRemoved {
		t.Errorf("problems: %v", rep.Problems)
	}
	fill(8) // by now the rotation would have removed it itself
	if rep := verifySet(t, path); !rep.Intact() {
		t.Errorf("problems: %v", rep.Problems)
	}
}

// One file of a set alone is what it is, and says what is not known.
func TestOneFileOfASet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{Rotate: Rotation{MaxSize: 1500, Compress: true}})
	for l.Stats().Rotations < 3 {
		add(t, l, Record{Detail: strings.Repeat("d", 100)})
	}
	l.packing.Wait()
	rep := verifySet(t, path+".000002.gz")
	if !rep.Intact() || rep.StartsAfter == 0 || rep.FirstSeq != rep.StartsAfter+1 || !strings.Contains(rep.Conclusion(), "older files") {
		t.Errorf("report: %+v, %s", rep, rep.Conclusion())
	}
	all := readPartFile(t, path+".000001.gz")
	all = append(append(all, readPartFile(t, path+".000002.gz")...), readPartFile(t, path+".000003.gz")...)
	if rep := verify(t, all); !rep.Intact() || rep.StartsAfter != 0 {
		t.Errorf("the files in one stream: %+v", rep)
	}
}
