//go:build unix

package instance

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

func ask(pid int, _ string) error { return syscall.Kill(pid, syscall.SIGHUP) }

// listen passes SIGHUP on. A terminal that hangs up sends it too: then the configuration is
// read once more, which changes nothing.
func (i *Instance) listen() (stop func()) {
	signals, end := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-end:
				return
			case <-signals:
				i.asked()
			}
		}
	}()
	return sync.OnceFunc(func() { close(end) })
}
