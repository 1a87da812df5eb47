package decide

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// readAll returns the lines of a stream; of one that is too long "long:" and its head.
func readAll(r io.Reader, max int) (all []string, err error) {
	l := newLines(r, max, func() error { return nil })
	for {
		line, long, err := l.next()
		if err == io.EOF {
			return all, nil
		} else if err != nil {
			return all, err
		}
		s := string(line)
		if long {
			s = "long:" + s
		}
		all = append(all, s)
		if l.number != int64(len(all)) {
			return all, errors.New("lines are not counted")
		}
	}
}

func TestLineReader(t *testing.T) {
	big := strings.Repeat("x", 3*readSize)
	for _, test := range []struct {
		in   string
		max  int
		want []string
	}{
		{"", 4, nil},
		{"\n", 4, []string{""}},
		{"a\n\nb", 4, []string{"a", "", "b"}},
		{"abcd\n", 4, []string{"abcd"}},
		{"abcde\nf\n", 4, []string{"long:abcd", "f"}},
		{"abcde", 4, []string{"long:abcd"}},
		{"a\r\nb\vc\n", 4, []string{"a\r", "b\vc"}},
		{big + "\n" + big + "y", len(big), []string{big, "long:" + big[:keepHead]}},
		{big + "\nz", len(big) - 1, []string{"long:" + big[:keepHead], "z"}},
	} {
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(test.in), "bytes": slow{strings.NewReader(test.in)}, "with the end": iotest.DataErrReader(strings.NewReader(test.in)),
		} {
			got, err := readAll(r, test.max)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%s: %.40q at most %d: got %.80q (%v), want %.80q", name, test.in, test.max, got, err, test.want)
			}
		}
	}
	if _, err := readAll(stuck{}, 4); err != io.ErrNoProgress {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// However the bytes come, the lines are those of the whole text.
func TestLinesDoNotDependOnReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-c]{0,6}\n{0,2}){0,30}`).Draw(t, "text")
		max := rapid.IntRange(1, 8).Draw(t, "max")
		var want []string
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\n"); len(line) > max {
				line = "long:" + line[:max]
			}
			want = append(want, line)
		}
		got, err := readAll(&pieces{t, text}, max)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %q (%v), want %q", got, err, want)
		}
	})
}

// pieces gives a text in pieces of any size.
type pieces struct {
	t    *rapid.T
	text string
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b, p.text[:rapid.IntRange(0, min(len(p.text), 9)).Draw(p.t, "n")])
	p.text = p.text[n:]
	return n, nil
}

// A large line does not keep its memory.
func TestLargeLineIsGivenBack(t *testing.T) {
	l := newLines(strings.NewReader(strings.Repeat("x", 2*keepSpace)+"\nb"), 4*keepSpace, func() error { return nil })
	for _, want := range []int{2 * keepSpace, 1} {
		if line, _, err := l.next(); err != nil || len(line) != want {
			t.Fatalf("%d bytes, want %d (%v)", len(line), want, err)
		}
	}
	if _, _, err := l.next(); err != io.EOF || len(l.buf) > keepSpace {
		t.Errorf("the buffer keeps %d bytes", len(l.buf))
	}
}
