package demo

import (
	"slices"
	"strings"
	"testing"
)

func TestShow(t *testing.T) {
	if got, want := show("a\x1b[31m\u202eb\nc\r"), "a\\u{001b}[31m\\u{202e}b\nc\\r"; got != want {
		t.Errorf("show = %q, want %q", got, want)
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want []string
	}{
		{"one two three", 7, []string{"one two", "three"}},
		{"one\ntwo\n", 10, []string{"one", "two"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"a bcdefgh", 3, []string{"a", "bcd", "efg", "h"}},
		{"ééé éé", 3, []string{"ééé", "éé"}},
		{"", 3, []string{""}},
	} {
		if got := wrap(c.in, c.n); !slices.Equal(got, c.want) {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	if got := cut("abcdef", 4); got != "abc…" {
		t.Errorf("cut = %q", got)
	}
	if got := cut("äöü", 3); got != "äöü" {
		t.Errorf("cut = %q", got)
	}
}

// What a call holds is shown, and cannot steer the terminal.
func TestCallIsEscaped(t *testing.T) {
	got := call(step{tool: "t", args: []arg{{"b", "x\n\x1b[2J"}, {"a", "1"}}})
	if want := `t b="x\n\x1b[2J" a="1"`; got != want {
		t.Errorf("call = %s, want %s", got, want)
	}
}

func TestTail(t *testing.T) {
	var b strings.Builder
	w := &tail{b: &b}
	for range 100 {
		if n, err := w.Write([]byte(strings.Repeat("x", 100))); n != 100 || err != nil {
			t.Fatal(n, err)
		}
	}
	w.Write([]byte("end"))
	if got := b.String(); len(got) != tailSize || !strings.HasSuffix(got, "xend") {
		t.Errorf("kept %d bytes, ending in %q", len(got), got[len(got)-4:])
	}
}

func TestAbridged(t *testing.T) {
	got := abridged("may it run?\nknown from: a\nevidence: b\nevidence: c\nquestion: d\nall arguments: {}\nA yes.")
	if want := []string{"may it run?", "…", "question: d", "…", "A yes."}; !slices.Equal(got, want) {
		t.Errorf("abridged = %q, want %q", got, want)
	}
}
