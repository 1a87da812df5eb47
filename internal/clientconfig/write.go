package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrChanged says that a file is not what was read before: its client, or somebody else,
// wrote it meanwhile.
var ErrChanged = errors.New("it was changed by another program meanwhile; nothing is written: run the command again")

// rename is os.Rename; tests let it fail.
var rename = os.Rename

// BackupPath is where the file stands as it was before the first change.
func (f *File) BackupPath() string { return f.Target + ".before-sallyport" }

// Write puts the new bytes in the place of the old: first a backup, if there is none, then
// a file beside it that takes its place in one step. Whatever fails leaves the old bytes.
// Mode and owner are kept. A backup that holds what the file becomes is removed.
func (c *Change) Write() error {
	f := c.File
	if c.Empty() {
		return nil
	}
	if f.info.Mode().Perm()&0o200 == 0 {
		return errors.New("it is read-only, and somebody made it so; nothing is changed")
	}
	if err := f.unchanged(); err != nil {
		return err
	}
	if !c.undo {
		if err := f.writeBackup(); err != nil {
			return fmt.Errorf("no backup could be written: %w; nothing is changed", err)
		}
	}
	temp, err := f.writeBeside(c.data)
	if err != nil {
		return err
	}
	defer os.Remove(temp) // gone once it has taken the place
	if err := f.unchanged(); err != nil {
		return err
	}
	if err := rename(temp, f.Target); err != nil {
		return fmt.Errorf("the new file could not take its place: %w; nothing is changed", cause(err))
	}
	syncDir(filepath.Dir(f.Target))
	if now, err := readBounded(f.Target); err != nil || !bytes.Equal(now, c.data) {
		return errors.New("it was written, and holds something else now: its client may have written it anew; quit the client and run the command again")
	}
	if c.Restored() {
		if err := os.Remove(f.BackupPath()); err != nil {
			return fmt.Errorf("it is restored; its backup could not be removed: %w", cause(err))
		}
	}
	return nil
}

func (f *File) unchanged() error {
	now, err := readBounded(f.Target)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, f.raw) {
		return ErrChanged
	}
	return nil
}

// writeBackup keeps the bytes as they were read, unless there is a backup from before.
func (f *File) writeBackup() error {
	path := f.BackupPath()
	if info, err := os.Lstat(path); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no plain file", filepath.Base(path))
		}
		return nil
	}
	temp, err := writeTemp(f.Target, f.raw, 0o600, nil)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	// A link, unlike a rename, never takes the place of a file that is there.
	if err := os.Link(temp, path); err == nil || errors.Is(err, os.ErrExist) {
		return cause(err)
	}
	return f.createBackup(path) // a file system without links
}

func (f *File) createBackup(path string) error {
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return cause(err)
	}
	_, err = w.Write(f.raw)
	if err = errors.Join(err, w.Sync(), w.Close()); err != nil {
		_ = os.Remove(path)
		return cause(err)
	}
	return nil
}

func (f *File) writeBeside(data []byte) (string, error) {
	temp, err := writeTemp(f.Target, data, f.info.Mode().Perm(), f.info)
	if err != nil {
		return "", fmt.Errorf("the new file could not be written beside it: %w; nothing is changed", err)
	}
	return temp, nil
}

// writeTemp writes a file beside target that is on the disk when it returns. like is whose
// owner it gets, nil for our own.
func writeTemp(target string, data []byte, mode os.FileMode, like os.FileInfo) (name string, err error) {
	w, err := os.CreateTemp(filepath.Dir(target), ".sallyport-*.tmp") // with mode 0600
	if err != nil {
		return "", cause(err)
	}
	defer func() {
		if err != nil {
			_ = w.Close()
			_ = os.Remove(w.Name())
		}
	}()
	if _, err = w.Write(data); err != nil {
		return "", cause(err)
	}
	if like != nil {
		if err = keepOwner(w, like); err != nil {
			return "", fmt.Errorf("its owner could not be kept: %w", cause(err))
		}
	}
	if err = w.Chmod(mode); err != nil {
		return "", cause(err)
	}
	if err = w.Sync(); err != nil {
		return "", cause(err)
	}
	if err = w.Close(); err != nil {
		return "", cause(err)
	}
	return w.Name(), nil
}

// syncDir makes a rename durable, where a directory can be synced.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
