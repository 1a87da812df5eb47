//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// catchBrokenPipe makes a write to a client that has gone an error: by default the Go
// runtime ends the process, and the answers to the other open calls with it. The signal
// is caught, not ignored: children would inherit that it is ignored.
func catchBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
