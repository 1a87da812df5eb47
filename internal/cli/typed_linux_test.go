package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Two lines that are pasted at once, a command and its answer, answer nothing.
func TestTypedAhead(t *testing.T) {
	own, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	fd := int(own.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	if _, err := own.WriteString("y\ny\n"); err != nil {
		t.Fatal(err)
	}
	// The line discipline has taken both lines once it has echoed them.
	screen := bufio.NewReader(own)
	for range 2 {
		if line, err := screen.ReadString('\n'); err != nil || strings.TrimSpace(line) != "y" {
			t.Fatalf("%q %v", line, err)
		}
	}
	p := &person{terminal: tty, in: bufio.NewReader(tty), out: tty}
	for _, typed := range []string{"n", "y"} {
		answered := make(chan string, 1)
		go func() {
			said, err := p.ask("May it run? ")
			answered <- fmt.Sprint(said, err)
		}()
		if _, err := screen.ReadString('?'); err != nil {
			t.Fatal(err)
		}
		if _, err := own.WriteString(typed + "\n"); err != nil {
			t.Fatal(err)
		}
		if got := <-answered; got != typed+"<nil>" {
			t.Errorf("%q was taken for the answer, %q was typed after the question", got, typed)
		}
		if _, err := screen.ReadString('\n'); err != nil { // the echo of the answer
			t.Fatal(err)
		}
	}
}
