package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A crash can tear the last line anywhere; the next start seals what it left.
func TestB108TornLineIsSealed(t *testing.T) {
	_, text := newLog(t, 3)
	lastLine := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	for cutAt := lastLine; cutAt < len(text); cutAt++ {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		writeFile(t, path, text[:cutAt])
		before := verify(t, text[:cutAt])
		if cutAt > lastLine && (len(before.Problems) != 1 || before.Problems[0].Kind != KindTorn || before.Problems[0].Line != 3) {
			t.Fatalf("cut at %d, before the repair: %v", cutAt, before.Problems)
		}
		l := openLog(t, path, Options{})
		add(t, l, Record{})
		after := readFile(t, path)
		if !bytes.HasPrefix(after, text[:cutAt]) {
			t.Fatalf("cut at %d: evidence was deleted", cutAt)
		}
		rep := verify(t, after)
		repairs := 1
		records := int64(4) // two whole ones, the repair, the new one
		switch cutAt {
		case lastLine: // nothing torn
			repairs, records = 0, 3
		case len(text) - 1: // only the line feed was missing
			records = 5
		}
		if !rep.Intact() || len(rep.Repairs) != repairs || rep.Records != records {
			t.Fatalf("cut at %d: %+v", cutAt, rep)
		}
		_ = l.Close()
	}
}

// A file that holds nothing but a torn line, and a repair that was torn itself.
func TestTornAgainAndAgain(t *testing.T) {
	_, text := newLog(t, 1)
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeFile(t, path, text[:50])
	for i := range 5 {
		size := len(readFile(t, path))
		l := openLog(t, path, Options{})
		_ = l.Close()
		if rep := verify(t, readFile(t, path)); !rep.Intact() || rep.Records != 1 || len(rep.Repairs) != 1 {
			t.Fatalf("round %d: %+v", i, rep)
		}
		if err := os.Truncate(path, int64(size+1+9*i)); err != nil { // the line feed and some of the repair
			t.Fatal(err)
		}
	}
}

// Zeros are what a power failure leaves where the disk had room but no text yet.
func TestZerosAreSealed(t *testing.T) {
	path, text := newLog(t, 2)
	writeFile(t, path, append(text, make([]byte, 4096)...))
	l := openLog(t, path, Options{})
	add(t, l, Record{})
	if rep := wantIntact(t, path, 4); len(rep.Repairs) != 1 {
		t.Errorf("repairs: %v", rep.Repairs)
	}
}

// What is foreign or edited is sealed too, so that the log goes on, but stays a problem.
func TestForeignTailIsSealedAndReported(t *testing.T) {
	_, text := newLog(t, 2)
	long := strings.Repeat("x", MaxLine+100)
	edited := bytes.Replace(text, []byte(`"call":1`), []byte(`"call":8`), 1)
	for name, c := range map[string]struct {
		text []byte
		kind string
		line int64
	}{
		"line":             {append(bytes.Clone(text), "hello\n"...), KindForeign, 3},
		"no line feed":     {append(bytes.Clone(text), "hello"...), KindForeign, 3},
		"blank line":       {append(bytes.Clone(text), '\n'), KindForeign, 3},
		"too long":         {append(bytes.Clone(text), long+"\n"...), KindUnreadable, 3},
		"last record":      {edited, KindEdited, 2},
		"number too large": {append(bytes.Clone(text), `{"seq":99999999999999999999,"time":1}`+"\n"...), KindTorn, 3},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			writeFile(t, path, c.text)
			l := openLog(t, path, Options{})
			add(t, l, Record{})
			rep := verify(t, readFile(t, path))
			if c.kind == KindTorn { // it begins as a record does: nothing tells it from one that was torn
				if !rep.Intact() || len(rep.Repairs) != 1 {
					t.Errorf("report: %+v", rep)
				}
				return
			}
			if len(rep.Problems) != 1 || rep.Problems[0].Kind != c.kind || rep.Problems[0].Line != c.line || len(rep.Repairs) != 1 {
				t.Errorf("problems %v, repairs %v", rep.Problems, rep.Repairs)
			}
		})
	}
}

func TestForeignLineWhileRunning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{})
	add(t, l, Record{})
	writeFile(t, path, append(readFile(t, path), "hello\n"...))
	add(t, l, Record{})
	add(t, l, Record{})
	rep := verify(t, readFile(t, path))
	if len(rep.Problems) != 1 || rep.Problems[0].Kind != KindForeign || rep.Problems[0].Line != 2 || rep.Records != 4 {
		t.Errorf("report: %+v", rep)
	}
}

// A record with the last number, which only somebody else can have written, ends the log:
// numbers never start again.
func TestNumbersRunOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	leaf := fmt.Appendf(nil, `{"seq":%d,"time":"2026-01-02T15:04:05.000Z","event":"x","prev":"%s"`, int64(maxSeq), noPrev[:])
	own := newSummer().of(&noPrev, leaf, brace)
	writeFile(t, path, fmt.Appendf(leaf, `,"hash":"%s"}`+"\n", own[:]))
	l := openLog(t, path, Options{})
	if seq, err := l.Append(Record{Event: "x"}); err == nil {
		t.Errorf("record %d was written", seq)
	}
}

