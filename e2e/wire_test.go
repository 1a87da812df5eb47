package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait for a frame. A test that runs into it fails.
const patience = 30 * time.Second

// wire is a client that writes and reads raw frames: what goes in and what comes out is
// compared byte for byte, so nothing may decode and encode it.
type wire struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser

	// answer is the result a server's request gets, by method.
	answer map[string]string

	mu     sync.Mutex
	frames [][]byte
	more   chan struct{} // closed and replaced whenever frames grow or end is set
	end    error
}

// dial starts a server and reads its frames until it ends.
func dial(t testing.TB, s *target, answer map[string]string) *wire {
	t.Helper()
	w := &wire{t: t, cmd: s.cmd(), answer: answer, more: make(chan struct{})}
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	go w.read(out)
	return w
}

func (w *wire) read(out io.Reader) {
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		w.mu.Lock()
		if len(line) > 0 {
			w.frames = append(w.frames, bytes.TrimSuffix(line, []byte("\n")))
		}
		w.end = err
		close(w.more)
		w.more = make(chan struct{})
		w.mu.Unlock()
		if err != nil {
			return
		}
		w.serve(line)
	}
}

// head is what the driver itself needs to know of a frame.
type head struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// serve answers a request of the server's.
func (w *wire) serve(line []byte) {
	var h head
	if json.Unmarshal(line, &h) != nil || h.ID == nil || h.Method == "" {
		return
	}
	if result, ok := w.answer[h.Method]; ok {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, h.ID, result))
		return
	}
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not here"}}`, h.ID))
}

// send writes one frame. A server that is gone is noticed by whoever waits for it.
func (w *wire) send(frame string) { io.WriteString(w.in, frame+"\n") } //nolint:errcheck // see above

// until waits for a frame that fits, among all that came since the start.
func (w *wire) until(what string, fits func([]byte) bool) []byte {
	w.t.Helper()
	deadline := time.After(patience)
	for i := 0; ; {
		w.mu.Lock()
		frames, more, end := w.frames, w.more, w.end
		w.mu.Unlock()
		for ; i < len(frames); i++ {
			if fits(frames[i]) {
				return frames[i]
			}
		}
		if end != nil {
			w.t.Fatalf("the server ended (%v) before %s", end, what)
		}
		select {
		case <-more:
		case <-deadline:
			w.t.Fatalf("%s did not come within %v", what, patience)
		}
	}
}

// response waits for the answer to a request id, given as JSON.
func (w *wire) response(id string) []byte {
	w.t.Helper()
	return w.until("the answer to "+id, func(f []byte) bool {
		var h head
		return json.Unmarshal(f, &h) == nil && h.Method == "" && string(h.ID) == id
	})
}

// count waits until n frames fit.
func (w *wire) count(what string, n int, fits func([]byte) bool) {
	w.t.Helper()
	seen := 0
	w.until(fmt.Sprintf("%s, %d of them", what, n), func(f []byte) bool {
		if fits(f) {
			seen++
		}
		return seen == n
	})
}

func (w *wire) all() [][]byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.frames
}

// close ends the input and waits for the process, which gets a bounded time.
func (w *wire) close() {
	w.in.Close()
	done := make(chan struct{})
	go func() {
		w.cmd.Wait() //nolint:errcheck // how a server ends at the end of input is its own affair
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		w.cmd.Process.Kill() //nolint:errcheck // it may have ended meanwhile
		<-done
	}
}

func method(name string) func([]byte) bool {
	return func(f []byte) bool {
		var h head
		return json.Unmarshal(f, &h) == nil && h.Method == name
	}
}
