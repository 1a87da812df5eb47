package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped drops what was typed at a terminal and not read yet.
var discardTyped = func(f *os.File) error {
	return unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) //nolint:gosec // a descriptor fits
}
