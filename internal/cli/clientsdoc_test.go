package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/clientconfig"
)

// The page names every client and its files, and its difference is the one that init shows.
func TestClientsDoc(t *testing.T) {
	data, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	dirs := clientconfig.Places{GOOS: "linux", Home: "/~", Project: "/p"}
	for _, l := range dirs.Locations() {
		if !strings.Contains(page, "\n| `"+l.Client.ID+"` | "+l.Client.Name) {
			t.Errorf("the table has no row for %s", l.Client.ID)
		}
		if !strings.Contains(page, filepath.Base(l.Path)) {
			t.Errorf("%s is not named", l.Path)
		}
	}
	if rows := strings.Count(page, "\n| `") - 1; rows != len(clientconfig.IDs()) {
		t.Errorf("%d rows, %d clients", rows, len(clientconfig.IDs()))
	}

	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, []byte(`{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/shop"],
      "env": {"TOKEN": "x"}
    },
    "forge": {"url": "https://forge.example/mcp"}
  }
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	f := clientconfig.Places{}.Read(clientconfig.Location{Path: file})
	c, err := f.Wrap("/usr/local/bin/sallyport", func(*clientconfig.Entry) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	_, hunk, _ := strings.Cut(c.Diff(), "@@")
	hunk = "@@" + strings.TrimSuffix(hunk, "   }\n }\n")
	if !strings.Contains(page, hunk) {
		t.Errorf("the page shows another difference than:\n%s", hunk)
	}
}
