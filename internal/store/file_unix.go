//go:build unix

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// closedToOthers reports why a file or directory is not this user's alone. mask says
// which permissions nobody else may have.
func closedToOthers(st fs.FileInfo, mask fs.FileMode) error {
	if sys, ok := st.Sys().(*syscall.Stat_t); !ok || int(sys.Uid) != os.Geteuid() {
		return fmt.Errorf("%w: it belongs to another user", ErrUnsafe)
	} else if st.Mode().IsRegular() && sys.Nlink > 1 {
		return fmt.Errorf("%w: it has a second name", ErrUnsafe)
	}
	if st.Mode().Perm()&mask != 0 {
		return fmt.Errorf("%w: its mode is %04o; chmod go= makes it usable", ErrUnsafe, st.Mode().Perm())
	}
	return nil
}

// fstat returns the size of f and how many names it has; none when it was removed.
func fstat(f *os.File) (size int64, names uint64, err error) {
	var st unix.Stat_t
	for {
		err = unix.Fstat(int(f.Fd()), &st)
		if !errors.Is(err, unix.EINTR) {
			return st.Size, uint64(st.Nlink), err //nolint:unconvert // the types differ between systems
		}
	}
}

func tryLock(f *os.File, exclusive bool) (bool, error) {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default:
			return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}

func unlock(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }
