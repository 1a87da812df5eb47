package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The Inspector reads a client's configuration before init, after it and after undo: the
// real filesystem server answers each time, is guarded in between, and the file is what it
// was.
func TestInitWithTheInspector(t *testing.T) {
	needWrap(t)
	p := newProject(t)
	config := filepath.Join(p.root, "mcp.json")
	entry, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"files": map[string]any{
		"command": node(t), "args": []string{npm(t, "@modelcontextprotocol/server-filesystem/dist/index.js"), p.dir}, "env": map[string]string{},
	}}}, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	write(t, config, string(entry))
	env := append(environment(p.root), "HOME="+p.root)
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(binary(t, "sallyport"), append(args, "--config", config)...)
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	file := []string{"--config", config, "--server", "files"}
	list := func() {
		t.Helper()
		if got := inspector(t, env, file, "--method", "tools/list"); !strings.Contains(got, `"write_file"`) {
			t.Errorf("the list is %.500s", got)
		}
	}
	list()
	run("init", "--yes", "--program", binary(t, "sallyport"))
	list()
	outside := filepath.Join(p.outside, "x")
	got := inspector(t, env, file, "--method", "tools/call", "--tool-name", "write_file", "--tool-arg", "path="+outside, "content=x")
	if !strings.Contains(got, "[sallyport blocked]") {
		t.Errorf("a write outside: %s", got)
	}
	// The agent cannot take it away through the tool that is wrapped.
	own := filepath.Join(p.dir, ".mcp.json")
	got = inspector(t, env, file, "--method", "tools/call", "--tool-name", "write_file", "--tool-arg", "path="+own, "content={}")
	if _, err := os.Stat(own); !strings.Contains(got, "[sallyport blocked]") || err == nil {
		t.Errorf("a write to the client's configuration: %s", got)
	}
	run("init", "--undo", "--yes")
	list()
	if after, err := os.ReadFile(config); err != nil || string(after) != string(entry) {
		t.Errorf("undo left %v\n%s", err, after)
	}
	p.assertOutsideEmpty(t)
}
