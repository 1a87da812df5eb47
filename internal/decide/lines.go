package decide

import (
	"bytes"
	"io"
)

const (
	readSize  = 64 << 10 // bytes that the buffer holds between lines
	keepHead  = 64 << 10 // bytes that are kept of a line that is too long
	keepSpace = 1 << 20  // a buffer larger than this is given back after its line
	maxEmpty  = 100      // reads in a row that may give nothing
)

// lines reads a stream line by line. Nothing but a line feed ends a line. It holds at
// most about twice the longest line.
type lines struct {
	r   io.Reader
	max int // bytes of a line, without its end
	// idle is called before each read: the reader may have to wait for the next line.
	idle func() error

	buf      []byte
	from, to int   // read and not used yet: buf[from:to]
	err      error // of the last read, to be given when buf is used up
	number   int64 // of the line that was returned last, from 1
}

func newLines(r io.Reader, max int, idle func() error) *lines {
	return &lines{r: r, max: max, idle: idle, buf: make([]byte, readSize)}
}

// next returns the next line without its end; it is valid until the next call. Of a line
// over the limit it returns the head and long, and has skipped the rest. A last line
// without an end is a line. io.EOF is the end.
func (l *lines) next() (line []byte, long bool, err error) {
	if l.from == l.to && len(l.buf) > keepSpace {
		l.buf = make([]byte, readSize)
		l.from, l.to = 0, 0
	}
	for searched := l.from; ; {
		if i := bytes.IndexByte(l.buf[searched:l.to], '\n'); i >= 0 {
			line, l.from = l.buf[l.from:searched+i], searched+i+1
			l.number++
			if len(line) > l.max {
				return line[:min(keepHead, l.max)], true, nil
			}
			return line, false, nil
		}
		if l.to-l.from > l.max {
			return l.skip()
		}
		had := l.to - l.from
		switch err := l.fill(); {
		case err == io.EOF && had > 0:
			line, l.from = l.buf[l.from:l.to], l.to
			l.number++
			return line, false, nil
		case err != nil:
			return nil, false, err
		}
		searched = l.from + had
	}
}

// skip drops a line that is too long up to its end.
func (l *lines) skip() ([]byte, bool, error) {
	head := bytes.Clone(l.buf[l.from:min(l.to, l.from+min(keepHead, l.max))])
	l.number++
	for {
		l.from, l.to = 0, 0
		switch err := l.fill(); {
		case err == io.EOF:
			return head, true, nil // the next call gives it again
		case err != nil:
			return nil, false, err
		}
		if i := bytes.IndexByte(l.buf[:l.to], '\n'); i >= 0 {
			l.from = i + 1
			return head, true, nil
		}
	}
}

// fill reads behind what is there, of which it makes room. It returns an error only when
// it has read nothing.
func (l *lines) fill() error {
	if l.from > 0 {
		l.to = copy(l.buf, l.buf[l.from:l.to])
		l.from = 0
	}
	if l.to == len(l.buf) {
		grown := make([]byte, min(2*len(l.buf), l.max+readSize))
		copy(grown, l.buf)
		l.buf = grown
	}
	if l.err != nil {
		return l.err
	}
	if err := l.idle(); err != nil {
		return err
	}
	for range maxEmpty {
		var n int
		n, l.err = l.r.Read(l.buf[l.to:])
		l.to += n
		if n > 0 {
			return nil
		}
		if l.err != nil {
			return l.err
		}
	}
	l.err = io.ErrNoProgress
	return l.err
}
