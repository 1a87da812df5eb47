package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// rest reads what a reader has: the numbers of records, and what is said instead.
func rest(t testing.TB, r *Reader) string {
	t.Helper()
	var all []string
	for {
		ln, err := r.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(all, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		if ln.Err != nil {
			all = append(all, "["+ln.Err.Error()+"]")
			continue
		}
		h, err := readHead(ln.Text)
		if err != nil {
			all = append(all, "?")
			continue
		}
		all = append(all, fmt.Sprint(h.seq))
	}
}

// more calls More and reads what there is.
func more(t testing.TB, r *Reader) string {
	t.Helper()
	var all []string
	for {
		ok, err := r.More()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return strings.Join(all, " ")
		}
		if s := rest(t, r); s != "" {
			all = append(all, s)
		}
	}
}

func reader(t testing.TB, path string, fromEnd int64) *Reader {
	t.Helper()
	r, err := OpenReaderAt(path, fromEnd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func expect(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func addRecords(t testing.TB, l *Log, n int, detail string) {
	t.Helper()
	for range n {
		if _, err := l.Append(Record{Event: "tools/call", Detail: detail}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReaderFollowsALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{})
	addRecords(t, l, 2, "")
	r := reader(t, path, 0)
	expect(t, "at first", rest(t, r), "1 2")
	expect(t, "nothing new", more(t, r), "")
	addRecords(t, l, 2, "")
	expect(t, "added", more(t, r), "3 4")
	done, total := r.Progress()
	if done != total || done != l.size {
		t.Errorf("progress %d of %d, the log has %d bytes", done, total, l.size)
	}

	// Half a line waits, and is one line once the rest is there.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, s := range []string{`{"seq":5,"time":"2026-01-02T15:04:05.000Z",`, `"event":"x"}`} {
		_, _ = f.WriteString(s)
		expect(t, "half a line", more(t, r), "")
	}
	_, _ = f.WriteString("\n")
	expect(t, "the whole line", more(t, r), "5")
}

// The line that was torn when the log was opened is told once, whatever seals it.
func TestReaderTellsOfATornLineOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{})
	addRecords(t, l, 1, "")
	l.Close()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString(`{"seq":2,"ti`)
	_ = f.Close()
	r := reader(t, path, 0)
	expect(t, "torn", rest(t, r), "1 [the line has no end]")
	addRecords(t, openLog(t, path, Options{}), 1, "")
	expect(t, "sealed", more(t, r), "2 3")
}

func TestReaderGoesOnAfterRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{Rotate: Rotation{MaxSize: 2000, Compress: true}})
	addRecords(t, l, 1, "")
	r := reader(t, path, 0)
	expect(t, "at first", rest(t, r), "1")
	addRecords(t, l, 40, "")
	l.Close()
	if all, _ := filepath.Glob(path + ".*"); len(all) < 3 {
		t.Fatalf("rotated into %q only", all)
	}
	var want []string
	for n := 2; n <= int(l.seq); n++ {
		want = append(want, fmt.Sprint(n))
	}
	expect(t, "after several rotations", more(t, r), strings.Join(want, " "))
	addRecords(t, openLog(t, path, Options{}), 1, "")
	expect(t, "after them", more(t, r), fmt.Sprint(l.seq+1))
}

// What rotation has removed meanwhile is said; a file that was read and then removed is no loss.
func TestReaderSaysWhatRotationRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{Rotate: Rotation{MaxSize: 2000, Keep: 1}})
	addRecords(t, l, 1, "")
	r := reader(t, path, 0)
	expect(t, "at first", rest(t, r), "1")
	addRecords(t, l, 60, "")
	got := more(t, r)
	if !strings.HasPrefix(got, "2 ") || strings.Count(got, "[files into which the log was rotated were removed before they were read]") != 1 || strings.Count(got, "[") != 1 {
		t.Errorf("after many rotations: %q", got)
	}
	// One by one, so that each rotation is seen before the next: nothing is lost.
	begin := r.last
	for range 60 {
		addRecords(t, l, 1, "")
		if got := more(t, r); strings.Contains(got, "[") || !strings.HasSuffix(got, fmt.Sprint(l.seq)) {
			t.Fatalf("record %d: %q", l.seq, got)
		}
	}
	if r.last < begin+2 {
		t.Errorf("rotated from %d to %d only", begin, r.last)
	}
}

func TestReaderSaysThatALogWasCutOrReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{})
	addRecords(t, l, 3, "")
	r := reader(t, path, 0)
	expect(t, "at first", rest(t, r), "1 2 3")
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	expect(t, "cut", more(t, r), "[the log was cut: it is shorter than what was read of it]")
	l.Close()
	l = openLog(t, path, Options{})
	addRecords(t, l, 1, "")
	expect(t, "after it", more(t, r), "1")
	l.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	expect(t, "gone", more(t, r), "")
	addRecords(t, openLog(t, path, Options{}), 2, "")
	expect(t, "replaced", more(t, r), "[the log was deleted or replaced, and goes on as another file] 1 2")
}

// However much of the beginning is left out, what is read is an end of the set, line by line.
func TestReaderFromTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{Rotate: Rotation{MaxSize: 3000}})
	addRecords(t, l, 40, "")
	l.Close()
	all := rest(t, reader(t, path, 0))
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int64Range(1, 20_000).Draw(rt, "bytes from the end")
		r, err := OpenReaderAt(path, n)
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Close()
		got := rest(t, r)
		if !strings.HasSuffix(" "+all, " "+got) && got != "" || strings.Contains(got, "?") {
			rt.Fatalf("from %d bytes before the end: %q", n, got)
		}
		if whole := got == all; whole == r.Partial() {
			rt.Fatalf("from %d bytes before the end: all %v, partial %v", n, whole, r.Partial())
		}
		if n > 400 && got == "" {
			rt.Fatalf("nothing within %d bytes of the end", n)
		}
	})
}

func TestOnlyALogGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{Rotate: Rotation{MaxSize: 600}})
	addRecords(t, l, 9, "")
	for name, r := range map[string]*Reader{
		"a stream":        NewReader(strings.NewReader("")),
		"a rotated file":  reader(t, path+".000001", 0),
		"before its end":  reader(t, path, 0),
		"a stream of one": NewReader(strings.NewReader("x\n")),
	} {
		if name != "before its end" {
			rest(t, r)
		}
		if _, err := r.More(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
