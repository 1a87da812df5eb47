package clientconfig

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const program = "/opt/sallyport/bin/sallyport"

func all(*Entry) bool { return true }

// put writes a file into a directory of its own and reads it.
func put(t *testing.T, name, text string) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return again(t, path)
}

func again(t *testing.T, path string) *File {
	t.Helper()
	return Places{Program: program}.Read(Location{Path: path})
}

func contents(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// wrapWrite wraps every entry and writes the file.
func wrapWrite(t *testing.T, f *File) *Change {
	t.Helper()
	c, err := f.Wrap(program, all)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
	return c
}

func unwrapWrite(t *testing.T, path string) {
	t.Helper()
	c, err := again(t, path).Unwrap(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
}

func TestThereAndBack(t *testing.T) {
	for name, src := range map[string]string{
		"list":         `{"mcpServers":{"a":{"command":"npx","args":["-y","x"],"env":{"K":"v"}}}}`,
		"empty list":   `{"mcpServers":{"a":{"command":"npx","args":[ /* none */ ]}}}`,
		"no list":      `{"mcpServers":{"a":{"command":"np\u0078"}}}`,
		"no list last": "{\"mcpServers\":{\"a\":{\r\n\t\"env\":{},\r\n\t\"command\":\"npx\"\r\n}}}\r\n",
		"one list":     `{"mcp":{"a":{"type":"local","command":["npx","-y","x"]}}}`,
		"path object":  `{"context_servers":{"a":{"command":{"path":"npx","args":["x"]}}}}`,
		"trailing":     "{\n \"servers\": {\n  \"a\": {\n   \"command\": \"npx\", // run\n   \"args\": [\n    \"-y\", // yes\n   ],\n  },\n },\n}",
	} {
		t.Run(name, func(t *testing.T) {
			f := put(t, "mcp.json", src)
			c := wrapWrite(t, f)
			if len(c.Entries) != 1 {
				t.Fatalf("%d entries change: %+v", len(c.Entries), f.Entries)
			}
			w := again(t, f.Path)
			if e := w.Entries[0]; e.State != Wrapped || !e.ByInit || e.Wrapper != program || e.Command[0] != "npx" {
				t.Errorf("wrapped: %+v", e)
			}
			if c, err := w.Wrap(program, all); err != nil || !c.Empty() {
				t.Errorf("a second time something changes: %v", err)
			}
			unwrapWrite(t, f.Path)
			if got := contents(t, f.Path); got != src {
				t.Errorf("not restored:\n%s\nwas:\n%s", got, src)
			}
			if _, err := os.Lstat(f.BackupPath()); !os.IsNotExist(err) {
				t.Errorf("the backup stays: %v", err)
			}
		})
	}
}

// A server that is wrapped already does not keep another of its name from being wrapped.
func TestSameNameTwice(t *testing.T) {
	src := `{"mcp":{"a":{"command":"` + program + `","args":["wrap","--entry","command","--","x"]}},"mcpServers":{"a":{"command":"y","args":[
"z"]}}}`
	f := put(t, "mcp.json", src)
	c := wrapWrite(t, f)
	if len(c.Entries) != 1 || c.Entries[0].Command[0] != "y" {
		t.Errorf("%+v", c.Entries)
	}
}

// The settings of a client that stand beside its servers are no servers.
func TestOtherSettingsAreNoServers(t *testing.T) {
	f := put(t, "settings.json", `{"mcp":{"allowed":["a"],"servers":{"s":{"command":"x"}}},"mcpServers":{"a":{"command":"y"}}}`)
	if len(f.Entries) != 2 || f.Entries[0].Server != "s" || f.Entries[1].Server != "a" {
		t.Errorf("%+v", f.Entries)
	}
}

// A program of Sallyport's name in a directory that may be anybody's is wrapped as any
// other; one at another absolute path is left and named.
func TestOnlyLooksLikeSallyport(t *testing.T) {
	for command, want := range map[string]State{
		"./sallyport": Plain, "bin/sallyport": Plain, `bin\sallyport.exe`: Plain, "../sallyport": Plain, "sallyport-x": Plain,
		"/tmp/evil/sallyport": Wrapped, `C:\evil\Sallyport.exe`: Wrapped, "sallyport": Wrapped, program: Wrapped,
	} {
		src, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"a": map[string]any{"command": command, "args": []string{"wrap", "--entry", "args", "--", "x"}}}})
		if err != nil {
			t.Fatal(err)
		}
		e := put(t, "mcp.json", string(src)).Entries[0]
		if e.State != want {
			t.Errorf("%s: %s", command, e.State)
		}
		if named := strings.Contains(e.Reason, "not this program's path"); named != (want == Wrapped && command != program) {
			t.Errorf("%s: %s", command, e.Reason)
		}
	}
}
