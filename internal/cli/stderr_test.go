package cli

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestAsyncWriterKeepsOrder(t *testing.T) {
	var b bytes.Buffer
	a := newAsyncWriter(&b)
	var want strings.Builder
	for i := range 2000 {
		fmt.Fprintf(a, "line %d\n", i)
		fmt.Fprintf(&want, "line %d\n", i)
	}
	a.Close()
	if b.String() != want.String() {
		t.Errorf("%d bytes arrive, %d were written", b.Len(), want.Len())
	}
}

// Nobody reads: no write waits, memory is bounded, and later the log says what is missing.
func TestAsyncWriterNeverWaits(t *testing.T) {
	r, w := io.Pipe()
	a := newAsyncWriter(w)
	line := strings.Repeat("x", 1023) + "\n"
	const lines = 3 * maxWaiting / 1024
	for range lines {
		if n, err := io.WriteString(a, line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	heard := make(chan string)
	go func() {
		all, _ := io.ReadAll(r)
		heard <- string(all)
	}()
	a.Close()
	w.Close()
	all := <-heard
	kept := strings.Count(all, line)
	left := 0 // said at once or in parts, as the writer comes to it
	for _, m := range regexp.MustCompile(`sallyport: ([0-9]+) log lines are left out`).FindAllStringSubmatch(all, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		left += n
	}
	if kept == 0 || kept > 2*maxWaiting/1024 || left != lines-kept {
		t.Errorf("%d of %d lines kept; the end reads %q", kept, lines, all[max(0, len(all)-100):])
	}
}
