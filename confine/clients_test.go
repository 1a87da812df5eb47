package confine

import (
	"errors"
	"strings"
	"testing"
)

func guarded(t *testing.T, style Style, prefixes []string, c Clients) *Root {
	t.Helper()
	r, err := root(t, style, prefixes, prefixes[0]).WithClients(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A client's configuration is inside no prefix: neither in the prefix nor in a project
// below it, neither the file nor the directory that another one could be moved to.
func TestClientFiles(t *testing.T) {
	names := []string{".mcp.json", ".cursor/mcp.json", ".junie/mcp/mcp.json", "opencode.json"}
	posix := guarded(t, POSIX, []string{"/p", "/q"}, Clients{Names: names, Files: []string{"/q/home/.claude.json"}})
	fs := links(map[string]string{
		"/p/link": "/p/.cursor", "/q/.cursor": "/q/dot/cursor", "/q/.mcp.json": "/q/real.json", "/q/sub/.mcp.json": "/elsewhere/x",
	})
	for _, path := range []string{
		"/p/.mcp.json", ".mcp.json", "/p/./x/../.mcp.json", "/p/a/b/.mcp.json", "/p/a/.cursor/mcp.json", "/p/.MCP.json",
		"/p/.cursor", "/p/a/.cursor", "/p/.junie", "/p/.junie/mcp", "/p/a/.junie/mcp/mcp.json", "/p/a/opencode.json",
		"/p/link/mcp.json", "/p/.mcp.json/x",
		"/q/dot/cursor/mcp.json", "/q/dot/cursor", "/q/dot", "/q/real.json", "/q/.mcp.json",
		"/q/home/.claude.json", "/q/home",
	} {
		got, err := posix.Check(path, fs)
		if !errors.Is(err, errClient) {
			t.Errorf("%s: %q, %v", path, got, err)
		} else if !strings.Contains(err.Error(), "a client's configuration") || strings.Contains(err.Error(), "own") {
			t.Errorf("%s is said to be: %v", path, err)
		}
	}
	for _, path := range []string{
		"/p", "/p/mcp.json", "/p/cursor/mcp.json", "/p/.cursor/rules", "/p/.cursor/x/mcp.json", "/p/x.mcp.json", "/p/mcp/mcp.json",
		"/p/.junie/mcp.json", "/p/opencode.json5", "/q/dot2", "/q/home2/.claude.json",
	} {
		if _, err := posix.Check(path, fs); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	windows := guarded(t, Windows, []string{`C:\p`}, Clients{Names: names})
	for _, path := range []string{`C:\p\.Cursor\MCP.json`, `c:/P/sub/.MCP.JSON`, `C:\p\OpenCode.json`} {
		if got, err := windows.Check(path, nil); !errors.Is(err, errClient) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if got, err := posix.Check("/elsewhere/.mcp.json", nil); !errors.Is(err, ErrOutside) {
		t.Errorf("outside: %q, %v", got, err)
	}
}

func TestClientFilesThatCannotBeResolved(t *testing.T) {
	r := guarded(t, POSIX, []string{"/p"}, Clients{Names: []string{".mcp.json"}})
	blind := func(path string) (string, error) {
		if path == "/p/.mcp.json" {
			return "", errors.New("denied")
		}
		return path, nil
	}
	if _, err := r.Check("/p/x", blind); err == nil {
		t.Error("allowed although it could not be told what the client's file is")
	}
	for name, c := range map[string]Clients{
		"relative": {Files: []string{"x"}}, "no name": {Names: []string{""}}, "up": {Names: []string{"../x"}}, "rooted": {Names: []string{"/x"}},
	} {
		if _, err := r.WithClients(c); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
