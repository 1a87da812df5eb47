package audit

import (
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Rotation says when a log goes on in a new file. The zero value never does. What is looked
// at is looked at by an append: a log to which nothing is written is not rotated.
type Rotation struct {
	MaxSize  int64         // bytes of a file; a record that would exceed it begins a new one; 0: any
	MaxAge   time.Duration // since a file's first record; 0: any
	Keep     int           // rotated files that are kept; the oldest are removed; 0: all
	Compress bool          // rotated files, by gzip, in the background
}

// nextEnd is added to a log's name for the file in which it goes on, until it takes the name.
const nextEnd = ".next"

// retryRotation is how long after a failed rotation the next is tried.
const retryRotation = time.Minute

func (r Rotation) check() error {
	if r.MaxSize < 0 || r.MaxAge < 0 || r.Keep < 0 {
		return errors.New("audit: sizes, ages and counts of a rotation are not negative")
	}
	if !canRotate && (r.MaxSize > 0 || r.MaxAge > 0) {
		return fmt.Errorf("audit: logs cannot be rotated on this system: %w", errors.ErrUnsupported)
	}
	return nil
}

// due reports whether a record of n bytes belongs into a new file. A file has more than
// one record.
func (l *Log) due(n int, now time.Time) bool {
	if l.seq <= l.first.seq || l.first.seq == 0 || now.Before(l.later) {
		return false
	}
	return l.rot.MaxSize > 0 && l.size+int64(n) > l.rot.MaxSize || l.rot.MaxAge > 0 && now.Sub(l.first.began) >= l.rot.MaxAge
}

// rotateIfDue goes on in a new file if it is time. Where that fails the old file goes on: a
// log that grows is better than calls that are refused.
func (l *Log) rotateIfDue(n int) {
	if l.rot.MaxSize == 0 && l.rot.MaxAge == 0 {
		return
	}
	now := time.Now()
	if !l.due(n, now) {
		return
	}
	var tree *edge
	if l.points != nil {
		var busy bool
		var err error
		if tree, busy, err = l.points.carry(&known{f: l.f, size: l.size, seq: l.seq, hash: l.prev, first: l.first}); err != nil {
			l.later = now.Add(retryRotation)
			go l.warn("the log could not be rotated and goes on growing", err)
			return
		}
		if busy {
			return // soon
		}
	}
	if err := l.rotate(tree); err != nil {
		l.later = now.Add(retryRotation)
		go l.warn("the log could not be rotated and goes on growing", err)
		return
	}
	l.counts.rotations.Add(1)
}

// rotate is called with the file locked and known. Whatever cuts it short, the log's name
// leads to a whole file that ends the chain: the new one is whole, and the old one has its
// second name, before the name goes over. tree is carried on; nil: none is known.
func (l *Log) rotate(tree *edge) error {
	last := l.first.before.number
	all, err := parts(l.path, last)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		last = max(last, all[len(all)-1].number)
	}
	number := last + 1
	keptFrom, gone := l.keep(all)
	next := l.path + nextEnd
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("audit: %w", err)
	}
	f, id, err := openFile(next)
	if err != nil {
		return err
	}
	e := newEncoder(l.red)
	defer e.release()
	name := partName(l.path, number)
	line, own := l.rotationRecord(e, filepath.Base(name), keptFrom, tree)
	if err := l.begin(f, next, name, line); err != nil {
		_ = f.Close()
		_ = os.Remove(next)
		return fmt.Errorf("audit: %w", err)
	}
	// From here on the new file is the log.
	unlock(l.f)
	_ = l.f.Close()
	l.commits.allSynced()
	l.f, l.id, l.size = f, id, 0
	b := before{seq: l.seq, number: number, keptFrom: keptFrom}
	if l.prev != noPrev {
		b.hash = string(l.prev[:])
	}
	if tree != nil {
		b.tree = tree.hashes()
	}
	l.first = firstRecord{seq: l.seq + 1, began: time.Now(), rotation: true, before: b}
	if l.points != nil {
		l.points.rotated(l.first.seq, len(gone) > 0)
	}
	l.advance(line, own)
	l.clear(gone, append(all, part{name: name, number: number}))
	return nil
}

// begin makes f, which has its first record then, the log, and gives the old file its new
// name. The new file is locked before anybody can find it.
func (l *Log) begin(f *os.File, next, name string, line []byte) error {
	n, err := l.write(f, line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return err
	}
	if err := errors.Join(l.f.Sync(), f.Sync(), lock(f)); err != nil {
		return err
	}
	if err := os.Link(l.path, name); err != nil && !isSame(l.path, name) {
		return err
	}
	if err := os.Rename(next, l.path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(l.path))
}

