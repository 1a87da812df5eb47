package stdio

import (
	"bytes"
	"fmt"
	"io"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// DefaultMaxMessage is the default of --max-message, in bytes.
const DefaultMaxMessage = 64 << 20

const (
	readSize = 64 << 10 // what one read asks for; a pipe holds no more on most systems
	maxPiece = 1 << 20  // a frame that is still growing is kept in pieces of at most this size
	maxEmpty = 100      // reads in a row that may give nothing
)

// Reader reads frames: the bytes up to each LF (MCP, stdio transport). Nothing else ends
// a frame. One goroutine at a time.
//
// While it reads a frame it holds that frame at most twice; between frames it holds
// 64 KiB.
type Reader struct {
	r    io.Reader
	max  int
	buf  []byte // read and not yet used: buf[from:to]
	from int
	to   int
	err  error // of the last read, to be given when buf is used up
}

// NewReader returns a Reader for frames of at most max bytes, without the line end;
// max <= 0 means DefaultMaxMessage.
func NewReader(r io.Reader, max int) *Reader {
	if max <= 0 {
		max = DefaultMaxMessage
	}
	return &Reader{r: r, max: max, buf: make([]byte, readSize)}
}

// TooLarge is a frame over the limit.
type TooLarge struct {
	Size   int64  // bytes skipped, without the LF
	ID     []byte // raw token of the id, at most 1 KiB; nil if the frame had none that is legal and the only one
	Method bool   // the outermost object has a member "method"
}

// Error says how large the frame was.
func (e *TooLarge) Error() string {
	return fmt.Sprintf("a message of %d bytes is over the limit", e.Size)
}

// Refused says whom a frame of a client's that was skipped is to be answered to: nobody for
// a notification, then it is nil.
func (e *TooLarge) Refused() *mcp.ParseError {
	id, _ := mcp.ParseID(e.ID)
	bad := &mcp.ParseError{Code: mcp.CodeInvalidRequest, ID: id, Reason: "the message is too large", Kind: mcp.Request}
	switch {
	case id.IsZero() && e.Method:
		return nil
	case !e.Method && !id.IsZero():
		bad.Kind = mcp.Response
	}
	return bad
}

// Next returns the next frame without its line end (LF, or CRLF), skipping lines that
// hold nothing but white space. The slice is the caller's to keep. A frame over the
// limit gives a *TooLarge after it was skipped to its end, and reading can go on. A last
// line without a line end is a frame. io.EOF is the end; any other error is that of the
// underlying reader, and what stood before it without a line end is lost.
func (r *Reader) Next() ([]byte, error) {
	for {
		frame, err := r.line()
		if err != nil || !blank(frame) {
			return frame, err
		}
	}
}

// line returns the next line, blank or not.
func (r *Reader) line() ([]byte, error) {
	var long pieces
	for {
		part, end, err := r.part()
		if err == io.EOF && long.size > 0 {
			end = true
		} else if err != nil {
			return nil, err
		}
		if !end && long.size+len(part) <= r.max+1 { // the one more may be a CR
			long.add(part)
			continue
		}
		size := long.size + len(part) - trailingCR(part, &long)
		if size > r.max || !end {
			return nil, r.skip(&long, part, end)
		}
		return long.join(part)[:size:size], nil
	}
}

// part returns what is at hand of the current line, and whether that is its end. It is
// valid until the next call.
func (r *Reader) part() (part []byte, end bool, err error) {
	if r.from == r.to {
		if err := r.fill(); err != nil {
			return nil, false, err
		}
	}
	have := r.buf[r.from:r.to]
	if i := bytes.IndexByte(have, '\n'); i >= 0 {
		r.from += i + 1
		return have[:i], true, nil
	}
	r.from = r.to
	return have, false, nil
}

// fill reads into the empty buffer. It returns an error only when there is nothing.
func (r *Reader) fill() error {
	r.from, r.to = 0, 0
	for range maxEmpty {
		if r.err != nil {
			return r.err
		}
		var n int
		n, r.err = r.r.Read(r.buf)
		if n > 0 {
			r.to = n
			return nil
		}
	}
	if r.err == nil {
		r.err = io.ErrNoProgress
	}
	return r.err
}

// skip reads to the end of a line that is too long, without keeping it.
func (r *Reader) skip(long *pieces, part []byte, end bool) error {
	var s mcp.Skim
	size := int64(long.size)
	for _, p := range long.list {
		s.Feed(p)
	}
	*long = pieces{}
	for {
		size += int64(len(part))
		s.Feed(part)
		if end {
			break
		}
		var err error
		if part, end, err = r.part(); err != nil {
			break // given by the next call
		}
	}
	e := &TooLarge{Size: size, Method: s.HasMethod()}
	if id := s.ID(); !id.IsZero() {
		e.ID = []byte(id.Raw())
	}
	return e
}

// pieces is a line that did not come in one read.
type pieces struct {
	list [][]byte
	size int
}

// add appends a copy of p.
func (l *pieces) add(p []byte) {
	l.size += len(p)
	for len(p) > 0 {
		last := len(l.list) - 1
		if last < 0 || len(l.list[last]) == cap(l.list[last]) {
			room := min(max(l.size/2, len(p), 4<<10), maxPiece)
			l.list = append(l.list, make([]byte, 0, room))
			last++
		}
		n := min(len(p), cap(l.list[last])-len(l.list[last]))
		l.list[last] = append(l.list[last], p[:n]...)
		p = p[n:]
	}
}

// join returns the pieces and p in one new slice.
func (l *pieces) join(p []byte) []byte {
	whole := make([]byte, 0, l.size+len(p))
	for _, piece := range l.list {
		whole = append(whole, piece...)
	}
	return append(whole, p...)
}

// trailingCR returns 1 if the line, long and then part, ends with a CR.
func trailingCR(part []byte, long *pieces) int {
	if len(part) == 0 && len(long.list) > 0 {
		part = long.list[len(long.list)-1]
	}
	if len(part) > 0 && part[len(part)-1] == '\r' {
		return 1
	}
	return 0
}

// blank reports whether a line holds nothing but white space.
func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}
