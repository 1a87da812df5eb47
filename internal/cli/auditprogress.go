package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
)

// barEvery is how often the bar is drawn; what takes less shows none.
const barEvery = 200 * time.Millisecond

// showProgress draws how much of a log was read, if stderr is a terminal. What it returns ends and
// removes the bar.
func showProgress(stderr io.Writer, r *audit.Reader) (stop func()) {
	if !onTerminal(stderr) || os.Getenv("TERM") == "dumb" {
		return func() {}
	}
	t := time.NewTicker(barEvery)
	stop = drawProgress(stderr, r, t.C)
	return func() { stop(); t.Stop() }
}

// drawProgress draws the bar each time that tick says so.
func drawProgress(w io.Writer, r *audit.Reader, tick <-chan time.Time) (stop func()) {
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		drawn := false
		for {
			select {
			case <-end:
				if drawn {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-tick:
				fmt.Fprint(w, "\r"+bar(r.Progress()))
				drawn = true
			}
		}
	}()
	return func() { close(end); <-done }
}

// bar is one line of at most 60 columns, without its end.
func bar(done, total int64) string {
	const width = 30
	mb := func(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
	if total <= 0 {
		return mb(done) + " read "
	}
	done = min(done, total)
	full := int(width * done / total)
	return fmt.Sprintf("[%s%s] %3d%% of %s ", strings.Repeat("#", full), strings.Repeat(".", width-full), 100*done/total, mb(total))
}
