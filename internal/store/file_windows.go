package store

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// closedToOthers leaves who may read and write to the access list that a file inherits
// from the state directory; in a user's own profile that is the user.
func closedToOthers(fs.FileInfo, fs.FileMode) error { return nil }

// fstat returns the size of f and how many names it has; none when it was removed.
func fstat(f *os.File) (size int64, names uint64, err error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return 0, 0, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return int64(info.FileSizeHigh)<<32 | int64(info.FileSizeLow), uint64(info.NumberOfLinks), nil
}

// farAway is where the locked byte stands: locks are binding here, and a reader must
// not be kept from the entries.
const farAway = 0x7fffffff

func tryLock(f *os.File, exclusive bool) (bool, error) {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	at := windows.Overlapped{OffsetHigh: farAway}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &at)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	}
	return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
}

func unlock(f *os.File) {
	at := windows.Overlapped{OffsetHigh: farAway}
	_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}
