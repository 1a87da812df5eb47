package clientconfig

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Every client has its places on every system, below the user's own directories or the
// project's, and no place stands twice.
func TestPlacesOfEverySystem(t *testing.T) {
	env := map[string]string{}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		p := Places{GOOS: goos, Home: "/h", Project: "/p", AppData: "/a", LocalAppData: "/l", Getenv: func(k string) string { return env[k] }}
		clients, seen := map[string]bool{}, map[string]bool{}
		for _, l := range p.Locations() {
			clients[l.Client.ID] = true
			slash := filepath.ToSlash(l.Path)
			if seen[l.Path] || l.Project != strings.HasPrefix(slash, "/p/") || !strings.HasPrefix(slash, "/h/") && !l.Project && goos != "windows" {
				t.Errorf("%s: %s %s", goos, l.Client.ID, l.Path)
			}
			seen[l.Path] = true
		}
		for _, id := range IDs() {
			if !clients[id] {
				t.Errorf("%s: %s has no place", goos, id)
			}
		}
	}
	for want, of := range map[string]Places{
		"/h/Library/Application Support/Claude/claude_desktop_config.json": {GOOS: "darwin", Home: "/h"},
		"/a/Claude/claude_desktop_config.json":                             {GOOS: "windows", AppData: "/a"},
		"/h/.config/Claude/claude_desktop_config.json":                     {GOOS: "linux", Home: "/h"},
		"/x/Claude/claude_desktop_config.json":                             {GOOS: "linux", Home: "/h", Getenv: func(k string) string { return map[string]string{"XDG_CONFIG_HOME": "/x"}[k] }},
		"/c/config.toml":                                                   {GOOS: "linux", Home: "/h", Getenv: func(k string) string { return map[string]string{"CODEX_HOME": "/c"}[k] }},
		"/h/.config/zed/settings.json":                                     {GOOS: "darwin", Home: "/h"},
		"/a/Zed/settings.json":                                             {GOOS: "windows", AppData: "/a"},
		"/p/.vscode/mcp.json":                                              {Project: "/p"},
		"/h/.config/opencode/config.json":                                  {GOOS: "linux", Home: "/h"},
	} {
		found := false
		for _, l := range of.Locations() {
			found = found || filepath.ToSlash(l.Path) == want
		}
		if !found {
			t.Errorf("%s is not looked at by %+v", want, of.GOOS)
		}
	}
	if l := (Places{}).Locations(); len(l) > 0 && runtime.GOOS != "windows" {
		t.Errorf("without a directory: %v", l)
	}
}
