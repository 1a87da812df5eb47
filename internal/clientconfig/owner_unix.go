//go:build unix

package clientconfig

import (
	"os"
	"syscall"
)

// keepOwner gives w the owner and group of was, if they differ.
func keepOwner(w *os.File, was os.FileInfo) error {
	old, ok := was.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := w.Stat()
	if err != nil {
		return err
	}
	if now, ok := info.Sys().(*syscall.Stat_t); ok && now.Uid == old.Uid && now.Gid == old.Gid {
		return nil
	}
	return w.Chown(int(old.Uid), int(old.Gid))
}
