package stdio

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// frames reads r to its end. A *TooLarge stands as "!" and its id.
func frames(t interface{ Fatalf(string, ...any) }, r *Reader) []string {
	var all []string
	for {
		frame, err := r.Next()
		var large *TooLarge
		switch {
		case err == io.EOF:
			return all
		case errors.As(err, &large):
			all = append(all, "!"+string(large.ID))
		case err != nil:
			t.Fatalf("Next: %v", err)
		default:
			all = append(all, string(frame))
		}
	}
}

func TestReader(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"a\nb\n":                     "a|b",
		"a\r\nb\r\n":                 "a|b",
		"a\nb":                       "a|b",
		"a\r\nb\r":                   "a|b",
		"\n\r\n  \n\t\r\na\n\n\nb\n": "a|b",
		"\n\n":                       "",
		" \t":                        "",
		"a\rb\n":                     "a\rb",
		"a\r\r\n":                    "a\r",
		" a \n":                      " a ",
		"a\x00b\n":                   "a\x00b",
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole":           func(r io.Reader) io.Reader { return r },
			"bytes":           iotest.OneByteReader,
			"error with data": iotest.DataErrReader,
		} {
			got := strings.Join(frames(t, NewReader(wrap(strings.NewReader(in)), 100)), "|")
			if got != want {
				t.Errorf("%q, %s: %q, want %q", in, name, got, want)
			}
		}
	}
}

func TestB005ReaderEndsLinesAtLFOnly(t *testing.T) {
	frame := "{\"t\":\"a\u2028b\u2029c\u0085d\ve\ff\rg\"}"
	got := frames(t, NewReader(strings.NewReader(frame+"\n"+frame+"\r\n"), 0))
	if len(got) != 2 || got[0] != frame || got[1] != frame {
		t.Errorf("%q", got)
	}
}

func TestB007BadBytesAreOneFrame(t *testing.T) {
	got := frames(t, NewReader(strings.NewReader("\xff\xfe\n{\"method\":\"ping\"}\n\xb0\xa1\n"), 0))
	if strings.Join(got, "|") != "\xff\xfe|{\"method\":\"ping\"}|\xb0\xa1" {
		t.Errorf("%q", got)
	}
}

