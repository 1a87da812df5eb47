package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// runDemo runs the real demo, in a temporary directory of its own, and returns what it
// printed.
func runDemo(t *testing.T, tmp string, flags ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(t, "sallyport"), append([]string{"demo"}, flags...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if stderr.Len() > 0 {
		t.Logf("stderr: %s", &stderr)
	}
	return stdout.String(), cmd.ProcessState.ExitCode()
}

// The demo is judged by what it left on disk, read here without its own help.
func TestDemoChangesTheWorldAsItShould(t *testing.T) {
	needWrap(t)
	out, code := runDemo(t, realDir(t), "--auto", "--keep")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	_, dir, _ := strings.Cut(out, "Kept: ")
	dir = strings.TrimSpace(dir)
	for _, w := range []struct {
		run       string
		mails     []string
		key       bool
		customers []string
	}{
		{"without", []string{"ana@northwind.example", "export@ledger-audit.example"}, true, []string{"C-4", "C-5", "C-6"}},
		{"with", []string{"ana@northwind.example"}, false, []string{"C-3", "C-4", "C-5", "C-6"}},
	} {
		t.Run(w.run, func(t *testing.T) {
			base := filepath.Join(dir, w.run)
			outbox, err := filepath.Glob(filepath.Join(base, "outbox", "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			var to []string
			for _, m := range outbox {
				var mail struct{ To string }
				decodeFile(t, m, &mail)
				to = append(to, mail.To)
			}
			if strings.Join(to, " ") != strings.Join(w.mails, " ") {
				t.Errorf("mails went to %q, want %q", to, w.mails)
			}
			if _, err := os.Stat(filepath.Join(base, "home", ".ssh", "authorized_keys")); (err == nil) != w.key {
				t.Errorf("the key: %v, want it written: %v", err, w.key)
			}
			var customers []struct{ ID string }
			decodeFile(t, filepath.Join(base, "customers.json"), &customers)
			var left []string
			for _, c := range customers {
				left = append(left, c.ID)
			}
			if strings.Join(left, " ") != strings.Join(w.customers, " ") {
				t.Errorf("customers left: %q, want %q", left, w.customers)
			}
			if _, err := os.Stat(filepath.Join(base, "workspace", "notes", "T-101.md")); err != nil {
				t.Error(err)
			}
		})
	}
	if n := strings.Count(out, "[sallyport blocked]"); n != 3 {
		t.Errorf("the gateway is quoted %d times, want 3\n%s", n, out)
	}
	if got, err := exec.Command(binary(t, "sallyport"), "audit", "verify", filepath.Join(dir, "gateway", "audit.jsonl")).CombinedOutput(); err != nil {
		t.Errorf("audit verify: %v\n%s", err, got)
	}
}

func TestDemoFitsAPlainTerminalAndLeavesNothing(t *testing.T) {
	needWrap(t)
	tmp := realDir(t)
	out, code := runDemo(t, tmp) // no terminal: it must not wait
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for l := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, l)
		}
	}
	if strings.ContainsAny(out, "\x1b\x07\x08\r") {
		t.Error("control characters in the output")
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func decodeFile(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
