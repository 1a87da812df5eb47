package audit

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
)

// tail is the end of a log: its last record, and what stands after it.
type tail struct {
	seq    uint64
	hash   sum   // noPrev if there is no record, or an unchained one
	end    int64 // where the record ends, with its line feed
	whole  bool  // the record lacks only its line feed
	ended  bool  // the file is empty or ends with a line feed
	sealed int64 // bytes after the record that are none, without a last line feed
	sha    [sha256.Size]byte
	rest   int64 // bytes after end
}

// torn reports whether the end needs a repair record.
func (t *tail) torn() bool { return t.rest > 0 || t.whole }

func (t *tail) story() string {
	if t.whole {
		return "the line feed of the record before was missing"
	}
	return fmt.Sprintf("%d bytes before this line are no record: a line that a crash tore, or something else's", t.sealed)
}

const (
	tailChunk  = 4 << 10
	tailWindow = 64 << 10
)

// tailReader reads the ends of a log, again and again.
type tailReader struct {
	buf  []byte
	dec  decoder
	sums *summer
}

// read reads the end of a log of the given size. It takes one short read where all is
// well.
func (r *tailReader) read(f io.ReaderAt, size int64) (tail, error) {
	if size == 0 {
		return tail{ended: true, hash: noPrev}, nil
	}
	line, ended, err := r.lastLine(f, size)
	if err != nil {
		return tail{}, err
	}
	if rec, err := r.dec.decode(line); err == nil && (!rec.chained || rec.intact(r.sums)) {
		return tail{seq: rec.seq, hash: rec.hash, end: size, ended: ended, whole: !ended, sha: sha256.Sum256(nil)}, nil
	}
	// The last record is most likely near the end, and others wait while it is sought.
	var t tail
	for n := int64(tailWindow); t.seq == 0; n *= 16 {
		if t, err = scan(f, max(size-n, 0), size); err != nil {
			return tail{}, err
		}
		if n >= size {
			break
		}
	}
	t.ended, t.rest = ended, size-t.end
	return t, t.seal(f)
}

// lastLine returns the last line, without its line feed, and whether it has one. A line
// longer than MaxLine comes back as nil.
func (r *tailReader) lastLine(f io.ReaderAt, size int64) (line []byte, ended bool, err error) {
	for n := int64(tailChunk); ; n *= 8 {
		n = min(n, size)
		if int64(cap(r.buf)) < n {
			r.buf = make([]byte, n)
		}
		buf := r.buf[:n]
		if n > maxKept {
			r.buf = nil
		}
		if err := readFull(f, buf, size-n); err != nil {
			return nil, false, err
		}
		ended = buf[n-1] == '\n'
		text := buf
		if ended {
			text = buf[:n-1]
		}
		if at := bytes.LastIndexByte(text, '\n'); at >= 0 || n == size {
			return text[at+1:], ended, nil
		}
		if n > MaxLine {
			return nil, ended, nil
		}
	}
}

func readFull(f io.ReaderAt, buf []byte, at int64) error {
	n, err := f.ReadAt(buf, at)
	if n == len(buf) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// scan finds the last record that begins at or after from.
func scan(f io.ReaderAt, from, size int64) (tail, error) {
	t := tail{hash: noPrev}
	in := newLines(io.NewSectionReader(f, from, size-from))
	skip := from > 0 // the first line is a part of one
	sums, d := newSummer(), decoder{}
	for at := from; ; {
		ln, err := in.next()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		at += ln.size
		if skip || ln.tooLong || !ln.ended {
			skip = false
			continue
		}
		rec, err := d.decode(ln.text)
		if err != nil || rec.chained && !rec.intact(sums) {
			continue
		}
		t.seq, t.hash, t.end = rec.seq, rec.hash, at
	}
}

// seal computes the digest of what stands after the record.
func (t *tail) seal(f io.ReaderAt) error {
	t.sealed = t.rest
	if t.ended {
		t.sealed--
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, t.end, t.sealed)); err != nil {
		return err
	}
	h.Sum(t.sha[:0])
	return nil
}