// The last record is found however far from the end it stands, and a damaged end of a
// long log is repaired without reading all of it.
func TestLastRecordIsFound(t *testing.T) {
	_, text := newLog(t, 700)
	for _, garbage := range []int{10, tailWindow - 100, tailWindow, tailWindow + 100, 16 * tailWindow, 40 * tailWindow} {
		for _, size := range []int{len(text), 300, 100} { // the log before it: long, one record, none
			head := text[:bytes.LastIndexByte(text[:size], '\n')+1]
			all := append(bytes.Clone(head), bytes.Repeat([]byte("garbage \n"), garbage/9)...)
			r := &readCounter{ReaderAt: bytes.NewReader(all)}
			tails := tailReader{sums: newSummer()}
			got, err := tails.read(r, int64(len(all)))
			if err != nil {
				t.Fatal(err)
			}
			want := verify(t, head)
			if got.seq != want.LastSeq || got.end != int64(len(head)) || got.rest != int64(len(all)-len(head)) || !got.torn() {
				t.Errorf("%d bytes after %d: record %d up to %d, want %d", garbage, len(head), got.seq, got.end, want.LastSeq)
			}
			if garbage == 10 && r.n > 3*tailWindow {
				t.Errorf("%d bytes were read", r.n)
			}
		}
	}
}

type readCounter struct {
	io.ReaderAt
	n int
}

func (r *readCounter) ReadAt(p []byte, at int64) (int, error) {
	r.n += len(p)
	return r.ReaderAt.ReadAt(p, at)
}

// A sealed region that changes afterwards no longer has its digest.
func TestSealedBytesAreProtected(t *testing.T) {
	_, text := newLog(t, 2)
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeFile(t, path, text[:len(text)-40])
	add(t, openLog(t, path, Options{}), Record{})
	sealed := readFile(t, path)
	at := len(text) - 60
	sealed[at] ^= 1
	if rep := verify(t, sealed); rep.Intact() {
		t.Error("a change in a sealed line was not found")
	}
	line := bytes.IndexByte(sealed, '\n') + 1
	gone := append(bytes.Clone(sealed[:line]), sealed[bytes.IndexByte(sealed[line:], '\n')+line+1:]...)
	if rep := verify(t, gone); len(rep.Problems) != 1 || rep.Problems[0].Kind != KindRemoved || rep.Problems[0].Line != 2 {
		t.Errorf("without the sealed line: %v", rep.Problems)
	}
}

func TestB104FailedWriteLeavesTheChain(t *testing.T) {
	full := errors.New("no space left on device")
	for name, failing := range map[string]func(*os.File, []byte) (int, error){
		"nothing":      func(*os.File, []byte) (int, error) { return 0, full },
		"a part":       func(f *os.File, p []byte) (int, error) { n, _ := f.Write(p[:len(p)/2]); return n, full },
		"silent":       func(f *os.File, p []byte) (int, error) { n, _ := f.Write(p[:len(p)-1]); return n, nil },
		"all but late": func(f *os.File, p []byte) (int, error) { n, _ := f.Write(p); return n, full },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			l := openLog(t, path, Options{})
			add(t, l, Record{})
			before := readFile(t, path)
			whole := l.write
			l.write = failing
			if _, err := l.Append(Record{Event: "x"}); err == nil {
				t.Fatal("no error")
			}
			if got := readFile(t, path); !bytes.Equal(got, before) {
				t.Fatalf("the file holds %q", got)
			}
			l.write = whole
			if seq := add(t, l, Record{}); seq != 2 {
				t.Errorf("record %d, want 2", seq)
			}
			wantIntact(t, path, 2)
		})
	}
}

// Where a part of a line cannot be taken back at once, the next append tries again. If
// that fails too, or if another process has sealed the part meanwhile, the log goes on.
func TestPartThatCannotBeTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		failures int
		another  bool
		records  int64
		repairs  int
	}{
		"once":            {failures: 1, records: 2},
		"twice":           {failures: 2, records: 3, repairs: 1},
		"another process": {failures: 1, another: true, records: 3, repairs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			l := openLog(t, path, Options{})
			add(t, l, Record{})
			whole := l.write
			l.write = func(f *os.File, p []byte) (int, error) {
				n, _ := f.Write(p[:len(p)-5])
				return n, errors.New("full")
			}
			left := c.failures
			l.truncate = func(f *os.File, size int64) error {
				if left--; left >= 0 {
					return errors.New("append only")
				}
				return f.Truncate(size)
			}
			if _, err := l.Append(Record{Event: "x"}); err == nil || !strings.Contains(err.Error(), "append only") {
				t.Fatalf("error %v", err)
			}
			l.write = whole
			if c.another {
				_ = openLog(t, path, Options{}).Close()
			}
			add(t, l, Record{})
			rep := verify(t, readFile(t, path))
			if !rep.Intact() || rep.Records != c.records || len(rep.Repairs) != c.repairs {
				t.Errorf("report: %+v", rep)
			}
		})
	}
}

func TestRepairThatFails(t *testing.T) {
	path, text := newLog(t, 2)
	l := openLog(t, path, Options{})
	writeFile(t, path, append(text, `{"seq":3,"ti`...))
	whole := l.write
	l.write = func(*os.File, []byte) (int, error) { return 0, errors.New("full") }
	for range 2 {
		if _, err := l.Append(Record{Event: "x"}); err == nil {
			t.Fatal("no error")
		}
	}
	l.write = whole
	if seq := add(t, l, Record{}); seq != 4 {
		t.Errorf("record %d, want 4", seq)
	}
	wantIntact(t, path, 4)
}
