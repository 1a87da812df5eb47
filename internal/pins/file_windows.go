package pins

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// closedToOthers leaves who may write to the access list that a file inherits from the
// state directory; in a user's own profile that is the user.
func closedToOthers(fs.FileInfo) error { return nil }

func tryLock(f *os.File) (bool, error) {
	var at windows.Overlapped
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	}
	return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
}

// syncDir does nothing: a rename is in the file system's own log.
func syncDir(string) error { return nil }
