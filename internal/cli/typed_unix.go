//go:build unix && !linux

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

const forReading = 1 // FREAD

// discardTyped drops what was typed at a terminal and not read yet.
var discardTyped = func(f *os.File) error {
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, forReading) //nolint:gosec // a descriptor fits
}
