package cli

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestManPageHasEveryCommandAndFlag(t *testing.T) {
	var page bytes.Buffer
	root := newRoot()
	if err := writeMan(&page, root); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	n := 0
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			if c.Name() != "help" && strings.Contains(text, "\n.SS "+roff(c.Name())+"\n") {
				t.Errorf("the hidden command %s is in the page", c.Name())
			}
			return
		}
		if c != root && !c.HasSubCommands() {
			n++
			if !strings.Contains(text, "\n.SS "+roff(strings.TrimPrefix(c.CommandPath(), "sallyport "))+"\n") {
				t.Errorf("%s is missing", c.CommandPath())
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
	if n < 15 || !strings.Contains(text, `\fB\-\-dry\-run\fR`) {
		t.Errorf("%d commands in:\n%s", n, text)
	}
}

func TestManPageIsShownByMan(t *testing.T) {
	var page bytes.Buffer
	if err := writeMan(&page, newRoot()); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(page.String(), "\n") {
		if strings.HasPrefix(line, "'") {
			t.Errorf("line %d is taken for a request: %s", i+1, line)
		}
	}
	// Where there is groff, it has nothing to say against the page.
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Log("groff is not installed: the page was not set")
		return
	}
	cmd := exec.Command(groff, "-man", "-ww", "-z", "-Tutf8")
	cmd.Stdin = &page
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("groff: %v\n%s", err, out)
	}
}

func TestRoff(t *testing.T) {
	for _, tt := range [][2]string{
		{".so /etc/passwd", `\&.so /etc/passwd`},
		{"'x", `\(aqx`},
		{`a\fBb`, `a\efBb`},
		{"one\n.two", "one .two"},
		{"more…", `more\[u2026]`},
		{"--dry-run", `\-\-dry\-run`},
	} {
		if got := roff(tt[0]); got != tt[1] {
			t.Errorf("roff(%q) = %q, want %q", tt[0], got, tt[1])
		}
	}
}
