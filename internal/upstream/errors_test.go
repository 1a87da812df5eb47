package upstream

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// What a caller reads of a server that cannot be reached does not say where that is.
func TestUnreachableNamesNoAddress(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 4567}
	for _, c := range []struct {
		err  error
		want string
	}{
		{os.NewSyscallError("connect", syscall.ECONNREFUSED), syscall.ECONNREFUSED.Error()},
		{&net.DNSError{Err: "no such host", Name: "10.1.2.3.internal.example", Server: "10.1.2.3:53", IsNotFound: true}, "resolved"},
		{os.ErrDeadlineExceeded, "timed out"},
		{errors.New("10.1.2.3:4567 says no"), "the connection failed"},
	} {
		got := unreachable(&net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: c.err}).Error()
		if !strings.Contains(got, c.want) || strings.Contains(got, "10.1.2.3") {
			t.Errorf("%v: %s", c.err, got)
		}
	}
}
