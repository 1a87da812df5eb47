package audit

import (
	"errors"
	"io"
	"os"
)

// Stream returns a log that is written to w, one line at a time, and starts with record 1:
// whoever reads w keeps it. A record that was not written whole cannot be taken back
// there, so after it every Append fails. Append waits as long as w does. Close does not
// close w, and Path is "-". Of opt, Sync and Rotate do not count: w has its own.
func Stream(w io.Writer, opt Options) *Log {
	var broken error
	l := &Log{
		path: "-", stream: true, known: true, prev: noPrev, noChain: opt.NoChain, red: newRedactor(opt.Redaction), sums: newSummer(),
		write: func(_ *os.File, line []byte) (int, error) {
			if broken != nil {
				return 0, broken
			}
			n, err := w.Write(line)
			if err == nil && n < len(line) {
				err = io.ErrShortWrite
			}
			if err != nil && n > 0 {
				broken = err
			}
			return n, err
		},
		truncate: func(*os.File, int64) error { return errors.New("what was written cannot be taken back") },
	}
	l.commits.start(SyncNone, nil)
	return l
}