func isSame(a, b string) bool {
	x, errX := os.Lstat(a)
	y, errY := os.Lstat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// keep says from which record on records are kept once the current file has joined all,
// and which files go.
func (l *Log) keep(all []part) (from uint64, gone []part) {
	from = max(l.first.before.keptFrom, 1)
	n := len(all) + 1 - l.rot.Keep
	if l.rot.Keep == 0 || n <= 0 {
		return from, nil
	}
	oldest := l.first
	if n < len(all) {
		var err error
		if oldest, err = all[n].first(); err != nil {
			return from, nil
		}
	}
	return max(from, oldest.seq), all[:n]
}

// rotationRecord is the first record of a new file.
func (l *Log) rotationRecord(e *encoder, file string, keptFrom uint64, tree *edge) (line []byte, own sum) {
	e.record(&Record{Event: eventRotation})
	e.buf = strconv.AppendUint(append(e.buf, beforeStart...), l.seq, 10)
	if l.prev != noPrev {
		e.buf = append(append(append(e.buf, hashStart...), l.prev[:]...), '"')
	}
	e.buf = append(e.buf, fileStart...)
	e.write(file, MaxName)
	e.buf = strconv.AppendUint(append(e.buf, keptStart...), keptFrom, 10)
	if tree != nil {
		e.buf = appendTree(e.buf, tree.hashes())
	}
	e.buf = append(e.buf, '}')
	return l.complete(e, false)
}

// clear removes the files that are not kept and has the others compressed.
func (l *Log) clear(gone, all []part) {
	for _, p := range gone {
		for _, name := range []string{p.name, p.name + packedEnd} { // it may have been compressed since
			if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
				go l.warn("an old file of the log could not be removed", err)
			}
		}
	}
	if !l.rot.Compress {
		return
	}
	for _, p := range all[len(gone):] {
		if !p.packed {
			l.packing.Go(func() {
				if err := p.pack(); err != nil {
					l.warn("a file of the log could not be compressed", err)
				}
			})
		}
	}
}

// pack compresses a part. The lock keeps other processes from doing the same; nobody
// writes to the file any more.
func (p part) pack() error {
	in, err := os.Open(p.name)
	if errors.Is(err, os.ErrNotExist) {
		return nil // another process was faster, or it is not kept any more
	}
	if err != nil {
		return err
	}
	defer in.Close()
	if err := lock(in); err != nil {
		return err
	}
	defer unlock(in)
	if _, err := os.Lstat(p.name); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if packed := (part{p.name + packedEnd, p.number, true}); isThere(packed.name) {
		// A crash came between the two: the plain one goes only if nothing is lost with it.
		same, err := sameText(p, packed)
		if errors.Is(err, os.ErrNotExist) {
			return nil // neither is kept any more
		}
		if err != nil || !same {
			return errors.Join(err, fmt.Errorf("%s is there already and holds something else", packed.name))
		}
		if err := os.Remove(p.name); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	temporary := p.name + ".tmp"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	out, _, err := openFile(temporary)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(out)
	_, err = io.Copy(z, in)
	if err := errors.Join(err, z.Close(), out.Sync(), out.Close()); err != nil {
		_ = os.Remove(temporary)
		return err
	}
	if err := os.Link(temporary, p.name+packedEnd); err != nil { // unlike a rename it replaces nothing
		return errors.Join(err, os.Remove(temporary))
	}
	if err := os.Remove(temporary); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(p.name)); err != nil {
		return err
	}
	err = os.Remove(p.name)
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// It was removed meanwhile: it is not kept. Whoever removed it may have found the other too.
	if err := os.Remove(p.name + packedEnd); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func isThere(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func sameText(a, b part) (bool, error) {
	var sums [2][sha256.Size]byte
	for i, p := range []part{a, b} {
		r, err := p.open()
		if err != nil {
			return false, err
		}
		h := sha256.New()
		_, err = io.Copy(h, r)
		if err := errors.Join(err, r.Close()); err != nil {
			return false, err
		}
		h.Sum(sums[i][:0])
	}
	return sums[0] == sums[1], nil
}

// goesOn reports whether the file that took the log's name is what this one goes on in:
// another process has rotated. size is that of this file.
func (l *Log) goesOn(size int64) bool {
	if !l.known {
		return true // nothing is known that could be lost
	}
	t, err := l.tails.read(l.f, size)
	if err != nil || t.torn() {
		return false
	}
	if t.seq < l.seq || t.seq == l.seq && t.hash != l.prev {
		return false
	}
	follows := func(f firstRecord) bool {
		if !f.rotation {
			return false
		}
		hash := string(t.hash[:])
		if t.hash == noPrev {
			hash = ""
		}
		return f.before.seq == t.seq && f.before.hash == hash || f.before.keptFrom > t.seq
	}
	current, err := part{name: l.path}.first()
	if err != nil || follows(current) {
		return err == nil
	}
	all, err := parts(l.path, current.before.number)
	if err != nil {
		return false
	}
	for i := len(all) - 1; i >= 0; i-- {
		f, err := all[i].first()
		if err != nil || f.seq <= t.seq {
			return false
		}
		if follows(f) {
			return true
		}
	}
	return false
}
