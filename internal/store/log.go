package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// readAhead is how much of a log is read at once, and how much buffer a log keeps.
const readAhead = 1 << 20

// A Log is one log of the session. [Store.Log] returns it. It is safe for concurrent use;
// its uses wait for each other.
type Log struct {
	s    *Store
	name string

	sem    chan struct{} // holds one while a use is under way, which then owns all below
	closed bool
	damage error    // given again to every use
	f      *os.File // nil until the log is known to exist
	c      chain    // after the entries that were verified
	end    int64    // where they end
	index  []int64  // where each of them starts
	low    mark     // the mark as it was last read
	buf    []byte
}

func newLog(s *Store, name string) *Log {
	return &Log{s: s, name: name, sem: make(chan struct{}, 1), c: newChain(newSealer(s.secret), name), end: logStart}
}

func (l *Log) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l.sem <- struct{}{}:
	default:
		select {
		case l.sem <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if l.closed {
		<-l.sem
		return ErrClosed
	}
	if l.damage != nil {
		<-l.sem
		return l.damage
	}
	return nil
}

func (l *Log) leave() { <-l.sem }

func (l *Log) close() {
	l.sem <- struct{}{}
	defer l.leave()
	l.closed = true
	if l.f != nil {
		_ = l.f.Close()
	}
}

func (l *Log) damaged(format string, args ...any) error {
	l.damage = fmt.Errorf("store: %w: log %q: %s", ErrDamaged, l.name, fmt.Sprintf(format, args...))
	return l.damage
}

// Append adds one entry of at most [MaxEntry] bytes and returns its index, so that whoever
// wrote it need not read it back. Every process sees it when Append returns. After an
// error the entry is not there, except that it may be if only the mark could not be
// written.
func (l *Log) Append(ctx context.Context, entry []byte) (index int, err error) {
	if len(entry) > MaxEntry {
		return 0, fmt.Errorf("store: %w: an entry of %d bytes, at most %d are allowed", ErrFull, len(entry), MaxEntry)
	}
	if err := l.enter(ctx); err != nil {
		return 0, err
	}
	defer l.leave()
	if _, err := l.open(ctx, true); err != nil {
		return 0, err
	}
	// What others appended is verified before the lock as far as it goes: with the lock
	// it would keep them waiting.
	if size, err := l.size(); err != nil {
		return 0, err
	} else if err := l.forward(size, nil); err != nil && !errors.Is(err, errTorn) && !errors.Is(err, errBad) {
		return 0, err
	}
	if err := lock(ctx, l.f, true, l.s.wait); err != nil {
		return 0, fmt.Errorf("store: log %q: %w", l.name, err)
	}
	defer unlock(l.f)
	if err := l.catchUp(); err != nil {
		return 0, err
	}
	size := int64(len(entry) + frameExtra)
	if l.c.seq >= MaxEntries || l.end+size > l.s.maxLog {
		return 0, fmt.Errorf("store: %w: log %q has %d entries in %d bytes", ErrFull, l.name, l.c.seq, l.end)
	}
	c := l.c
	b := c.add(l.buf[:0], entry)
	if cap(b) <= readAhead {
		l.buf = b
	}
	if _, err := l.f.WriteAt(b, l.end); err != nil {
		// If this fails too, the next append cuts the torn entry off.
		_ = l.f.Truncate(l.end)
		return 0, fmt.Errorf("store: append to log %q: %w", l.name, err)
	}
	l.index = append(l.index, l.end)
	l.c, l.end = c, l.end+size
	var m [markSize]byte
	if _, err := l.f.WriteAt(c.addMark(m[:0], mark{c.seq, l.end}), int64(markAt)); err != nil {
		return 0, fmt.Errorf("store: mark log %q: %w", l.name, err)
	}
	return len(l.index) - 1, nil
}

// catchUp verifies what others appended and cuts a torn tail off. It needs the lock.
func (l *Log) catchUp() error {
	if err := l.readMark(l.f); err != nil {
		return err
	}
	size, err := l.size()
	if err != nil || size == l.end {
		return err
	}
	switch err := l.forward(size, nil); {
	case errors.Is(err, errTorn):
		if l.end < l.low.end {
			return l.damaged("it is cut at entry %d", l.c.seq)
		}
		if err := l.f.Truncate(l.end); err != nil {
			return fmt.Errorf("store: cut the torn end of log %q: %w", l.name, err)
		}
		return nil
	case errors.Is(err, errBad):
		return l.damaged("entry %d does not verify", l.c.seq)
	default:
		return err
	}
}

