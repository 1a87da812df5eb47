package audit

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Options of a log.
type Options struct {
	Redaction Redaction
	NoChain   bool // hash_chain: false
}

var (
	errNumbers = errors.New("audit: the log's last record has the last number there is")
	errUnsafe  = errors.New("the log cannot be used")
	// ErrGone is returned by the first Append after the log was deleted, replaced, cut or
	// overwritten under the program. The next one tries to go on, with a restart record.
	ErrGone = errors.New("audit: the log was deleted, replaced or cut")
)

// lockWait bounds how long an append waits for another process. A variable for tests.
var lockWait = 10 * time.Second

// Log appends to one file. Safe for concurrent use, also by several processes
// (an advisory lock per append).
type Log struct {
	path    string
	noChain bool
	stream  bool // of Stream: there is no file
	red     *redactor

	mu       sync.Mutex // held for a whole append: the file's lock is per open file
	closed   bool
	f        *os.File // nil after the file was lost
	id       fileID
	sums     *summer
	tails    tailReader
	write    func(f *os.File, line []byte) (int, error) // replaced in tests
	truncate func(f *os.File, size int64) error

	// What the file holds, as far as known is true.
	known bool
	size  int64
	seq   uint64
	prev  sum

	// A failed write that could not be taken back: bytes from undo to undoEnd.
	undo, undoEnd int64

	lost *lost // set until a restart record has been written
}

// lost is what was known of a log that is gone.
type lost struct {
	how  presence
	seq  uint64
	prev sum
}

// presence says how the path of a log and its open file belong together.
type presence string

const (
	present     presence = ""
	deleted     presence = "deleted"
	replaced    presence = "replaced by another file"
	wasCut      presence = "cut"
	overwritten presence = "overwritten at its end"
)

func dirOf(path string) string { return filepath.Dir(path) }

// Open creates the file (0600 from the first byte, its directory 0700) or opens it
// after checking that it is a regular file of this user, no symbolic link, and that
// nobody else may write it. A torn last line, left by a crash, is followed by a
// repair record.
func Open(path string, opt Options) (*Log, error) {
	l := &Log{
		path: path, noChain: opt.NoChain, red: newRedactor(opt.Redaction),
		sums: newSummer(), write: (*os.File).Write, truncate: (*os.File).Truncate,
	}
	l.tails.sums = l.sums
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.locked(func() error { return nil }); err != nil {
		l.forget()
		return nil, err
	}
	return l, nil
}

// Append writes one record whole and returns its sequence number (from 1 in each file).
// When it returns an error nothing of the record counts as written, and the next Append
// tries again. (One case is left: where the system neither writes the last byte of a
// record nor lets the rest be taken back, the record counts.) It does not wait until the
// record is on the disk.
func (l *Log) Append(r Record) (seq uint64, err error) {
	if err := r.check(); err != nil {
		return 0, err
	}
	e := newEncoder(l.red)
	defer e.release()
	e.record(&r)

	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, fmt.Errorf("audit: %w", os.ErrClosed)
	}
	err = l.locked(func() error { return l.add(e, false) })
	if err != nil {
		return 0, err
	}
	return l.seq, nil
}

// Digest is the keyed digest of b under this log's key, as text: "hmac-sha256:…".
func (l *Log) Digest(b []byte) string {
	return string(l.red.digest(make([]byte, 0, len(digestScheme)+digits), b))
}

// Path returns where the log is.
func (l *Log) Path() string { return l.path }

// Close closes the file. Append returns an error from then on.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}

func (l *Log) forget() {
	if l.f != nil {
		_ = l.f.Close()
	}
	l.f, l.known, l.undoEnd = nil, false, 0
}

// locked runs do while the file is open, locked and known.
func (l *Log) locked(do func() error) error {
	if l.stream {
		return do()
	}
	if l.f == nil {
		if err := l.open(); err != nil {
			return err
		}
	}
	if err := lock(l.f); err != nil {
		return err
	}
	f := l.f
	defer unlock(f)
	if err := l.sync(); err != nil {
		return err
	}
	return do()
}

func (l *Log) open() error {
	if err := os.MkdirAll(dirOf(l.path), 0o700); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	f, id, err := openFile(l.path)
	if err != nil {
		return err
	}
	l.f, l.id, l.known = f, id, false
	return nil
}

// sync brings what is known of the file up to date: another process may have written
// to it, a crash may have torn its last line, somebody may have taken it away.
func (l *Log) sync() error {
	size, where, err := stat(l.f, l.path, l.id)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if where != present {
		l.remember(where)
		l.forget()
		return fmt.Errorf("%w: %s is %s", ErrGone, l.path, where)
	}
	if l.undoEnd != 0 {
		if size, err = l.takeBack(size); err != nil { // where that cannot be, it is sealed
			l.undoEnd, l.known = 0, false
		}
	}
	if l.known && size < l.size {
		l.remember(wasCut)
		l.known = false
		return fmt.Errorf("%w: %s is shorter than before", ErrGone, l.path)
	}
	if l.known && size == l.size {
		return nil
	}
	return l.load(size)
}

// remember keeps what was known of a log that is gone, for the restart record.
func (l *Log) remember(how presence) {
	if l.lost == nil && l.known && l.seq > 0 {
		l.lost = &lost{how: how, seq: l.seq, prev: l.prev}
	}
}

