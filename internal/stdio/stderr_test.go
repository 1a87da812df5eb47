package stdio

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// split returns the lines that read makes of in.
func split(r io.Reader) []string {
	lines := make(chan string, 10_000)
	read(r, &queue{lines: lines})
	close(lines)
	var all []string
	for line := range lines {
		all = append(all, line)
	}
	return all
}

func TestStderrLines(t *testing.T) {
	long := strings.Repeat("é", maxLine) // two bytes each
	for in, want := range map[string][]string{
		"":                                nil,
		"a\nb\n":                          {"a", "b"},
		"a\r\n\nb":                        {"a", "", "b"},
		"\x1b[31mred\x07\x00\xff":         {`\u{001b}[31mred\u{0007}\u{0000}\xff`},
		"10%\r20%\r\n":                    {`10%\r20%`},
		"\u202egnp\u2028x\n":              {`\u{202e}gnp\u{2028}x`},
		long + "\nnext":                   {long[:maxLine], long[maxLine:], "next"},
		long[:maxLine] + "\r\nnext":       {long[:maxLine], "next"},
		"x" + long + "y":                  {"x" + long[:maxLine-2], long[:maxLine], "éy"},
		strings.Repeat("\xa9", maxLine+1): {strings.Repeat(`\xa9`, maxLine), `\xa9`},
	} {
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(in), "bytes": iotest.OneByteReader(strings.NewReader(in)),
		} {
			if got := split(r); strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
				t.Errorf("%.40q, %s: %.60q, want %.60q", in, name, got, want)
			}
		}
	}
}

func TestStderrDropsWhatNobodyTakes(t *testing.T) {
	lines := make(chan string, 3)
	q := &queue{lines: lines}
	for _, line := range []string{"1", "2", "3", "4", "5"} {
		q.put([]byte(line))
	}
	if got := <-lines + <-lines; got != "12" {
		t.Errorf("first %q", got)
	}
	q.put([]byte("6"))
	q.put([]byte("7")) // no room again
	got := []string{<-lines, <-lines, <-lines}
	q.end()
	got = append(got, <-lines)
	want := []string{"3", droppedLine(2), "6", droppedLine(1)}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzStderr(f *testing.F) {
	f.Add([]byte("a\r\n\xff\x1b[2J"), byte(1))
	f.Add([]byte(strings.Repeat("é", maxLine)+"\n\n"), byte(100))
	f.Fuzz(func(t *testing.T, in []byte, size byte) {
		got := split(&choppy{data: in, sizes: []int{1 + int(size), 9000}})
		whole := split(strings.NewReader(string(in)))
		if strings.Join(got, "\n") != strings.Join(whole, "\n") {
			t.Fatal("the lines depend on how they are read")
		}
		for _, line := range got {
			if !utf8.ValidString(line) || strings.ContainsAny(line, "\n\r\x1b\x00") || len(line) > 8*maxLine {
				t.Fatalf("line of %d bytes: %.60q", len(line), line)
			}
		}
	})
}
