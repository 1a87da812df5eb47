package stdio

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestWriter(t *testing.T) {
	var out recorder
	w := NewWriter(&out)
	frame := []byte("{\"a\":\n1,\r\n\"b\":2}\n")
	before := bytes.Clone(frame)
	if err := w.Write(frame); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(frame, before) {
		t.Error("the caller's frame was changed")
	}
	if err := w.Write([]byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(nil); err == nil {
		t.Error("an empty frame was written")
	}
	if strings.Join(out, "|") != "{\"a\": 1,  \"b\":2} \n|{}\n" {
		t.Errorf("%q", out)
	}
	out = nil
	large := bytes.Repeat([]byte("[1,\r\n2],"), oneWrite)
	before = bytes.Clone(large)
	if err := w.Write(large); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(large, before) {
		t.Error("the caller's large frame was changed")
	}
	if all := strings.Join(out, ""); strings.Count(all, "\n") != 1 || strings.Contains(all, "\r") || len(all) != len(large)+1 {
		t.Errorf("a large frame became %d bytes with %d line ends", len(all), strings.Count(all, "\n"))
	}
}

// recorder keeps each Write.
type recorder []string

func (r *recorder) Write(p []byte) (int, error) {
	*r = append(*r, string(p))
	return len(p), nil
}

func TestWriterErrorSticks(t *testing.T) {
	pr, pw := io.Pipe()
	pr.Close()
	w := NewWriter(pw)
	if err := w.Write([]byte("{}")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
	var out recorder
	w.w = &out
	if err := w.Write([]byte("{}")); !errors.Is(err, io.ErrClosedPipe) || len(out) != 0 {
		t.Errorf("after half a frame: %v, wrote %q", err, out)
	}
	if err := NewWriter(short{}).Write([]byte("{}")); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a short write: %v", err)
	}
}

type short struct{}

func (short) Write(p []byte) (int, error) { return len(p) - 1, nil }

func TestWriterIsConcurrent(t *testing.T) {
	pr, pw := io.Pipe()
	w := NewWriter(pw)
	const writers, each = 8, 50
	errs := make(chan error, writers)
	for i := range writers {
		frame := bytes.Repeat([]byte{byte('a' + i)}, 1+i*20_000)
		go func() {
			var err error
			for range each {
				err = errors.Join(err, w.Write(frame))
			}
			errs <- err
		}()
	}
	seen := map[string]int{}
	r := NewReader(pr, 0)
	for range writers * each {
		frame, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		seen[string(frame)]++
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if len(seen) != writers {
		t.Errorf("%d different frames, want %d: some are mixed", len(seen), writers)
	}
}

func BenchmarkWriter1KB(b *testing.B) {
	frame := bytes.Repeat([]byte{'x'}, 1023)
	w := NewWriter(io.Discard)
	b.SetBytes(int64(len(frame) + 1))
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(frame); err != nil {
			b.Fatal(err)
		}
	}
}
