package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestServerName(t *testing.T) {
	for command, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-filesystem /home/me":       "server-filesystem",
		"npx -y @modelcontextprotocol/server-filesystem@1.2.3 /home/me": "server-filesystem",
		"node /opt/node_modules/@x/server-everything/dist/index.js":     "server-everything",
		"uvx mcp-server-git --repository x":                             "mcp-server-git",
		"uv run --directory=/x server-a.py":                             "server-a",
		"/usr/local/bin/github-mcp-server stdio":                        "github-mcp-server",
		`C:\tools\mail.exe`:                                             "mail",
		"python -m":                                                     "python",
		"node index.js":                                                 "node",
	} {
		if got := serverName(strings.Fields(command)); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

func TestB016ServerEnvironment(t *testing.T) {
	env := []string{"PATH=/x", "HOME=/h", "SALLYPORT_AUDIT_KEY=k", "HTTPS_PROXY=p", "LANG=C", "XSALLYPORT_=1"}
	want := []string{"PATH=/x", "HOME=/h", "HTTPS_PROXY=p", "LANG=C", "XSALLYPORT_=1"}
	if got := serverEnv(env); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
