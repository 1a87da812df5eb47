package clientconfig

import (
	"path/filepath"
	"slices"
)

// Client is a program that starts MCP servers.
type Client struct {
	ID   string // as --client takes it
	Name string
	// Desktop: it is started from a desktop, and does not see the PATH of a shell.
	Desktop bool
	// Note is what a user has to know of it beside what holds for all; "" for nothing.
	Note string

	// servers are the ways to its objects of servers; "*" stands for every key.
	servers [][]string
	// user and project are its files, the latter in a project's directory. A pattern may
	// have stars.
	user, project func(Places) []string
}

func under(dir string, names ...string) []string {
	if dir == "" {
		return nil
	}
	for i, n := range names {
		names[i] = filepath.Join(dir, filepath.FromSlash(n))
	}
	return names
}

func inHome(names ...string) func(Places) []string {
	return func(p Places) []string { return under(p.Home, slices.Clone(names)...) }
}

func inProject(names ...string) func(Places) []string {
	return func(p Places) []string { return under(p.Project, slices.Clone(names)...) }
}

var mcpServers = [][]string{{"mcpServers"}}

// editors are the editors built on VS Code, whose extensions keep their files alike.
var editors = []string{"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"}

// Clients are the clients that init knows, in the order in which it shows them.
//
// Where the facts are from (read in November 2026):
//   - Claude Code: https://code.claude.com/docs/en/mcp (.mcp.json of a project, and
//     ~/.claude.json with the user's servers and, under projects, those of each project)
//   - Claude Desktop: https://modelcontextprotocol.io/quickstart/user; as a package of
//     Windows it sees %LOCALAPPDATA%\Packages\Claude_*\LocalCache\Roaming instead of
//     %APPDATA%: https://exchangepedia.com/2026/04/claudetools-claude-desktop-powershell-module.html
//   - Cursor: https://cursor.com/docs/mcp
//   - VS Code and Copilot: https://code.visualstudio.com/docs/agents/reference/mcp-configuration
//   - Windsurf: https://docs.windsurf.com/windsurf/cascade/mcp
//   - Zed: https://zed.dev/docs/ai/mcp
//   - Cline: https://docs.cline.bot/getting-started/config and, for the keys,
//     https://github.com/cline/cline/blob/main/src/services/mcp/schemas.ts
//   - Codex: https://github.com/openai/codex/blob/main/codex-rs/config/src/mcp_types.rs (its
//     schema denies unknown keys)
//   - Gemini CLI: https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md
//   - opencode: https://opencode.ai/docs/mcp-servers/ and https://opencode.ai/docs/config/
//     (its schema denies unknown keys)
//   - Junie: https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html and
//     https://vaadin.com/docs/next/agentic-development/mcp/supported-tools/junie.md
//   - JetBrains Air: https://www.jetbrains.com/help/air/mcp-servers.html
var Clients = []*Client{
	{
		ID: "claude-code", Name: "Claude Code",
		servers: [][]string{{"mcpServers"}, {"projects", "*", "mcpServers"}},
		user: func(p Places) []string {
			if dir := p.env("CLAUDE_CONFIG_DIR"); dir != "" {
				return under(dir, ".claude.json")
			}
			return under(p.Home, ".claude.json")
		},
		project: inProject(".mcp.json"),
		Note:    "it writes ~/.claude.json anew while it runs: quit it before you answer",
	},
	{
		ID: "claude-desktop", Name: "Claude Desktop", Desktop: true, servers: mcpServers,
		user: func(p Places) []string {
			files := under(p.appData(), "Claude/claude_desktop_config.json")
			if p.GOOS == "windows" {
				files = append(files, under(p.LocalAppData, "Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json")...)
			}
			return files
		},
		Note: "it writes this file anew when its settings change: quit it before you answer",
	},
	{
		ID: "cursor", Name: "Cursor", Desktop: true, servers: mcpServers,
		user: inHome(".cursor/mcp.json"), project: inProject(".cursor/mcp.json"),
	},
	{
		ID: "vscode", Name: "VS Code", Desktop: true, servers: [][]string{{"servers"}},
		user: func(p Places) []string {
			var files []string
			for _, e := range editors[:3] {
				files = append(files, under(p.appData(), e+"/User/mcp.json", e+"/User/profiles/*/mcp.json")...)
			}
			return files
		},
		project: inProject(".vscode/mcp.json"),
	},
	{
		ID: "copilot", Name: "Copilot CLI", servers: mcpServers,
		user: func(p Places) []string {
			if dir := p.env("COPILOT_HOME"); dir != "" {
				return under(dir, "mcp-config.json")
			}
			return under(p.Home, ".copilot/mcp-config.json")
		},
	},
	{
		ID: "windsurf", Name: "Windsurf", Desktop: true, servers: mcpServers,
		user: inHome(".codeium/windsurf/mcp_config.json", ".codeium/windsurf-next/mcp_config.json"),
	},
	{
		ID: "zed", Name: "Zed", Desktop: true, servers: [][]string{{"context_servers"}},
		user: func(p Places) []string {
			switch p.GOOS {
			case "windows":
				return under(p.AppData, "Zed/settings.json")
			case "darwin":
				return under(p.Home, ".config/zed/settings.json")
			default:
				return under(p.appData(), "zed/settings.json")
			}
		},
		project: inProject(".zed/settings.json"),
	},
	{
		ID: "cline", Name: "Cline", Desktop: true, servers: mcpServers,
		user: func(p Places) []string {
			files := under(p.Home, ".cline/data/settings/cline_mcp_settings.json")
			for _, e := range editors {
				files = append(files, under(p.appData(), e+"/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json")...)
			}
			return files
		},
	},
	{
		ID: "codex", Name: "Codex", servers: [][]string{{"mcp_servers"}},
		user: func(p Places) []string {
			if dir := p.env("CODEX_HOME"); dir != "" {
				return under(dir, "config.toml")
			}
			return under(p.Home, ".codex/config.toml")
		},
		project: inProject(".codex/config.toml"),
	},
	{
		ID: "gemini", Name: "Gemini CLI", servers: mcpServers,
		user: inHome(".gemini/settings.json"), project: inProject(".gemini/settings.json"),
	},
	{
		ID: "opencode", Name: "opencode", servers: [][]string{{"mcp"}},
		user: func(p Places) []string {
			dir := under(p.Home, ".config")
			if xdg := p.env("XDG_CONFIG_HOME"); xdg != "" {
				dir = []string{xdg}
			}
			if len(dir) == 0 {
				return nil
			}
			files := under(dir[0], "opencode/opencode.json", "opencode/opencode.jsonc", "opencode/config.json")
			if own := p.env("OPENCODE_CONFIG"); own != "" && filepath.IsAbs(own) {
				files = append(files, own)
			}
			return files
		},
		project: inProject("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"),
	},
	{
		ID: "junie", Name: "JetBrains Junie", Desktop: true, servers: mcpServers,
		user: inHome(".junie/mcp/mcp.json"), project: inProject(".junie/mcp/mcp.json"),
	},
	{
		ID: "air", Name: "JetBrains Air", Desktop: true, servers: mcpServers,
		project: inProject(".air/mcp.json"),
	},
}

// anyClient is what a file of --config belongs to if no client is named: every form.
var anyClient = &Client{
	ID: "", Name: "a client", Desktop: true,
	servers: [][]string{{"mcpServers"}, {"servers"}, {"context_servers"}, {"mcp_servers"}, {"mcp"}, {"mcp", "servers"}, {"projects", "*", "mcpServers"}},
}

// ByID finds a client, nil for none.
func ByID(id string) *Client {
	for _, c := range Clients {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// IDs lists the names that --client takes.
func IDs() []string {
	var ids []string
	for _, c := range Clients {
		ids = append(ids, c.ID)
	}
	return ids
}
