//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// controlling reports whether f is this process's controlling terminal, with the process in
// its foreground.
func controlling(f *os.File) bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	for _, t := range []*os.File{f, tty} {
		// Of a terminal that is not the controlling one this fails.
		fd := int(t.Fd()) //nolint:gosec // a descriptor fits
		if front, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || front != unix.Getpgrp() {
			return false
		}
	}
	return true
}
