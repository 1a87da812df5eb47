package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Reader reads a log line by line, from the oldest file of a rotated set on, in bounded
// memory. It judges nothing: [VerifyFile] says whether a log is as it was written.
// Its methods are for one goroutine, but for Progress.
type Reader struct {
	path    string // "" for a stream
	queue   []*source
	cur     *source // nil before the first
	last    int     // number of the newest rotated file that was there
	partial bool
	notes   []error // what Next returns as lines before it goes on

	done, size atomic.Int64 // bytes of the files, as they are on the disk
}

// Line is one line of a log, or what is wrong with it there.
type Line struct {
	Text   []byte // without its line feed; valid until the next call. nil if Err is set
	File   string // the file's name without its directory; hostile text. "" for a stream
	Number int64  // in its file, from 1; 0 if the file was not read from its beginning
	// Err says why the line cannot be read: [ErrLong], [ErrUnfinished], or what is
	// wrong with a compressed file, of which the rest is then left out. After
	// [Reader.More] it can be [ErrCut], [ErrReplaced] or [ErrRemoved].
	Err error
}

// What a [Line] can say instead of its text.
var (
	ErrLong       = errors.New("the line is longer than 16 MiB")
	ErrUnfinished = errors.New("the line has no end")
	ErrCut        = errors.New("the log was cut: it is shorter than what was read of it")
	ErrReplaced   = errors.New("the log was deleted or replaced, and goes on as another file")
	ErrRemoved    = errors.New("files into which the log was rotated were removed before they were read")
)

// source is one file of a set.
type source struct {
	part
	r       io.ReadCloser // nil before it is opened
	in      *lines
	skip    int64             // bytes at its beginning that are left out, and the line that they end in
	limit   int64             // bytes that are read; 0: all of them
	window  *io.LimitedReader // what of them is left
	line    int64
	unknown bool // the numbers of its lines are
	torn    bool // the last line that was read has no end
}

// NewReader reads one log, or one file of a rotated log, as a stream. Close does not close it.
func NewReader(r io.Reader) *Reader {
	return &Reader{queue: []*source{{r: io.NopCloser(r)}}}
}

// OpenReader opens the log at path and its older files, compressed ones too; if path is one
// of these, it is read alone. What the log holds at that moment is read: see [Reader.More].
func OpenReader(path string) (*Reader, error) { return OpenReaderAt(path, 0) }

// OpenReaderAt is [OpenReader] that leaves out the beginning, so that of the set's bytes on
// the disk about the last fromEnd are read; 0: all. Compressed files are read whole or not at all.
func OpenReaderAt(path string, fromEnd int64) (*Reader, error) {
	f, size, older, err := openSet(path)
	if err != nil {
		return nil, err
	}
	own := &source{part: part{name: path, packed: filepath.Ext(path) == packedEnd}, r: f, limit: size}
	if own.packed {
		own.limit, size = 0, sizeOf(path)
	}
	if isPart(path) {
		older = nil
	}
	r := &Reader{path: path}
	for _, p := range older {
		r.queue = append(r.queue, &source{part: p})
		r.last = p.number
	}
	r.queue = append(r.queue, own)
	if fromEnd > 0 {
		r.leaveOut(fromEnd, size)
	}
	total := size - own.skip
	for _, p := range r.queue[:len(r.queue)-1] {
		total += sizeOf(p.name) - p.skip
	}
	r.size.Store(total)
	return r, nil
}

