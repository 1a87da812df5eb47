//go:build unix

package stdio

import (
	"os"
	"strings"
	"testing"
)

func TestClosedByPeer(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("not read yet"); err != nil {
		t.Fatal(err)
	}
	gone := ClosedByPeer(r)
	if gone() {
		t.Error("closed while it is open")
	}
	w.Close()
	if !gone() {
		t.Error("not closed, though what was written was not read")
	}
	if ClosedByPeer(strings.NewReader("x")) != nil {
		t.Error("a reader that is no file cannot tell")
	}
}
