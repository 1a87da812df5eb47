package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A mistyped path must not damage a file that is no log.
func TestOtherFilesAreNotAppendedTo(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"script": "console.log(1)\n", "json": "{\"a\":1}\n", "no line end": "x", "lines": "a\nb\nc\n", "blank": "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if l, err := Open(path, Options{}); err == nil {
			l.Close()
			t.Errorf("%s was opened as a log", name)
		} else if !strings.Contains(err.Error(), "not an audit log") {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != text {
			t.Errorf("%s was changed to %q, %v", name, after, err)
		}
	}
	// A first record that a crash tore is one all the same.
	for _, text := range []string{`{`, `{"seq":1,"time":"2026-0`} {
		path := filepath.Join(dir, "torn")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Open(path, Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		l.Close()
	}
}
