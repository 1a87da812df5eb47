package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// VerifyFile is [Verify] for the log at path and, if it was rotated, for its older files
// before it; compressed ones too. If path is one of these, it is verified alone. It looks at what the
// log holds when it starts, so that gateways can go on writing.
func VerifyFile(path string) (Report, error) { return verifyFile(path, nil) }

func verifyFile(path string, marks *marks) (Report, error) {
	v := newVerifier()
	if v.marks = marks; marks != nil {
		marks.alone = isPart(path) && logBeside(path)
	}
	f, size, older, err := openSet(path)
	if err != nil {
		return Report{}, err
	}
	defer f.Close()
	for _, p := range older {
		if err := v.readPart(p); err != nil {
			return v.finish(), err
		}
	}
	if len(older) > 0 {
		v.beginFile(path)
	}
	err = v.read(io.LimitReader(f, size))
	if !isPart(path) {
		v.complete()
	}
	return v.finish(), err
}

// logBeside reports whether the log that a rotated file is of stands beside it. A copy that got a
// date for its ending is no such file: what was cut off its end is missing.
func logBeside(path string) bool {
	path = strings.TrimSuffix(path, packedEnd)
	info, err := os.Lstat(strings.TrimSuffix(path, filepath.Ext(path)))
	return err == nil && info.Mode().IsRegular()
}

// maxReopens is how often the log may be rotated while it is opened to be read.
const maxReopens = 1000

// openSet opens the log at path and lists its older files at one moment: while it is
// locked nobody rotates.
func openSet(path string) (f io.ReadCloser, size int64, older []part, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, 0, nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, 0, nil, fmt.Errorf("audit: %w: it is no regular file", errUnsafe)
	}
	if filepath.Ext(path) == packedEnd {
		f, err := part{name: path, packed: true}.open()
		return f, 1 << 62, nil, err
	}
	for range maxReopens {
		f, err := os.Open(path)
		if err != nil {
			return nil, 0, nil, err
		}
		locked := lockShared(f) == nil // so that no line is half written
		st, err := f.Stat()
		now, nowErr := os.Stat(path)
		if err := errors.Join(err, nowErr); err != nil {
			_ = f.Close()
			return nil, 0, nil, err
		}
		if !os.SameFile(st, now) {
			_ = f.Close()
			continue
		}
		older, listErr := parts(path, readFirst(f, st.Size()).before.number)
		if locked {
			unlock(f)
		}
		if listErr != nil {
			_ = f.Close()
			return nil, 0, nil, listErr
		}
		return f, st.Size(), older, nil
	}
	return nil, 0, nil, errors.New("audit: the log is rotated again and again while it is opened")
}

func (v *verifier) readPart(p part) error {
	r, err := p.open()
	if err != nil {
		return fmt.Errorf("%w; if the log was rotated meanwhile, verify it again", err)
	}
	defer r.Close()
	v.beginFile(p.name)
	if err := v.read(r); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// setFile is one file of a set, and how many lines stand in those before it.
type setFile struct {
	name  string
	lines int64
}

func (v *verifier) beginFile(name string) {
	v.files = append(v.files, setFile{quote.Text(filepath.Base(name), 100), v.rep.Lines})
	v.rep.Files++
}

// fileOf returns the file in which a line of the set stands, and its number there.
func (v *verifier) fileOf(line int64) (string, int64) {
	i := sort.Search(len(v.files), func(i int) bool { return v.files[i].lines >= line })
	if i == 0 {
		return "", line
	}
	return v.files[i-1].name, line - v.files[i-1].lines
}

// lineName names a line in the text of a problem.
func (v *verifier) lineName(line int64) string {
	here, _ := v.fileOf(v.rep.Lines)
	file, n := v.fileOf(line)
	if file == here {
		return fmt.Sprintf("line %d", n)
	}
	return fmt.Sprintf("line %d of %s", n, file)
}

// place gives problems the files in which they are.
func (v *verifier) place(problems []Problem) {
	for i := range problems {
		p := &problems[i]
		p.File, p.Line = v.fileOf(p.Line)
	}
}

// rotation takes the record of a rotation with which a file begins whose predecessor is not
// there. Any other is judged like other records: it goes on the chain.
func (v *verifier) rotation(h *head, text []byte) bool {
	b, ok := h.readBefore(text)
	if h.chained && !h.intact(v.sums) {
		return false
	}
	if !ok || b.seq+1 != h.seq || h.chained && b.hash != string(h.prev[:]) {
		v.found.add(v.rep.Lines, KindEdited, "the rotation record does not say what it goes on from")
		return false
	}
	if h.seq > v.cur.seq { // one that was moved tells nothing
		v.keptFrom = max(v.keptFrom, b.keptFrom)
	}
	if v.rep.Lines != 1 {
		v.carried(&b)
		return false
	}
	v.rep.StartsAfter = b.seq
	v.startMarks(&b)
	v.countUnchained(h)
	v.adopt(h)
	return true
}

// complete judges what should be there before the first record.
func (v *verifier) complete() {
	if v.keptFrom > 0 && v.rep.FirstSeq > v.keptFrom {
		v.found.add(1, KindRemoved, "records %d to %d are missing before this line, and rotation keeps them", v.keptFrom, v.rep.FirstSeq-1)
		return
	}
	if v.marks == nil || v.marks.rep.UpTo <= v.marks.start {
		return // nothing is known to be as it was signed
	}
	if kept := max(v.marks.kept, 1); v.rep.FirstSeq > kept {
		v.found.add(1, KindRemoved, "records %d to %d are missing before this line; that rotation removed them stands only in what no checkpoint covers, after record %d",
			kept, v.rep.FirstSeq-1, v.marks.rep.UpTo)
	}
}
