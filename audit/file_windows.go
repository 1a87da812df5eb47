package audit

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// fileID tells one file from another.
type fileID struct{ volume, high, low uint32 }

// openFile opens the log at path to append to and to read, or creates it. Who may
// write it is left to the directory's access list.
func openFile(path string) (*os.File, fileID, error) {
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fileID{}, fmt.Errorf("audit: %w: it is no regular file", errUnsafe)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fileID{}, err
	}
	id, err := idOf(f)
	if err != nil {
		_ = f.Close()
		return nil, fileID{}, err
	}
	return f, id, nil
}

func idOf(f *os.File) (fileID, error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return fileID{}, err
	}
	return fileID{info.VolumeSerialNumber, info.FileIndexHigh, info.FileIndexLow}, nil
}

// stat returns the size of f and whether path still leads to it.
func stat(f *os.File, path string, id fileID) (size int64, where presence, err error) {
	st, err := f.Stat()
	if err != nil {
		return 0, present, err
	}
	other, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return st.Size(), deleted, nil
	}
	if err != nil {
		return 0, present, err
	}
	defer other.Close()
	otherID, err := idOf(other)
	if err != nil {
		return 0, present, err
	}
	if otherID != id {
		return st.Size(), replaced, nil
	}
	return st.Size(), present, nil
}

// farAway is where the locked byte stands: locks are binding here, and a reader must
// not be kept from the text.
const farAway = 0x7fffffff

// lock takes the lock on f. It waits for another process no longer than lockWait.
func lock(f *os.File) error { return lockAs(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

func lockShared(f *os.File) error { return lockAs(f, 0) }

func lockAs(f *os.File, how uint32) error {
	until := time.Now().Add(lockWait)
	for {
		at := windows.Overlapped{OffsetHigh: farAway}
		err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, windows.ERROR_LOCK_VIOLATION) && !errors.Is(err, windows.ERROR_IO_PENDING):
			return fmt.Errorf("audit: lock the log: %w", err)
		case time.Now().After(until):
			return fmt.Errorf("audit: another process has held the log's lock for %v", lockWait)
		}
		time.Sleep(time.Millisecond)
	}
}

func unlock(f *os.File) {
	at := windows.Overlapped{OffsetHigh: farAway}
	_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}

// canRotate: the name of an open file cannot go over to another.
const canRotate = false

func syncDir(string) error { return nil }
