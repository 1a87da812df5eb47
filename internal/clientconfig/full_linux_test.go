package clientconfig

import (
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A disk that takes a part of the file only: the old bytes stay. The limit on the size of
// files does to a write what a full disk does.
func TestFullDisk(t *testing.T) {
	pad := `"pad":"` + strings.Repeat("x", 64<<10) + `",`
	src := "{" + pad + small[1:]
	f := put(t, "mcp.json", src)
	c, err := f.Wrap(program, all)
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	// The backup fits, the longer new file does not.
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(len(src)), Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	err = c.Write()
	if e := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); e != nil {
		t.Fatal(e)
	}
	if err == nil || !strings.Contains(err.Error(), "nothing is changed") {
		t.Errorf("error %v", err)
	}
	if contents(t, f.Path) != src {
		t.Error("the file changed")
	}
	if l := leftovers(t, filepath.Dir(f.Path)); len(l) > 0 {
		t.Errorf("left: %q", l)
	}
}