func TestB002NoCliffAtRoundSizes(t *testing.T) {
	pr, pw := io.Pipe()
	sizes := []int{
		readSize - 2, readSize - 1, readSize, readSize + 1, 65537, 1<<20 - 1, 1 << 20, 1<<20 + 1, 10<<20 + 1, 16 << 20,
		oneWrite - 1, oneWrite, oneWrite + 1,
	}
	big := func(n int) []byte {
		return append(append([]byte(`{"d":"`), bytes.Repeat([]byte{'x'}, n-8)...), `"}`...)
	}
	go func() {
		w := NewWriter(pw)
		for _, n := range sizes {
			if w.Write(big(n)) != nil || w.Write([]byte(`{"small":1}`)) != nil {
				break
			}
		}
		pw.Close()
	}()
	r := NewReader(pr, 0)
	for _, n := range sizes {
		if frame, err := r.Next(); err != nil || !bytes.Equal(frame, big(n)) {
			t.Fatalf("frame of %d bytes: got %d, %v", n, len(frame), err)
		}
		if frame, err := r.Next(); err != nil || string(frame) != `{"small":1}` {
			t.Fatalf("after a frame of %d bytes: %.40q, %v", n, frame, err)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestReaderTooLarge(t *testing.T) {
	const max = 200_000
	fill := strings.Repeat(`{"id":0,"x":"}\"\\"},`, max/10)
	for _, tt := range []struct {
		frame, id string
		method    bool
	}{
		{`{"jsonrpc":"2.0","id":7,"method":"m","params":[` + fill + `0]}`, "7", true},
		{`{"result":[` + fill + `0],"jsonrpc":"2.0","id":"a\n"}`, `"a\n"`, false},
		{`{"result":[` + fill + `0],"jsonrpc":"2.0","id":1,"id":2}`, "", false},
		{`{"id":1,"result":[` + fill, "", false},
		{strings.Repeat("x", max+1), "", false},
	} {
		for _, end := range []string{"\n", "\r\n"} {
			r := NewReader(strings.NewReader("before\n"+tt.frame+end+"after\n"), max)
			if frame, err := r.Next(); string(frame) != "before" || err != nil {
				t.Fatalf("before: %q, %v", frame, err)
			}
			_, err := r.Next()
			var large *TooLarge
			if !errors.As(err, &large) {
				t.Fatalf("%.40s: %v", tt.frame, err)
			}
			if string(large.ID) != tt.id || (large.ID == nil) != (tt.id == "") || large.Method != tt.method ||
				large.Size != int64(len(tt.frame)+len(end)-1) {
				t.Errorf("%.40s: %+v", tt.frame, large)
			}
			if frame, err := r.Next(); string(frame) != "after" || err != nil {
				t.Errorf("after: %q, %v", frame, err)
			}
		}
	}
}

func TestReaderLimitIsExact(t *testing.T) {
	for max := 1; max < 6; max++ {
		for size := 1; size < 8; size++ {
			line := strings.Repeat("x", size)
			for _, end := range []string{"\n", "\r\n", "", "\r"} {
				for _, wrap := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader} {
					got := frames(t, NewReader(wrap(strings.NewReader(line+end)), max))
					want := line
					if size > max {
						want = "!"
					}
					if len(got) != 1 || got[0] != want {
						t.Errorf("max %d, %q: %q", max, line+end, got)
					}
				}
			}
		}
	}
}

func TestReaderErrors(t *testing.T) {
	boom := errors.New("boom")
	r := NewReader(io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(boom)), 0)
	if frame, err := r.Next(); string(frame) != "a" || err != nil {
		t.Fatalf("%q, %v", frame, err)
	}
	for range 2 {
		if frame, err := r.Next(); frame != nil || !errors.Is(err, boom) {
			t.Errorf("%q, %v", frame, err)
		}
	}
	if _, err := NewReader(idle{}, 0).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives nothing: %v", err)
	}
	// A frame that is too large and cut off is still told of, once.
	r = NewReader(strings.NewReader(strings.Repeat("x", 50)), 10)
	var large *TooLarge
	if _, err := r.Next(); !errors.As(err, &large) || large.Size != 50 {
		t.Errorf("%v", err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("%v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestReaderFramesAreTheCallers(t *testing.T) {
	r := NewReader(strings.NewReader("aaaa\nbbbb\n"+strings.Repeat("c", readSize)+"\ndddd\n"), 0)
	var kept [][]byte
	for {
		frame, err := r.Next()
		if err != nil {
			break
		}
		kept = append(kept, append(frame, '!'))
	}
	if string(kept[0]) != "aaaa!" || string(kept[1]) != "bbbb!" || len(kept[2]) != readSize+1 || string(kept[3]) != "dddd!" {
		t.Errorf("%.20q", kept)
	}
}

var xs = bytes.Repeat([]byte{'x'}, readSize)

// endless gives n bytes x, then a line end.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n < 0 {
		return 0, io.EOF
	}
	if e.n == 0 {
		e.n--
		p[0] = '\n'
		return 1, nil
	}
	n := copy(p[:min(e.n, len(p))], xs)
	e.n -= n
	return n, nil
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestReaderMemory(t *testing.T) {
	const size = 64 << 20
	r := NewReader(&endless{n: size}, size)
	got := allocated(func() {
		if frame, err := r.Next(); len(frame) != size || err != nil {
			t.Errorf("%d bytes, %v", len(frame), err)
		}
	})
	if got > size*21/10 {
		t.Errorf("%d bytes allocated for a frame of %d", got, size)
	}
	if len(r.buf) != readSize || cap(r.buf) != readSize {
		t.Errorf("%d bytes kept after a huge frame", cap(r.buf))
	}
	r = NewReader(&endless{n: size}, 1<<20)
	got = allocated(func() {
		if _, err := r.Next(); err == nil {
			t.Error("not refused")
		}
	})
	if got > 4<<20 {
		t.Errorf("%d bytes allocated to skip a frame with a limit of 1 MiB", got)
	}
}

// choppy gives what it has in pieces of the given sizes.
type choppy struct {
	data  []byte
	sizes []int
	i     int
}

func (c *choppy) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	size := c.sizes[c.i%len(c.sizes)]
	c.i++
	n := copy(p, c.data[:min(size, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 1, 300)).Draw(t, "frames")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 100), 1, 5).Draw(t, "reads")
		var wire bytes.Buffer
		w := NewWriter(&wire)
		var want []string
		for _, frame := range in {
			if err := w.Write(frame); err != nil {
				t.Fatal(err)
			}
			line := strings.NewReplacer("\n", " ", "\r", " ").Replace(string(frame))
			if strings.Trim(line, " \t") != "" {
				want = append(want, line)
			}
		}
		if n := bytes.Count(wire.Bytes(), []byte{'\n'}); n != len(in) {
			t.Fatalf("%d frames gave %d lines", len(in), n)
		}
		got := frames(t, NewReader(&choppy{data: wire.Bytes(), sizes: sizes}, 300))
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q became %q", want, got)
		}
	})
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\r\n\n{\"id\":1,\"method\":\"aaaaaaaaaaaaaaaaaaaaaaaa\"}\nb"), byte(3))
	f.Add([]byte("\r\n \r\r\n"), byte(1))
	f.Add([]byte(strings.Repeat("x", 33)+"\r\nz"), byte(200))
	f.Add([]byte("\xff\xfe\n\xe2\x80\xa8\n"), byte(0))
	f.Fuzz(func(t *testing.T, data []byte, size byte) {
		const max = 32
		var want []string
		for line := range strings.SplitSeq(string(data), "\n") {
			line = strings.TrimSuffix(line, "\r")
			switch {
			case len(line) > max:
				want = append(want, "!")
			case strings.Trim(line, " \t\r") != "":
				want = append(want, line)
			}
		}
		r := NewReader(&choppy{data: data, sizes: []int{1 + int(size)}}, max)
		got := frames(t, r)
		for i, frame := range got {
			if strings.HasPrefix(frame, "!") && i < len(want) && want[i] == "!" {
				got[i] = "!"
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
			t.Fatalf("%q gave %q, want %q", data, got, want)
		}
	})
}

func BenchmarkReader1KB(b *testing.B) {
	line := append(bytes.Repeat([]byte{'x'}, 1023), '\n')
	r := NewReader(&repeat{line: line}, 0)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReader20MB(b *testing.B) {
	b.SetBytes(20 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewReader(&endless{n: 20 << 20}, 0).Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// repeat gives the same line without end.
type repeat struct {
	line []byte
	at   int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], r.line[r.at:])
		n += c
		r.at = (r.at + c) % len(r.line)
	}
	return n, nil
}
