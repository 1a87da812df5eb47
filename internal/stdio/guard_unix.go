//go:build unix

package stdio

import (
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

const (
	guardFD       = 3                      // the pipe that breaks when the gateway is gone
	signFD        = 4                      // the pipe that tells the gateway that the guard is there
	guardPatience = 500 * time.Millisecond // for the end of input, which came with that, to work
	maxGuardGrace = 5 * time.Second
)

// RunGuard is what the hidden command "sallyport __guard" runs: the leader of a child's
// process group. It waits until the pipe at descriptor 3 breaks, which happens when the
// gateway is gone however it went, then sends SIGTERM and after a grace, args[0]
// milliseconds, SIGKILL to its own group. It returns, an exit code, only when it was not
// started as a guard.
//
// It must be called early in the program, by a command line that has nothing but these
// arguments: the gateway waits for its sign, a byte to descriptor 4.
func RunGuard(args []string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP,
		syscall.SIGALRM, syscall.SIGUSR1, syscall.SIGUSR2)
	if len(args) != 1 || syscall.Getpgrp() != os.Getpid() || !isPipe(guardFD) || !isPipe(signFD) {
		return 2
	}
	ms, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return 2
	}
	if _, err := syscall.Write(signFD, []byte{1}); err != nil && err != syscall.EPIPE {
		return 2
	}
	grace := min(max(time.Duration(ms)*time.Millisecond, 0), maxGuardGrace)
	_, _ = io.Copy(io.Discard, os.NewFile(guardFD, "gateway"))
	time.Sleep(guardPatience)
	_ = syscall.Kill(0, syscall.SIGTERM)
	time.Sleep(grace)
	_ = syscall.Kill(0, syscall.SIGKILL)
	return 1 // not reached: it kills itself too
}

func isPipe(fd int) bool {
	var st syscall.Stat_t
	return syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFIFO
}