// load reads the end of the file and writes what the log has to say of it.
func (l *Log) load(size int64) error {
	t, err := l.tails.read(l.f, size)
	if err != nil {
		return fmt.Errorf("audit: read the log's end: %w", err)
	}
	if t.seq == 0 && size > 0 && !l.known && l.lost == nil {
		if err := begun(l.f); err != nil {
			return err
		}
	}
	if l.known && (t.seq < l.seq || t.seq == l.seq && t.hash != l.prev) {
		l.remember(overwritten)
		l.known = false
		return fmt.Errorf("%w: %s no longer ends with what was written", ErrGone, l.path)
	}
	l.known, l.size, l.seq, l.prev = true, size, t.seq, t.hash
	if t.torn() {
		if err := l.own(Record{Event: eventRepair, Detail: t.story()}, &t); err != nil {
			return err
		}
	}
	if l.lost != nil {
		detail := "the log was found " + string(l.lost.how) + " while a gateway was writing to it"
		if err := l.own(Record{Event: eventRestart, Detail: detail}, nil); err != nil {
			return err
		}
		l.lost = nil
	}
	return nil
}

// begun refuses a file that holds no record and does not begin as one that a crash tore:
// somebody named the wrong file, and appending would damage it.
func begun(f io.ReaderAt) error {
	const first = `{"seq":`
	start := make([]byte, len(first))
	n, err := f.ReadAt(start, 0)
	if err != nil && err != io.EOF {
		return fmt.Errorf("audit: %w", err)
	}
	if string(start[:n]) != first[:n] {
		return errors.New("audit: this is not an audit log, no line of it is a record: name another file")
	}
	return nil
}

// own writes a record of the log about itself.
func (l *Log) own(r Record, t *tail) error {
	e := newEncoder(l.red)
	defer e.release()
	e.record(&r)
	if t != nil {
		e.buf = strconv.AppendInt(append(e.buf, sealedStart...), t.sealed, 10)
		e.buf = hex.AppendEncode(append(e.buf, shaStart...), t.sha[:])
		e.buf = append(e.buf, `"}`...)
		if err := l.add(e, !t.ended); err != nil {
			l.known = false // the bytes before are still not sealed
			return err
		}
		return nil
	}
	e.buf = strconv.AppendUint(append(e.buf, beforeStart...), l.lost.seq, 10)
	if l.lost.prev != noPrev {
		e.buf = append(append(append(e.buf, hashStart...), l.lost.prev[:]...), '"')
	}
	e.buf = append(e.buf, '}')
	if err := l.add(e, false); err != nil {
		l.known = false
		return err
	}
	return nil
}

// add completes a record with its links and writes it. What is known of the file moves
// on only when the whole line was written.
func (l *Log) add(e *encoder, newLine bool) error {
	if l.seq >= maxSeq {
		return errNumbers
	}
	own := noPrev
	if l.noChain {
		e.buf = append(e.buf, "}\n"...)
	} else {
		e.buf = append(append(append(e.buf, prevStart...), l.prev[:]...), '"')
	}
	line := e.numbered(l.seq + 1)
	if !l.noChain {
		own = l.sums.of(&l.prev, line, brace)
		e.buf = append(append(append(e.buf, hashStart...), own[:]...), "\"}\n"...)
		line = e.buf[len(e.buf)-len(line)-hashMember-1:]
	}
	if newLine {
		line = e.precededByLineFeed(line)
	}
	n, err := l.write(l.f, line)
	if err != nil || n < len(line) {
		return l.writeFailed(n, err)
	}
	l.size += int64(n)
	l.seq++
	l.prev = own
	return nil
}

// writeFailed takes back what was written of a line.
func (l *Log) writeFailed(n int, err error) error {
	if err == nil {
		err = errors.New("the line was written in part")
	}
	err = fmt.Errorf("audit: the record could not be written: %w", err)
	if n <= 0 {
		return err
	}
	l.undo, l.undoEnd = l.size, l.size+int64(n)
	if _, undoErr := l.takeBack(l.undoEnd); undoErr != nil {
		l.known = false
		return errors.Join(err, undoErr)
	}
	return err
}

// takeBack removes a line that was written in part, if nothing follows it. It returns
// the file's size.
func (l *Log) takeBack(size int64) (int64, error) {
	if size != l.undoEnd {
		l.undoEnd = 0 // another process has sealed it
		return size, nil
	}
	if err := l.truncate(l.f, l.undo); err != nil {
		return size, fmt.Errorf("audit: a line written in part could not be taken back: %w", err)
	}
	l.undoEnd = 0
	return l.undo, nil
}

// numbered writes the beginning of the record into the headroom and returns the line.
func (e *encoder) numbered(seq uint64) []byte {
	var head [headroom]byte
	h := strconv.AppendUint(append(head[:0], seqStart...), seq, 10)
	start := headroom - len(h)
	copy(e.buf[start:], h)
	return e.buf[start:]
}

// precededByLineFeed returns line with a line feed before it.
func (e *encoder) precededByLineFeed(line []byte) []byte {
	start := len(e.buf) - len(line) - 1
	e.buf[start] = '\n'
	return e.buf[start:]
}
