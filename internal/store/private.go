package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// OpenPrivateDir opens the directory name within dir. dir must be this user's and closed to
// the writing of others, and name must be this user's alone and no link; else the error is
// [ErrUnsafe]. With create both are made (0700) if they are not there.
func OpenPrivateDir(dir, name string, create bool) (*os.Root, error) {
	if create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return openWithin(dir, name, create)
}

// OpenPrivateFile opens a file of such a directory for reading and writing. It must be a
// regular file of this user, closed to others and with no second name, else the error is
// [ErrUnsafe]; links are not followed. With create it is made (0600) if it is not there.
func OpenPrivateFile(dir *os.Root, name string, create bool) (*os.File, error) {
	return openFile(dir, name, create)
}

// LockPrivateDir takes the directory's lock, a file of the name lock, which is made if it is
// not there. Closing the file gives the lock back, and so does the end of the process. It
// waits for other holders until ctx ends, and at most for wait.
func LockPrivateDir(ctx context.Context, dir *os.Root, wait time.Duration) (*os.File, error) {
	return lockSessions(ctx, dir, wait)
}

// ReplacePrivateFile writes a file of such a directory as a whole: whoever is killed
// meanwhile, or whoever reads meanwhile, has the old one or the new one. The directory's
// lock must be held.
func ReplacePrivateFile(dir *os.Root, name string, data []byte) error {
	temp := newPrefix + name
	if err := dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // what a killed process left
	}
	f, err := openFile(dir, temp, true)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	return nil
}
