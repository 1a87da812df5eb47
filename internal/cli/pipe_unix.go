//go:build unix

package cli

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// catchBrokenPipe makes a write to a client that has gone an error: by default the Go
// runtime ends the process, and the answers to the other open calls with it. The signal
// is caught, not ignored: children would inherit that it is ignored.
func catchBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// closedByPeer returns a function that reports whether nobody holds the other end of an
// input any more, whether or not it was read to its end; nil if the input cannot tell.
func closedByPeer(in io.Reader) func() bool {
	f, ok := in.(*os.File)
	if !ok {
		return nil
	}
	fd := int32(f.Fd()) //nolint:gosec // a descriptor fits
	return func() bool {
		p := []unix.PollFd{{Fd: fd}}
		_, err := unix.Poll(p, 0)
		return err == nil && p[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
	}
}
