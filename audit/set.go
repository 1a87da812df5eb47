package audit

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A rotated log is a set of files: the log itself, which is written to, and beside it
// LOG.000001, LOG.000002 and so on, from the oldest on, each possibly compressed (.gz).

const (
	packedEnd = ".gz"
	numberLen = 6 // digits of a number, at least
	maxPart   = 1 << 40
)

// part is one rotated file of a log.
type part struct {
	name   string // of the file, with its directory
	number int
	packed bool
}

// parts lists the rotated files of the log at path in order. last is the number of the
// newest, if it is known. A file that is the log itself under another name (a rotation that a
// crash cut short) is none.
func parts(path string, last int) ([]part, error) {
	dir, base := filepath.Dir(path), filepath.Base(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	current, _ := os.Lstat(path)
	known := map[int]part{}
	first := last
	for _, e := range entries {
		text, ok := strings.CutPrefix(e.Name(), base+".")
		if !ok {
			continue
		}
		digits := strings.TrimSuffix(text, packedEnd)
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n > maxPart || partName(path, n) != path+"."+digits {
			continue
		}
		if p, ok := partAt(path, n, current); ok {
			known[n] = p
		}
		if first == 0 || n < first {
			first = n
		}
		last = max(last, n)
	}
	// A directory that is read while a file in it is compressed can show neither of its names.
	// Where more numbers are missing than that explains, they are not looked for: what a name or a
	// record says may be anything.
	numbers := slices.Collect(maps.Keys(known))
	if last-first < len(known)+maxGaps {
		for n := max(first-1, 1); n <= last+1; n++ {
			if _, ok := known[n]; !ok {
				numbers = append(numbers, n)
			}
		}
	}
	slices.Sort(numbers)
	var all []part
	for _, n := range numbers {
		p, ok := known[n]
		if !ok {
			p, ok = partAt(path, n, current)
		}
		if ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// partAt returns the part with a number. While it is compressed it is there twice.
func partAt(path string, n int, current os.FileInfo) (part, bool) {
	name := partName(path, n)
	for range 2 { // between the looks at its two names it may have gone from one to the other
		for _, p := range []part{{name, n, false}, {name + packedEnd, n, true}} {
			info, err := os.Lstat(p.name)
			if err == nil && info.Mode().IsRegular() && (current == nil || !os.SameFile(info, current)) {
				return p, true
			}
		}
	}
	return part{}, false
}

// isPart reports whether path names a rotated file and not a log.
func isPart(path string) bool {
	digits := strings.TrimPrefix(filepath.Ext(strings.TrimSuffix(path, packedEnd)), ".")
	return len(digits) >= numberLen && strings.Trim(digits, "0123456789") == ""
}

func partName(path string, n int) string { return fmt.Sprintf("%s.%0*d", path, numberLen, n) }

// open opens a part to be read as the lines that were written to it. One that was
// compressed or uncompressed since it was listed is found under its other name.
func (p part) open() (io.ReadCloser, error) {
	f, err := os.Open(p.name)
	if errors.Is(err, fs.ErrNotExist) {
		if p.packed {
			p.name = strings.TrimSuffix(p.name, packedEnd)
		} else {
			p.name += packedEnd
		}
		p.packed = !p.packed
		f, err = os.Open(p.name)
	}
	if err != nil {
		return nil, err
	}
	if !p.packed {
		return f, nil
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("audit: %s: %w", p.name, err)
	}
	return &unpacked{z, f}, nil
}

// unpacked reads a compressed part.
type unpacked struct {
	*gzip.Reader
	f *os.File
}

// Close closes the file too.
func (u *unpacked) Close() error { return errors.Join(u.Reader.Close(), u.f.Close()) }

// firstRecord is what the first record of a file says.
type firstRecord struct {
	seq      uint64 // 0: not known
	began    time.Time
	rotation bool
	before   before
}

// readFirst reads the first record of a file. If there is none, or a damaged one, the file
// counts as begun now.
func readFirst(r io.ReaderAt, size int64) firstRecord {
	in := newLines(io.NewSectionReader(r, 0, min(size, MaxLine+1)))
	return firstOf(in)
}

func (p part) first() (firstRecord, error) {
	r, err := p.open()
	if err != nil {
		return firstRecord{}, err
	}
	defer r.Close()
	return firstOf(newLines(io.LimitReader(r, MaxLine+1))), nil
}

func firstOf(in *lines) firstRecord {
	none := firstRecord{seq: 1, began: time.Now()}
	ln, err := in.next()
	if err != nil || ln.tooLong || !ln.ended {
		return none
	}
	var d decoder
	h, err := d.decode(ln.text)
	if err != nil || h.chained && !h.intact(newSummer()) {
		return none
	}
	f := firstRecord{seq: h.seq, began: h.time}
	if h.event == eventRotation {
		if f.before, f.rotation = h.readBefore(ln.text); f.rotation {
			f.rotation = f.before.seq+1 == h.seq
		}
	}
	return f
}
