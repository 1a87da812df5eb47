package stdio

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// Writer writes frames, each followed by one LF. Safe for concurrent use.
type Writer struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
	err error
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// oneWrite is the frame size up to which frame and LF go out in one Write.
const oneWrite = 64 << 10

var errEmptyFrame = errors.New("an empty frame")

// Write writes one frame, never mixed with another. Frames up to 64 KiB go to the
// underlying writer in one Write; larger ones are not copied, and their LF follows in a
// second. A frame is JSON, so an LF or CR in it can only be white space between tokens;
// it is written as a space, because it would end the line for the reader. After an error
// the stream may hold half a frame: every later call returns that error.
func (w *Writer) Write(frame []byte) error {
	if len(frame) == 0 {
		return errEmptyFrame
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.err = w.write(frame)
	return w.err
}

func (w *Writer) write(frame []byte) error {
	if len(frame) < oneWrite {
		w.buf = append(append(w.buf[:0], frame...), '\n')
		unbreak(w.buf[:len(frame)])
		return w.all(w.buf)
	}
	if bytes.IndexByte(frame, '\n') >= 0 || bytes.IndexByte(frame, '\r') >= 0 {
		frame = bytes.Clone(frame)
		unbreak(frame)
	}
	if err := w.all(frame); err != nil {
		return err
	}
	return w.all([]byte{'\n'})
}

// all writes b, and takes a short write without an error for one.
func (w *Writer) all(b []byte) error {
	n, err := w.w.Write(b)
	if err == nil && n != len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// unbreak replaces line ends by spaces.
func unbreak(b []byte) {
	for _, c := range []byte{'\n', '\r'} {
		for i := bytes.IndexByte(b, c); i >= 0; {
			b[i] = ' '
			next := bytes.IndexByte(b[i+1:], c)
			if next < 0 {
				break
			}
			i += 1 + next
		}
	}
}
