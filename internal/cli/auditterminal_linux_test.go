package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sallyport-dev/sallyport/audit"
)

// pseudoTerminal returns a terminal, and what reads whatever is written to it.
func pseudoTerminal(t *testing.T) (terminal *os.File, shown func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return terminal, func() string {
		_ = terminal.Close()
		all, _ := io.ReadAll(master) // it ends with an error when nobody has the terminal open
		return string(all)
	}
}

func TestAuditCommandsOnATerminal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	record := `{"seq":1,"time":"2026-01-02T15:04:05.000Z","event":"tools/call","phase":"verdict","caller":"local","target":"a\u001b[2J","verdict":"deny","outcome":"denied"}` + "\n"
	if err := os.WriteFile(path, []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want string
	}{
		"tail":          {nil, []string{"tail", path}, "2026-01-02T15:04:05Z #1     \x1b[31mdenied   \x1b[0m local a\\u{001b}[2J\r\n"},
		"NO_COLOR":      {map[string]string{"NO_COLOR": "1"}, []string{"tail", path}, "2026-01-02T15:04:05Z #1     denied    local a\\u{001b}[2J\r\n"},
		"dumb terminal": {map[string]string{"TERM": "dumb"}, []string{"tail", path}, "2026-01-02T15:04:05Z #1     denied    local a\\u{001b}[2J\r\n"},
		"summary":       {nil, []string{"summary", path}, "log: " + path + "\r\nrecords: 1, "},
		"show":          {nil, []string{"show", path, "1"}, "#1 of " + path + "\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NO_COLOR", "")
			t.Setenv("TERM", "xterm")
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			terminal, shown := pseudoTerminal(t)
			code := Main(append([]string{"audit"}, c.args...), strings.NewReader(""), terminal, terminal)
			// What is slow to read may have a bar before it.
			if got := shown(); code != 0 || !strings.Contains(got, c.want) || name == "tail" && got != c.want {
				t.Errorf("exit code %d, shown %q", code, got)
			}
		})
	}
}

func TestProgressOnATerminalIsRemoved(t *testing.T) {
	t.Setenv("TERM", "xterm")
	terminal, shown := pseudoTerminal(t)
	in := audit.NewReader(strings.NewReader(""))
	showProgress(terminal, in)()
	if got := shown(); got != "" && !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("left on the terminal: %q", got)
	}
}