func sizeOf(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

// leaveOut drops from the queue what stands more than fromEnd before its end.
func (r *Reader) leaveOut(fromEnd, ownSize int64) {
	for i := len(r.queue) - 1; i >= 0; i-- {
		p, size := r.queue[i], ownSize
		if i < len(r.queue)-1 {
			size = sizeOf(p.name)
		}
		if fromEnd > size {
			fromEnd -= size
			continue
		}
		if !p.packed {
			p.skip, p.unknown = size-fromEnd, size > fromEnd
		}
		r.partial = i > 0 || p.unknown
		r.queue = r.queue[i:]
		return
	}
}

// Progress returns how many bytes of the files were read and how many there are; total is 0
// for a stream. It may be called while another goroutine reads.
func (r *Reader) Progress() (done, total int64) { return r.done.Load(), r.size.Load() }

// Partial reports whether the reader leaves out the beginning of what it was opened for.
func (r *Reader) Partial() bool { return r.partial }

// Close closes the files.
func (r *Reader) Close() error {
	var err error
	if r.cur != nil {
		err = r.cur.close()
	}
	for _, p := range r.queue {
		err = errors.Join(err, p.close())
	}
	r.cur, r.queue = nil, nil
	return err
}

func (p *source) close() error {
	if p.r == nil {
		return nil
	}
	return p.r.Close()
}

// Next returns the next line. At the end, and again after it, the error is [io.EOF];
// others are those of reading the files.
func (r *Reader) Next() (Line, error) {
	for {
		if len(r.notes) > 0 {
			err := r.notes[0]
			r.notes = r.notes[1:]
			return Line{File: filepath.Base(r.path), Err: err}, nil
		}
		if r.cur == nil || r.cur.in == nil {
			if len(r.queue) == 0 {
				return Line{}, io.EOF
			}
			if err := r.begin(); err != nil {
				return Line{}, err
			}
		}
		p := r.cur
		ln, err := p.in.next()
		switch {
		case errors.Is(err, io.EOF):
			if len(r.queue) == 0 { // kept open: it may grow
				return Line{}, io.EOF
			}
			_ = p.r.Close()
			p.in, p.r = nil, nil
			continue
		case err != nil && p.packed:
			p.in = newLines(eof{})
			return Line{File: r.fileName(), Number: p.line + 1, Err: fmt.Errorf("the rest of the compressed file cannot be read: %w", err)}, nil
		case err != nil:
			return Line{}, fmt.Errorf("audit: %w", err)
		}
		if p.torn {
			p.torn = !ln.ended
			continue // the rest of what was called unfinished
		}
		p.line++
		out := Line{Text: ln.text, File: r.fileName(), Number: p.line}
		if p.unknown {
			out.Number = 0
		}
		switch {
		case ln.tooLong:
			out.Text, out.Err = nil, ErrLong
		case !ln.ended:
			out.Text, out.Err, p.torn = nil, ErrUnfinished, true
		}
		return out, nil
	}
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

func (r *Reader) fileName() string {
	if r.path == "" {
		return ""
	}
	return filepath.Base(r.cur.name)
}

// begin goes on with the next file of the queue.
func (r *Reader) begin() error {
	p := r.queue[0]
	r.queue = r.queue[1:]
	r.cur = p
	if p.r == nil {
		if err := r.open(p); err != nil {
			return err
		}
	}
	if s, ok := p.r.(*os.File); ok && p.skip > 0 {
		if _, err := s.Seek(p.skip, io.SeekStart); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
	}
	var from io.Reader = p.r
	if u, ok := p.r.(*unpacked); ok { // what counts is what is read from the disk
		from = &tallied{Reader: u, done: &r.done, at: func() int64 { n, _ := u.f.Seek(0, io.SeekCurrent); return n }}
	} else {
		if p.limit > 0 || len(r.queue) == 0 && r.path != "" {
			p.window = &io.LimitedReader{R: from, N: p.limit - p.skip}
			from = p.window
		}
		from = &tallied{Reader: from, done: &r.done}
	}
	p.in = newLines(from)
	if p.unknown {
		if _, err := p.in.next(); err != nil && !errors.Is(err, io.EOF) { // a part of a line, or one too few
			return fmt.Errorf("audit: %w", err)
		}
	}
	return nil
}

// open opens a rotated file.
func (r *Reader) open(p *source) error {
	in, err := p.part.open()
	if err != nil && p.packed && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
		p.r = io.NopCloser(failing{err}) // damaged from its first bytes on
		return nil
	}
	if err != nil {
		return fmt.Errorf("audit: %w; if the log was rotated meanwhile, read it again", err)
	}
	p.r = in
	_, p.packed = in.(*unpacked)
	return nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// tallied counts the bytes that are read.
type tallied struct {
	io.Reader
	done *atomic.Int64
	at   func() int64 // where the file is, if that is not what was read
	seen int64
}

func (c *tallied) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if c.at == nil {
		c.done.Add(int64(n))
		return n, err
	}
	now := c.at()
	c.done.Add(now - c.seen)
	c.seen = now
	return n, err
}
