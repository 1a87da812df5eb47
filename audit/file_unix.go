//go:build unix

package audit

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fileID tells one file from another.
type fileID struct{ dev, ino uint64 }

func idOf(st *unix.Stat_t) fileID {
	return fileID{uint64(st.Dev), uint64(st.Ino)} //nolint:unconvert // the types differ between systems
}

// openFile opens the log at path to append to and to read, or creates it. The file
// is a regular one of this user that nobody else may write, and path is no link.
func openFile(path string) (*os.File, fileID, error) {
	const flags = os.O_RDWR | os.O_APPEND | unix.O_NOFOLLOW | unix.O_CLOEXEC
	for range 10 {
		f, err := os.OpenFile(path, flags|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			// A umask can only have taken bits away; the owner's must be there.
			err = f.Chmod(0o600)
		} else if errors.Is(err, os.ErrExist) {
			if err = refuse(path); err == nil {
				f, err = os.OpenFile(path, flags, 0)
			}
		}
		if errors.Is(err, os.ErrNotExist) {
			if _, statErr := os.Stat(dirOf(path)); statErr == nil {
				continue // removed in between
			}
		}
		if errors.Is(err, unix.ELOOP) {
			err = fmt.Errorf("audit: %w: the log is a symbolic link", errUnsafe)
		}
		if err != nil {
			if f != nil {
				_ = f.Close()
			}
			return nil, fileID{}, err
		}
		id, err := check(f)
		if err != nil {
			_ = f.Close()
			return nil, fileID{}, err
		}
		return f, id, nil
	}
	return nil, fileID{}, errors.New("audit: the log is removed again and again while it is opened")
}

// refuse says why path cannot be a log before it is opened: opening some kinds of
// file has effects.
func refuse(path string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	return unsafe(&st)
}

func check(f *os.File) (fileID, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fileID{}, err
	}
	return idOf(&st), unsafe(&st)
}

func unsafe(st *unix.Stat_t) error {
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return fmt.Errorf("audit: %w: it is a symbolic link", errUnsafe)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("audit: %w: it is no regular file", errUnsafe)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("audit: %w: it belongs to user %d, not to this one (%d)", errUnsafe, st.Uid, os.Geteuid())
	case st.Mode&0o022 != 0:
		return fmt.Errorf("audit: %w: others may write it (mode %04o); chmod go-w makes it usable", errUnsafe, st.Mode&0o7777)
	}
	return nil
}

// stat returns the size of f and whether path still leads to it.
func stat(f *os.File, path string, id fileID) (size int64, where presence, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0, present, err
	}
	size = st.Size
	if err := unsafe(&st); err != nil { // since it was opened
		return 0, present, err
	}
	if err := unix.Lstat(path, &st); err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			return size, deleted, nil
		}
		return 0, present, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	if idOf(&st) != id {
		return size, replaced, nil
	}
	return size, present, nil
}

// lock takes the advisory lock on f. It waits for another process no longer than
// lockWait.
func lock(f *os.File) error { return lockAs(f, unix.LOCK_EX) }

func lockShared(f *os.File) error { return lockAs(f, unix.LOCK_SH) }

func lockAs(f *os.File, how int) error {
	var until time.Time
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, time.Millisecond) {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("audit: lock the log: %w", err)
		case until.IsZero():
			until = time.Now().Add(lockWait)
		case time.Now().After(until):
			return fmt.Errorf("audit: another process has held the log's lock for %v", lockWait)
		}
		time.Sleep(pause)
	}
}

func unlock(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// canRotate: the name of an open file can go over to another.
const canRotate = true

// syncDir makes sure that the names in a directory outlive the power.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
