package audit

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// catchUp brings what is known of the file up to date: another process may have written
// to it or rotated the log, a crash may have torn its last line, somebody may have taken it
// away. moved says that the log goes on in another file, and this one was closed.
func (l *Log) catchUp() (moved bool, err error) {
	size, where, err := stat(l.f, l.path, l.id)
	if errors.Is(err, errUnsafe) {
		return false, err
	}
	if err != nil {
		return false, fmt.Errorf("audit: %w", err)
	}
	if where == replaced && l.undoEnd == 0 && l.goesOn(size) {
		l.commits.allSynced() // whoever rotates forces the old file to the disk
		l.forget()
		return true, nil
	}
	return false, l.refresh(size, where)
}

func (l *Log) refresh(size int64, where presence) (err error) {
	if where != present {
		l.remember(where)
		l.forget()
		return fmt.Errorf("%w: %s is %s", ErrGone, l.path, where)
	}
	if l.undoEnd != 0 {
		if size, err = l.takeBack(size); err != nil { // where that cannot be, it is sealed
			l.undoEnd, l.known = 0, false
		}
	}
	if l.known && size < l.size {
		l.remember(wasCut)
		l.known = false
		return fmt.Errorf("%w: %s is shorter than before", ErrGone, l.path)
	}
	if l.known && size == l.size {
		return nil
	}
	return l.load(size)
}

// remember keeps what was known of a log that is gone, for the restart record.
func (l *Log) remember(how presence) {
	if l.lost == nil && l.known && l.seq > 0 {
		l.lost = &lost{how: how, seq: l.seq, prev: l.prev}
	}
}

// load reads the end of the file and writes what the log has to say of it.
func (l *Log) load(size int64) error {
	t, err := l.tails.read(l.f, size)
	if err != nil {
		return fmt.Errorf("audit: read the log's end: %w", err)
	}
	if t.seq == 0 && size > 0 && !l.known && l.lost == nil {
		if err := begun(l.f); err != nil {
			return err
		}
	}
	if l.known && (t.seq < l.seq || t.seq == l.seq && t.hash != l.prev) {
		l.remember(overwritten)
		l.known = false
		return fmt.Errorf("%w: %s no longer ends with what was written", ErrGone, l.path)
	}
	l.known, l.size, l.seq, l.prev = true, size, t.seq, t.hash
	if l.first.seq == 0 && size > 0 {
		l.first = readFirst(l.f, size)
	}
	if t.torn() {
		if err := l.own(Record{Event: eventRepair, Detail: t.story()}, &t); err != nil {
			return err
		}
	}
	if l.lost != nil {
		detail := "the log was found " + string(l.lost.how) + " while a gateway was writing to it"
		if err := l.own(Record{Event: eventRestart, Detail: detail}, nil); err != nil {
			return err
		}
		l.lost = nil
	}
	return nil
}

// begun refuses a file that holds no record and does not begin as one that a crash tore:
// somebody named the wrong file, and appending would damage it.
func begun(f io.ReaderAt) error {
	const first = `{"seq":`
	start := make([]byte, len(first))
	n, err := f.ReadAt(start, 0)
	if err != nil && err != io.EOF {
		return fmt.Errorf("audit: %w", err)
	}
	if string(start[:n]) != first[:n] {
		return errForeign
	}
	return nil
}

// own writes a record of the log about itself.
func (l *Log) own(r Record, t *tail) error {
	e := newEncoder(l.red)
	defer e.release()
	e.record(&r)
	if t != nil {
		e.buf = strconv.AppendInt(append(e.buf, sealedStart...), t.sealed, 10)
		e.buf = hex.AppendEncode(append(e.buf, shaStart...), t.sha[:])
		e.buf = append(e.buf, `"}`...)
		if err := l.add(e, !t.ended); err != nil {
			l.known = false // the bytes before are still not sealed
			return err
		}
		return nil
	}
	e.buf = strconv.AppendUint(append(e.buf, beforeStart...), l.lost.seq, 10)
	if l.lost.prev != noPrev {
		e.buf = append(append(append(e.buf, hashStart...), l.lost.prev[:]...), '"')
	}
	e.buf = append(e.buf, '}')
	if err := l.add(e, false); err != nil {
		l.known = false
		return err
	}
	return nil
}
