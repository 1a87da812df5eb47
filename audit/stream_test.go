package audit

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
)

// What a stream's reader keeps is a log like any other.
func TestStreamVerifies(t *testing.T) {
	var out bytes.Buffer
	l := Stream(&out, Options{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if _, err := l.Append(Record{Event: "tools/call", Verdict: "allow"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if l.Path() != "-" || l.Close() != nil {
		t.Errorf("%q", l.Path())
	}
	if _, err := l.Append(Record{Event: "x"}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	rep, err := Verify(bytes.NewReader(out.Bytes()))
	if err != nil || !rep.Intact() || rep.Records != 400 || strings.Count(out.String(), "\n") != 400 {
		t.Errorf("%+v, %v", rep, err)
	}
}

// halting takes so many bytes and no more.
type halting struct {
	bytes.Buffer
	left int
}

func (h *halting) Write(p []byte) (int, error) {
	n, _ := h.Buffer.Write(p[:min(len(p), h.left)])
	h.left -= n
	if n < len(p) {
		return n, errors.New("full")
	}
	return n, nil
}

// After half a line nothing more is written: it would stand behind the half, unread.
func TestStreamStopsAfterHalfALine(t *testing.T) {
	out := halting{left: 500}
	l := Stream(&out, Options{})
	written := 0
	for range 10 {
		if _, err := l.Append(Record{Event: "session"}); err == nil {
			written++
		}
	}
	out.left = 1 << 20
	if _, err := l.Append(Record{Event: "session"}); err == nil {
		t.Error("a record after half a line counts as written")
	}
	if whole := strings.Count(out.String(), "\n"); written == 0 || whole != written || out.Len() != 500 {
		t.Errorf("%d records count, %d are whole, %d bytes", written, whole, out.Len())
	}
}

// Where nothing of a line was written, the next is tried.
func TestStreamTriesAgain(t *testing.T) {
	out := halting{}
	l := Stream(&out, Options{})
	if _, err := l.Append(Record{Event: "session"}); err == nil {
		t.Error("nothing was written, and it counts")
	}
	out.left = 1 << 20
	if seq, err := l.Append(Record{Event: "session"}); err != nil || seq != 1 {
		t.Errorf("%d, %v", seq, err)
	}
	if rep, err := Verify(&out); err != nil || !rep.Intact() || rep.Records != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
}
