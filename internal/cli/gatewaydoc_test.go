package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The page's configuration is one that a reader can copy, and what it types is understood.
func TestGatewayDoc(t *testing.T) {
	blocks := docBlocks(t, "../../docs/gateway.md")
	t.Chdir(home(t))
	t.Setenv("FORGE_TOKEN", "x")
	commands, files := 0, 0
	for _, b := range blocks {
		switch b.info {
		case "yaml":
			files++
			if err := os.WriteFile("team.yaml", []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			if got := Main([]string{"validate", "--strict", "-c", "team.yaml"}, strings.NewReader(""), &out, &errs); got != 0 || strings.Contains(out.String(), " note ") {
				t.Errorf("gateway.md:%d: exit code %d\n%s%s", b.line, got, &out, &errs)
			}
		case "sh":
			for line := range strings.Lines(b.text) {
				commands++
				typed(t, strings.TrimSpace(line))
			}
		}
	}
	if files != 1 || commands != 7 {
		t.Errorf("%d files, %d commands", files, commands)
	}
}

// typed checks a command line without a gateway to run: its flags, and what it prints where
// it needs none.
func typed(t *testing.T, line string) {
	t.Helper()
	rest, ok := strings.CutPrefix(line, "sallyport ")
	if !ok {
		t.Errorf("%q is no command of this program", line)
		return
	}
	args := strings.Fields(strings.ReplaceAll(rest, `'Authorization: Bearer ${FORGE_TOKEN}'`, "Authorization:x"))
	cmd, args, err := newRoot().Find(args)
	if err != nil {
		t.Errorf("%q: %v", line, err)
		return
	}
	if err := cmd.ParseFlags(args); err != nil {
		t.Errorf("%q: %v", line, err)
	}
	if strings.HasPrefix(rest, "token new") {
		rest = strings.Replace(rest, "laptop", "phone", 1) // the page's file has the one
	}
	if strings.HasPrefix(rest, "token ") {
		var out, errs bytes.Buffer
		if got := Main(strings.Fields(rest), strings.NewReader("a-value-that-is-long-enough\n"), &out, &errs); got != 0 || out.Len() == 0 {
			t.Errorf("%q: exit code %d\n%s%s", line, got, &out, &errs)
		}
	}
}
