//go:build unix

package stdio

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// ClosedByPeer returns a function that reports whether nobody holds the other end of an
// input any more, whether or not it was read to its end; nil if the input cannot tell.
func ClosedByPeer(in io.Reader) func() bool {
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