// Read returns the entries from index from on, in order, at most max of them (max <= 0:
// all). They are the caller's. Where from is the number of entries read so far and
// nothing is new, the cost is one fstat.
func (l *Log) Read(ctx context.Context, from, max int) (entries [][]byte, err error) {
	if from < 0 {
		return nil, errors.New("store: negative index")
	}
	if err := l.enter(ctx); err != nil {
		return nil, err
	}
	defer l.leave()
	if ok, err := l.open(ctx, false); !ok {
		return nil, err
	}
	size, err := l.size()
	if err != nil {
		return nil, err
	}
	for from+len(entries) < len(l.index) && (max <= 0 || len(entries) < max) {
		e, err := l.again(from + len(entries))
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	if size == l.end || max > 0 && len(entries) == max {
		return entries, nil
	}
	take := func(e []byte) bool {
		if int(l.c.seq) > from { //nolint:gosec // at most MaxEntries
			entries = append(entries, e)
		}
		return max <= 0 || len(entries) < max
	}
	if err := l.readNew(ctx, size, take); err != nil {
		return nil, err
	}
	return entries, nil
}

// readNew verifies what follows. An entry that is not whole is none yet, or never: its
// Append has not returned. What does not verify is looked at again under the lock: it may
// have been read while it was written.
func (l *Log) readNew(ctx context.Context, size int64, take func([]byte) bool) error {
	err := l.forward(size, take)
	if errors.Is(err, errTorn) && l.end >= l.low.end {
		return nil
	}
	if !errors.Is(err, errTorn) && !errors.Is(err, errBad) {
		return err
	}
	if err := lock(ctx, l.f, false, l.s.wait); err != nil {
		return fmt.Errorf("store: log %q: %w", l.name, err)
	}
	defer unlock(l.f)
	if size, err = l.size(); err != nil {
		return err
	}
	switch err := l.forward(size, take); {
	case errors.Is(err, errBad):
		return l.damaged("entry %d does not verify", l.c.seq)
	case errors.Is(err, errTorn) && l.end < l.low.end:
		return l.damaged("it is cut at entry %d", l.c.seq)
	case errors.Is(err, errTorn):
		return nil
	default:
		return err
	}
}

// forward verifies entries up to size and hands each to take until that returns false.
// Without take, the buffer is used again and again.
func (l *Log) forward(size int64, take func([]byte) bool) error {
	want := int64(readAhead)
	for l.end < size {
		n := min(want, size-l.end)
		want = readAhead
		b := l.buf[:0]
		if take != nil || int64(cap(b)) < n {
			b = make([]byte, n)
		}
		if take == nil && cap(b) <= readAhead {
			l.buf = b
		}
		b = b[:n]
		if _, err := l.f.ReadAt(b, l.end); errors.Is(err, io.EOF) {
			return errTorn // a torn tail was cut off just now
		} else if err != nil {
			return fmt.Errorf("store: read log %q: %w", l.name, err)
		}
		for len(b) > 0 {
			payload, n, err := l.c.next(b)
			if errors.Is(err, errTorn) && l.end+int64(max(n, len(b)+1)) <= size {
				want = max(want, int64(n)) // the rest of it was not read yet
				break
			}
			if err != nil {
				return err
			}
			l.index = append(l.index, l.end)
			l.end += int64(n)
			b = b[n:]
			if (l.c.seq == l.low.count) != (l.end == l.low.end) {
				return l.damaged("its mark does not fit")
			}
			if take != nil && !take(payload) {
				return nil
			}
		}
	}
	return nil
}

// again reads an entry that was verified before. What was changed since is found: the tag
// before it and its own must still belong together, and only one such pair was ever made.
func (l *Log) again(i int) ([]byte, error) {
	at, end := l.index[i], l.end
	if i+1 < len(l.index) {
		end = l.index[i+1]
	}
	c := chain{sealer: l.c.sealer, prev: l.c.start, seq: uint64(i)} //nolint:gosec // an index
	from := at
	if i > 0 {
		from -= tagSize
	}
	b := make([]byte, end-from)
	if _, err := l.f.ReadAt(b, from); errors.Is(err, io.EOF) {
		return nil, l.damaged("it is shorter than it was")
	} else if err != nil {
		return nil, fmt.Errorf("store: read log %q: %w", l.name, err)
	}
	if i > 0 {
		c.prev = [tagSize]byte(b[:tagSize])
	}
	payload, n, err := c.next(b[at-from:])
	if err != nil || int64(n) != end-at {
		return nil, l.damaged("entry %d was changed", i)
	}
	return payload, nil
}
