package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// size returns how large the log's file is. One that lost its name or bytes is damaged.
func (l *Log) size() (int64, error) {
	size, names, err := fstat(l.f)
	switch {
	case err != nil:
		return 0, fmt.Errorf("store: log %q: %w", l.name, err)
	case names == 0:
		return 0, l.damaged("its file was removed")
	case size < l.end || size < l.low.end:
		return 0, l.damaged("it is shorter than it was")
	}
	return size, nil
}

// open opens the file if it is not open. ok is false if there is no such log and it is not
// to be made. A log is there when the table says so; until then its file is nobody's.
func (l *Log) open(ctx context.Context, create bool) (ok bool, err error) {
	if l.f != nil {
		return true, nil
	}
	file := l.c.name('l', l.name)
	err = l.s.table.use(ctx, func(t table) (changed bool, err error) {
		key := tableKey{kindLog, file}
		if _, ok = t[key]; ok || !create {
			return false, nil
		}
		ok = true
		t[key] = record{}
		return true, l.make(logFileName(file))
	})
	if err != nil || !ok {
		return false, err
	}
	f, err := openFile(l.s.dir, logFileName(file), false)
	if errors.Is(err, fs.ErrNotExist) {
		return false, l.damaged("its file is missing")
	} else if err != nil {
		return false, fmt.Errorf("store: log %q: %w", l.name, err)
	}
	if err = lock(ctx, f, false, l.s.wait); err != nil {
		err = fmt.Errorf("store: log %q: %w", l.name, err)
	} else {
		err = l.readMark(f)
		unlock(f)
	}
	if err != nil {
		_ = f.Close()
		return false, err
	}
	l.f = f
	return true, nil
}

func (l *Log) make(file string) error {
	f, err := openFile(l.s.dir, file, true)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(l.c.addMark([]byte(logMagic), mark{0, logStart}), 0)
	}
	if f != nil {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("store: make log %q: %w", l.name, err)
	}
	return nil
}

// readMark needs the lock: the mark is written in place.
func (l *Log) readMark(f *os.File) error {
	var b [logStart]byte
	if n, err := f.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("store: read log %q: %w", l.name, err)
	} else if l.low, err = l.c.readMark(b[:n]); err != nil || (l.low.count == 0) != (l.low.end == logStart) {
		return l.damaged("its beginning does not verify")
	}
	return nil
}
