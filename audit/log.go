package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Options of a log. The zero value keeps one file and forces it to the disk once a second.
type Options struct {
	Redaction Redaction
	NoChain   bool // hash_chain: false
	Sync      Sync
	Rotate    Rotation
	// Checkpoints, if they are set, are written in the background while the log is open.
	Checkpoints *Checkpoints

	// Warn is told of what is no error of an Append: a rotation or a sync in the
	// background that failed. It is called with no lock held by the caller's own code, from
	// any goroutine, and must not call the log. nil: nobody is told.
	Warn func(what string, err error)
}

var (
	errNumbers = errors.New("audit: the log's last record has the last number there is")
	errForeign = errors.New("audit: this is not an audit log, no line of it is a record: name another file")
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
	rot     Rotation
	warn    func(what string, err error)
	commits commits
	counts  counters
	points  *checkpointer // nil: none are written

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
	first firstRecord // of this file
	later time.Time   // no rotation is tried before

	packing sync.WaitGroup // files that are being compressed

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
	if isPart(path) {
		return nil, fmt.Errorf("audit: %w: its name is that of a file into which a log was rotated", errUnsafe)
	}
	if err := opt.Rotate.check(); err != nil {
		return nil, err
	}
	if opt.Checkpoints != nil {
		if err := errors.Join(opt.Checkpoints.check(), opt.Checkpoints.apart(path)); err != nil {
			return nil, err
		}
	}
	l := &Log{
		path: path, noChain: opt.NoChain, red: newRedactor(opt.Redaction), rot: opt.Rotate, warn: opt.Warn,
		sums: newSummer(), write: (*os.File).Write, truncate: (*os.File).Truncate,
	}
	if l.warn == nil {
		l.warn = func(string, error) {}
	}
	l.commits.start(opt.Sync, l.warn)
	l.tails.sums = l.sums
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.locked(func() error { return nil }); err != nil {
		l.forget()
		return nil, err
	}
	if opt.Checkpoints != nil {
		l.points = startCheckpoints(l, *opt.Checkpoints)
	}
	return l, nil
}

// Append writes one record whole and returns its sequence number (from 1, without gaps).
// When it returns an error the record does not count, and the next Append tries again. (Two
// cases are left in which it stands in the log all the same: where the system neither writes the
// last byte of a record nor lets the rest be taken back, and where it cannot be forced to
// the disk.) Under [SyncAlways] it returns once the record is on the disk, unless the
// record is an outcome, for which nothing waits.
func (l *Log) Append(r Record) (seq uint64, err error) {
	if err := r.check(); err != nil {
		return 0, err
	}
	defer func() { l.counts.add(&r, err) }()
	e := newEncoder(l.red)
	defer e.release()
	e.record(&r)

	seq, ticket, err := l.append(e)
	if err != nil {
		return 0, err
	}
	if err := l.commits.settle(ticket, r.Phase != PhaseOutcome); err != nil {
		return 0, err
	}
	return seq, nil
}

// append puts a record into the file. ticket is what the commits know it by.
func (l *Log) append(e *encoder) (seq, ticket uint64, err error) {
	if err := l.commits.healthy(); err != nil {
		return 0, 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, 0, fmt.Errorf("audit: %w", os.ErrClosed)
	}
	err = l.locked(func() error {
		l.rotateIfDue(len(e.buf) + prevMember + hashMember)
		return l.add(e, false)
	})
	if err != nil {
		return 0, 0, err
	}
	if l.points != nil {
		l.points.wrote(l.seq, len(e.buf))
	}
	return l.seq, l.commits.wrote(l.f), nil
}

// Digest is the keyed digest of b under this log's key, as text: "hmac-sha256:…".
func (l *Log) Digest(b []byte) string {
	return string(l.red.digest(make([]byte, 0, len(digestScheme)+digits), b))
}

// Path returns where the log is.
func (l *Log) Path() string { return l.path }

// Close forces to the disk what is not there yet, unless nothing ever is, and closes the
// file. Append returns an error from then on. It waits for files that are being compressed, and
// two seconds at most for the last checkpoint.
func (l *Log) Close() error {
	if l.points != nil {
		l.points.close()
	}
	syncErr := l.commits.close()
	l.mu.Lock()
	l.closed = true
	var err error
	if l.f != nil {
		err = l.f.Close()
		l.f = nil
	}
	l.mu.Unlock()
	l.packing.Wait()
	return errors.Join(syncErr, err)
}

func (l *Log) forget() {
	if l.f != nil {
		_ = l.f.Close()
	}
	l.f, l.known, l.undoEnd, l.first = nil, false, 0, firstRecord{}
}

// locked runs do while the file is open, locked and known.
func (l *Log) locked(do func() error) error {
	if l.stream {
		return do()
	}
	var until time.Time
	for {
		if l.f == nil {
			if err := l.open(); err != nil {
				return err
			}
		}
		if err := lock(l.f); err != nil {
			return err
		}
		moved, err := l.catchUp()
		if moved { // others rotate while this one waits; for all of it, no longer than for a lock
			if until.IsZero() {
				until = time.Now().Add(lockWait)
			} else if time.Now().After(until) {
				return fmt.Errorf("audit: the log was rotated again and again for %v", lockWait)
			}
			continue
		}
		if err == nil {
			err = do()
		}
		if l.f != nil { // do may have gone on to another file
			unlock(l.f)
		}
		return err
	}
}

func (l *Log) open() error {
	if err := os.MkdirAll(dirOf(l.path), 0o700); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	f, id, err := openFile(l.path)
	if err != nil {
		return err
	}
	l.f, l.id, l.known, l.first = f, id, false, firstRecord{}
	return nil
}

// add completes a record with its links and writes it. What is known of the file moves
// on only when the whole line was written.
func (l *Log) add(e *encoder, newLine bool) error {
	if l.seq >= maxSeq {
		return errNumbers
	}
	line, own := l.complete(e, newLine)
	n, err := l.write(l.f, line)
	if err != nil || n < len(line) {
		return l.writeFailed(n, err)
	}
	l.advance(line, own)
	return nil
}

// complete puts its number and links to a record that follows the last one.
func (l *Log) complete(e *encoder, newLine bool) (line []byte, own sum) {
	own = noPrev
	if l.noChain {
		e.buf = append(e.buf, "}\n"...)
	} else {
		e.buf = append(append(append(e.buf, prevStart...), l.prev[:]...), '"')
	}
	line = e.numbered(l.seq + 1)
	if !l.noChain {
		own = l.sums.of(&l.prev, line, brace)
		e.buf = append(append(append(e.buf, hashStart...), own[:]...), "\"}\n"...)
		line = e.buf[len(e.buf)-len(line)-hashMember-1:]
	}
	if newLine {
		line = e.precededByLineFeed(line)
	}
	return line, own
}

// advance notes that line was written, whole, behind what was known of the file. It has
// its line feed and, where that of the record before was missing, one before it. Every record
// that this process writes comes by here, once and in order, the log's own included. Records of
// other processes are seen in load.
func (l *Log) advance(line []byte, own sum) {
	l.size += int64(len(line))
	l.seq++
	l.prev = own
	if l.first.seq == 0 {
		l.first = firstRecord{seq: l.seq, began: time.Now()}
	}
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
