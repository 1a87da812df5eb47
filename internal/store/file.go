package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Errors that a caller can tell apart. Each is wrapped with what happened.
var (
	// ErrDamaged: a file of the session is missing, cut, changed or replaced. It stays:
	// the same log gives it again until the session has ended.
	ErrDamaged = errors.New("the shared session is damaged")

	// ErrFull: a bound is reached. What is recorded can still be read.
	ErrFull = errors.New("the shared session is full")

	// ErrUnsafe: others could read or write a file or directory, or it is no plain file.
	ErrUnsafe = errors.New("not safe to use")

	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
)

// openFile opens a file of a directory that is 0700. It must be a regular file of this
// user, closed to others and with no second name. With make it is made if it is not there.
func openFile(root *os.Root, name string, create bool) (*os.File, error) {
	for range 10 {
		before, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) && create {
			f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			return f, err
		}
		if err != nil {
			return nil, err
		}
		// Before it is opened: opening a pipe waits.
		if err := checkFile(before); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f, err := root.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		after, err := f.Stat()
		if err == nil && !os.SameFile(before, after) {
			f.Close()
			continue
		}
		if err == nil {
			err = checkFile(after)
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return f, nil
	}
	return nil, fmt.Errorf("%s: %w: it is replaced again and again", name, ErrUnsafe)
}

func checkFile(st fs.FileInfo) error {
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%w: it is no regular file", ErrUnsafe)
	}
	return closedToOthers(st, 0o077)
}

func checkDir(st fs.FileInfo, mask fs.FileMode) error {
	if !st.IsDir() {
		return fmt.Errorf("%w: it is no directory", ErrUnsafe)
	}
	return closedToOthers(st, mask)
}

// lock takes the advisory lock on f. It gives up when ctx ends or after wait.
func lock(ctx context.Context, f *os.File, exclusive bool, wait time.Duration) error {
	var until time.Time
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, time.Millisecond) {
		ok, err := tryLock(f, exclusive)
		if ok || err != nil {
			return err
		}
		now := time.Now()
		if until.IsZero() {
			until = now.Add(wait)
		} else if now.After(until) {
			return fmt.Errorf("another process has held the lock on %s for %v", f.Name(), wait)
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
}
