package streamhttp

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"
)

const (
	readSize   = 32 << 10
	maxEmpty   = 100     // reads in a row that may give nothing
	maxEventID = 1 << 10 // longer ids are not kept: they come back in a header
	lineSlack  = 64      // a line may be this much longer than a message, for its name
)

// event is one event of a stream.
type event struct {
	name string // "message" if the stream gave none
	data []byte // the receiver's to keep; empty for an event that only carries an id
}

// eventReader reads an event stream (HTML standard, "Parsing an event stream" and
// "Interpreting an event stream"): UTF-8 with an optional byte order mark, lines that end
// in CRLF, LF or CR wherever reads happen to cut them. What stands behind the last blank
// line is dropped. One goroutine at a time.
type eventReader struct {
	r        io.Reader
	buf      []byte
	from, to int
	err      error

	max     int    // bytes of data in one event
	line    []byte // a line that did not come in one read
	first   bool   // no line was read yet
	afterCR bool   // the last line ended in CR: an LF that follows belongs to it

	data   []byte
	name   string
	nextID string
	fields bool // the event has data

	id       string        // of the last event, "" if it had none or one that cannot be sent back
	retry    time.Duration // how long the server wants to be left alone before a new connection
	hasRetry bool
}

func newEventReader(r io.Reader, max int) *eventReader {
	return &eventReader{r: r, buf: make([]byte, readSize), max: max, first: true}
}

// next returns the next event. An error of the connection is returned as it is; an event
// over the limit is ErrTooLarge.
func (r *eventReader) next() (event, error) {
	for {
		line, err := r.readLine()
		if err != nil {
			return event{}, err
		}
		if r.first {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			r.first = false
		}
		if len(line) == 0 {
			if e, ok := r.dispatch(); ok {
				return e, nil
			}
			continue
		}
		if err := r.field(line); err != nil {
			return event{}, err
		}
	}
}

// dispatch ends an event. ok is false if there was none.
func (r *eventReader) dispatch() (event, bool) {
	r.id = r.nextID
	e := event{name: r.name, data: r.data}
	if e.name == "" {
		e.name = "message"
	}
	ok := r.fields
	r.data, r.name, r.fields = nil, "", false
	return e, ok
}

func (r *eventReader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		return r.addData(value)
	case "event":
		r.name = string(value[:min(len(value), maxEventID)])
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.setID(value)
		}
	case "retry":
		r.setRetry(value)
	}
	return nil
}

func (r *eventReader) addData(value []byte) error {
	size := len(value)
	if r.fields {
		size += len(r.data) + 1
	}
	if size > r.max {
		return ErrTooLarge
	}
	if r.fields {
		r.data = append(r.data, '\n')
	} else {
		r.data = make([]byte, 0, len(value))
	}
	r.fields = true
	r.data = append(r.data, value...)
	return nil
}

// setID remembers an id if it can be sent back in a header. With one that cannot, the
// stream cannot be resumed from here.
func (r *eventReader) setID(value []byte) {
	r.nextID = ""
	if len(value) <= maxEventID && bytes.IndexFunc(value, func(c rune) bool { return c < ' ' || c == 0x7f }) < 0 &&
		len(bytes.TrimSpace(value)) == len(value) {
		r.nextID = string(value)
	}
}

func (r *eventReader) setRetry(value []byte) {
	for _, c := range value {
		if c < '0' || c > '9' {
			return
		}
	}
	ms, err := strconv.ParseInt(string(value), 10, 64)
	switch {
	case len(value) == 0:
		return
	case err != nil || ms > int64(maxRetry/time.Millisecond):
		ms = int64(maxRetry/time.Millisecond) + 1 // longer than anybody waits
	}
	r.retry, r.hasRetry = time.Duration(ms)*time.Millisecond, true
}

// readLine returns the next line without its end. It is valid until the next call.
func (r *eventReader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	if cap(r.line) > 4*readSize {
		r.line = nil
	}
	for {
		if r.from == r.to {
			if err := r.fill(); err != nil {
				return nil, err
			}
		}
		have := r.buf[r.from:r.to]
		if r.afterCR {
			r.afterCR = false
			if have[0] == '\n' {
				r.from++
				continue
			}
		}
		i := lineEnd(have)
		if len(r.line)+i > r.max+lineSlack {
			return nil, ErrTooLarge
		}
		if i == len(have) {
			r.line = append(r.line, have...)
			r.from = r.to
			continue
		}
		r.from += i + 1
		r.afterCR = have[i] == '\r'
		if len(r.line) == 0 {
			return have[:i], nil
		}
		r.line = append(r.line, have[:i]...)
		return r.line, nil
	}
}

// lineEnd returns the place of the first CR or LF, len(b) if there is none.
func lineEnd(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	if i := bytes.IndexByte(b, '\r'); i >= 0 {
		return i
	}
	return len(b)
}

// fill reads into the empty buffer. It returns an error only when there is nothing.
func (r *eventReader) fill() error {
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

// comeBackAfter is when a client whose connection breaks may come back for a stream, in
// milliseconds: else it is left to the client, and some wait a long time.
const comeBackAfter = "1000"

// appendEvent writes one message as an event, with an id if that is not "". The event is
// named: some clients do not take the name for granted. Without data it is the event that
// a stream begins with (2025-11-25, "Sending Messages to the Server", 6).
func appendEvent(b []byte, id string, data []byte) []byte {
	if data != nil {
		b = append(b, "event: message\n"...)
	}
	if id != "" {
		b = append(b, "id: "...)
		b = append(b, id...)
		b = append(b, '\n')
	}
	if data == nil {
		b = append(b, "retry: "+comeBackAfter+"\n"...)
	}
	for {
		i := lineEnd(data)
		b = append(b, "data: "...)
		b = append(b, data[:i]...)
		b = append(b, '\n')
		if i == len(data) {
			return append(b, '\n')
		}
		if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			i++
		}
		data = data[i+1:]
	}
}

// eventID names an event of a stream within its session, and readEventID reads the name.
func eventID(stream, event uint64) string { return fmt.Sprintf("%d-%d", stream, event) }

func readEventID(s string) (stream, event uint64, ok bool) {
	if len(s) > 41 {
		return 0, 0, false
	}
	a, b, found := bytes.Cut([]byte(s), []byte("-"))
	stream, err1 := strconv.ParseUint(string(a), 10, 64)
	event, err2 := strconv.ParseUint(string(b), 10, 64)
	ok = found && err1 == nil && err2 == nil && eventID(stream, event) == s
	return stream, event, ok
}
