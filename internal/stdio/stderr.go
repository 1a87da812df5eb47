package stdio

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

const (
	maxLine  = 16 << 10 // a longer line of stderr is delivered in pieces
	maxLines = 64       // that wait to be delivered; more are dropped
)

// stderr drains the stderr of a child. Reading never waits for the receiver: a child
// must not hang because nobody reads its log.
type stderr struct {
	f         *os.File
	eof       chan struct{} // nobody holds the child's stderr any more
	delivered chan struct{} // and the receiver has it all
}

// drain starts to read f to its end, and passes it on line by line.
func drain(f *os.File, receive func(line string)) *stderr {
	s := &stderr{f: f, eof: make(chan struct{}), delivered: make(chan struct{})}
	lines := make(chan string, maxLines)
	go func() {
		defer close(s.delivered)
		for line := range lines {
			if receive != nil {
				receive(line)
			}
		}
	}()
	go func() {
		defer close(s.eof)
		defer close(lines)
		read(&output{f}, &queue{lines: lines})
	}()
	return s
}

// read splits what comes from r into lines.
func read(r io.Reader, q *queue) {
	var line []byte
	buf := make([]byte, 8<<10)
	for {
		n, err := r.Read(buf)
		rest := buf[:n]
		for {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				break
			}
			q.put(append(line, rest[:i]...))
			line, rest = line[:0], rest[i+1:]
		}
		line = append(line, rest...)
		for len(line) > maxLine+1 { // the one more may be a CR
			cut := wholeRunes(line[:maxLine])
			q.put(line[:cut])
			line = append(line[:0], line[cut:]...)
		}
		if err != nil {
			if len(line) > 0 {
				q.put(line)
			}
			q.end()
			return
		}
	}
}

// wholeRunes returns how much of b to take so that no character is cut in two.
func wholeRunes(b []byte) int {
	for back := 1; back < utf8.UTFMax; back++ {
		i := len(b) - back
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}

// queue holds lines for a receiver that may be slow.
type queue struct {
	lines   chan<- string
	dropped int
}

func (q *queue) put(line []byte) {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if q.dropped > 0 {
		select {
		case q.lines <- droppedLine(q.dropped):
			q.dropped = 0
		default:
			q.dropped++
			return
		}
	}
	for len(line) > maxLine { // a line that was long before its end came
		cut := wholeRunes(line[:maxLine])
		q.send(line[:cut])
		line = line[cut:]
	}
	q.send(line)
}

func (q *queue) send(line []byte) {
	select {
	case q.lines <- quote.Text(string(line), 0):
	default:
		q.dropped++
	}
}

// end tells of lines that were dropped, if the receiver can take that.
func (q *queue) end() {
	if q.dropped == 0 {
		return
	}
	select {
	case q.lines <- droppedLine(q.dropped):
	default:
	}
}

func droppedLine(n int) string {
	return fmt.Sprintf("(%d lines dropped: they came faster than they could be logged)", n)
}
