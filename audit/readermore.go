package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// More reports whether the log holds more than [Reader.Next] has returned up to its end, and makes
// Next go on with it: with what was written since, and with the files that the log was
// rotated into. A log that was cut or replaced goes on too, and Next says so first. Lines that a
// writer has not finished wait. It may be called again and again, but only at the end.
func (r *Reader) More() (bool, error) {
	p := r.cur
	if p == nil || p.window == nil || p.packed || len(r.queue) > 0 || isPart(r.path) {
		return false, errors.New("audit: only a log that was read to its end can go on")
	}
	f, ok := p.r.(*os.File)
	if !ok {
		return false, errors.New("audit: only a log that was read to its end can go on")
	}
	here, err := sizeNow(f, p.limit)
	if err != nil {
		return false, fmt.Errorf("audit: %w", err)
	}
	if here < p.limit {
		if _, err := f.Seek(here, io.SeekStart); err != nil {
			return false, fmt.Errorf("audit: %w", err)
		}
		p.in, p.torn, p.unknown = newLines(&tallied{Reader: p.window, done: &r.done}), false, true
		p.limit, p.window.N = here, 0
		r.notes = append(r.notes, ErrCut)
		return true, nil
	}
	if here > p.limit {
		p.window.N += here - p.limit
		r.size.Add(here - p.limit)
		p.limit = here
		return true, nil
	}
	return r.goOn(f)
}

// sizeNow is how much of a log can be read: whole lines.
func sizeNow(f *os.File, known int64) (int64, error) {
	if st, err := f.Stat(); err != nil || st.Size() == known {
		return known, err // the common case needs no lock
	}
	if lockShared(f) == nil { // no line is half written
		defer unlock(f)
	}
	st, err := f.Stat()
	if err != nil || st.Size() <= known {
		return st.Size(), err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, st.Size()-1); err != nil {
		return 0, err
	}
	if last[0] != '\n' {
		return known, nil
	}
	return st.Size(), nil
}

// goOn opens what the log went on as, if that is another file than f.
func (r *Reader) goOn(f *os.File) (bool, error) {
	st, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("audit: %w", err)
	}
	now, err := os.Stat(r.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && os.SameFile(st, now) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("audit: %w", err)
	}
	next, err := OpenReader(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // gone since
	}
	if err != nil {
		return false, err
	}
	mine := r.last + 1 // the number that f has now, if it was rotated
	for len(next.queue) > 1 && next.queue[0].number <= mine {
		next.queue = next.queue[1:]
	}
	first := next.last + 1
	if len(next.queue) > 1 {
		first = next.queue[0].number
	}
	switch {
	case next.last < mine:
		r.notes = append(r.notes, ErrReplaced)
	case first > mine+1:
		r.notes = append(r.notes, ErrRemoved)
	}
	_ = f.Close()
	r.queue, r.last, r.cur = next.queue, next.last, nil
	r.size.Store(r.done.Load() + next.size.Load())
	return true, nil
}
