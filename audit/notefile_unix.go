//go:build unix

package audit

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// modesCount: a file's mode says who may use it.
const modesCount = true

// appendNote appends a checkpoint to a file, which is made (0600) if it is not there, or writes it
// to a pipe with a name, at once or not at all. It does not wait for a reader. A part that was
// written to a file is taken back. durable forces it to the disk.
func appendNote(path string, text []byte, durable bool) error {
	flags := unix.O_RDWR
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	switch kind := st.Mode & unix.S_IFMT; {
	case errors.Is(err, unix.ENOENT):
	case err != nil:
		return &os.PathError{Op: "lstat", Path: path, Err: err}
	case kind == unix.S_IFIFO:
		flags = unix.O_WRONLY
	case kind != unix.S_IFREG: // opening some kinds of file has effects
		return fmt.Errorf("%s is neither a regular file nor a pipe", path)
	}
	fd, err := unix.Open(path, flags|unix.O_APPEND|unix.O_CREAT|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("nobody reads from the pipe %s", path)
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "fstat", Path: path, Err: err}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		return writeOnce(fd, path, text)
	case unix.S_IFREG:
	default:
		return fmt.Errorf("%s is neither a regular file nor a pipe", path)
	}
	start, err := noteStart(st.Size, func(last []byte) (int, error) { return unix.Pread(fd, last, st.Size-1) })
	if err != nil {
		return &os.PathError{Op: "read", Path: path, Err: err}
	}
	if err := writeOnce(fd, path, append(start, text...)); err != nil {
		if now := (unix.Stat_t{}); unix.Fstat(fd, &now) == nil && now.Size > st.Size {
			_ = unix.Ftruncate(fd, st.Size)
		}
		return err
	}
	if durable {
		if err := unix.Fsync(fd); err != nil {
			return &os.PathError{Op: "fsync", Path: path, Err: err}
		}
	}
	return nil
}

func writeOnce(fd int, path string, text []byte) error {
	for {
		n, err := unix.Write(fd, text)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return fmt.Errorf("the pipe %s is full: nobody reads from it", path)
		case err != nil:
			return &os.PathError{Op: "write", Path: path, Err: err}
		case n < len(text):
			return &os.PathError{Op: "write", Path: path, Err: errors.New("it was written in part")}
		}
		return nil
	}
}
