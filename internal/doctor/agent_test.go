package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/clientconfig"
)

func TestAgents(t *testing.T) {
	for _, tt := range []struct {
		name, file, settings, client string
		leave                        Leave
		rule                         string
	}{
		{"nothing said", ".claude/settings.json", `{}`, "Claude Code", Asks, ""},
		{"other commands", ".claude/settings.json", `{"permissions": {"allow": ["Bash(npm run:*)", "Bash(sallyportx:*)", "Read"]}}`, "Claude Code", Asks, ""},
		{"every command", ".claude/settings.json", `{"permissions": {"allow": ["Bash"]}}`, "Claude Code", Allowed, "Bash"},
		{"a star", ".claude/settings.json", `{"permissions": {"allow": ["Bash(*)"]}}`, "Claude Code", Allowed, "Bash(*)"},
		{"by prefix", ".claude/settings.json", `{"permissions": {"allow": ["Bash(sallyport:*)"]}}`, "Claude Code", Allowed, "Bash(sallyport:*)"},
		{"by pattern", ".claude/settings.json", `{"permissions": {"allow": ["Bash(sallyport *)"]}}`, "Claude Code", Allowed, "Bash(sallyport *)"},
		{"one of them only", ".claude/settings.json", `{"permissions": {"allow": ["Bash(sallyport trust:*)"]}}`, "Claude Code", Allowed, "Bash(sallyport trust:*)"},
		{"all modes off", ".claude/settings.json", `{"permissions": {"defaultMode": "bypassPermissions"}}`, "Claude Code", Allowed, "defaultMode: bypassPermissions"},
		{"asked first", ".claude/settings.json", `{"permissions": {"allow": ["Bash"], "ask": ["Bash(sallyport:*)"]}}`, "Claude Code", Asks, ""},
		{"denied", ".claude/settings.json", `{"permissions": {"allow": ["Bash"], "deny": ["Bash(sallyport approve:*)", "Bash(sallyport trust:*)", "Bash(sallyport pins accept:*)"]}}`, "Claude Code", Denied, ""},
		{"two denied", ".claude/settings.json", `{"permissions": {"allow": ["Bash"], "deny": ["Bash(sallyport approve:*)", "Bash(sallyport trust:*)"]}}`, "Claude Code", Allowed, "Bash"},
		{"two denied, nothing allowed", ".claude/settings.json", `{"permissions": {"deny": ["Bash(sallyport approve:*)", "Bash(sallyport trust:*)"]}}`, "Claude Code", Asks, ""},

		{"cursor", ".cursor/cli-config.json", `{"permissions": {"allow": ["Shell(**)"], "deny": []}}`, "Cursor CLI", Allowed, "Shell(**)"},
		{"cursor, other", ".cursor/cli-config.json", `{"permissions": {"allow": ["Shell(ls)"], "deny": []}}`, "Cursor CLI", Asks, ""},
		{"cursor, denied", ".cursor/cli-config.json", `{"permissions": {"allow": ["Shell(**)"], "deny": ["Shell(sallyport)"]}}`, "Cursor CLI", Denied, ""},

		{"gemini", ".gemini/settings.json", `{"tools": {"allowed": ["run_shell_command"]}}`, "Gemini CLI", Allowed, "run_shell_command"},
		{"gemini, prefix", ".gemini/settings.json", `{"tools": {"allowed": ["ShellTool(sallyport)"]}}`, "Gemini CLI", Allowed, "ShellTool(sallyport)"},
		{"gemini, part of a word", ".gemini/settings.json", `{"tools": {"allowed": ["ShellTool(sally)"]}}`, "Gemini CLI", Asks, ""},
		{"gemini, excluded", ".gemini/settings.json", `{"tools": {"allowed": ["run_shell_command"], "exclude": ["run_shell_command(sallyport)"]}}`, "Gemini CLI", Denied, ""},

		{"opencode", ".config/opencode/opencode.json", "{// mine\n\"permission\": {\"bash\": {\"*\": \"allow\",}}}", "opencode", Allowed, "*: allow"},
		{"opencode, all", ".config/opencode/opencode.json", `{"permission": "allow"}`, "opencode", Allowed, "*: allow"},
		{"opencode, asks", ".config/opencode/opencode.json", `{"permission": {"bash": {"*": "allow", "sallyport *": "ask"}}}`, "opencode", Asks, ""},
		{"opencode, denied", ".config/opencode/opencode.json", `{"permission": {"*": "allow", "bash": {"*": "allow", "sallyport *": "deny"}}}`, "opencode", Denied, ""},
		{"opencode 2", ".config/opencode/opencode.json", `{"permissions": [{"action": "shell", "resource": "*", "effect": "allow"}]}`, "opencode", Allowed, "*: allow"},
		{"opencode 2, denied last", ".config/opencode/opencode.json", `{"permissions": [{"action": "*", "resource": "*", "effect": "allow"}, {"action": "shell", "resource": "sallyport *", "effect": "deny"}]}`, "opencode", Denied, ""},
		{"opencode 2, allowed last", ".config/opencode/opencode.json", `{"permissions": [{"action": "shell", "resource": "sallyport *", "effect": "deny"}, {"action": "*", "resource": "*", "effect": "allow"}]}`, "opencode", Allowed, "*: allow"},

		{"wrong types", ".claude/settings.json", `{"permissions": ["Bash"], "x": 1e400}`, "Claude Code", Asks, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, filepath.FromSlash(tt.file))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(tt.settings), 0o600); err != nil {
				t.Fatal(err)
			}
			got := Agents(clientconfig.Places{GOOS: "linux", Home: home})
			if len(got) != 1 || got[0].Err != nil {
				t.Fatalf("%+v", got)
			}
			if a := got[0]; a.Client != tt.client || a.Leave != tt.leave || a.Rule != tt.rule || a.Line == "" {
				t.Errorf("%+v, want %v by %q", a, tt.leave, tt.rule)
			}
		})
	}
}

// A project that says more than the user does counts too: the agent may have written it.
func TestAgentsReadsTheProjectToo(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	for dir, text := range map[string]string{home: `{}`, project: `{"permissions": {"allow": ["Bash(sallyport:*)"]}}`} {
		if err := os.Mkdir(filepath.Join(dir, ".claude"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".claude", "settings.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := Agents(clientconfig.Places{GOOS: "linux", Home: home, Project: project})
	if len(got) != 1 || got[0].Leave != Allowed {
		t.Errorf("%+v", got)
	}
}

func TestAgentsSaysWhatCannotBeRead(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".gemini"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".gemini", "settings.json"), []byte(`{"tools": `), 0o600); err != nil {
		t.Fatal(err)
	}
	got := Agents(clientconfig.Places{GOOS: "linux", Home: home})
	if len(got) != 1 || got[0].Err == nil {
		t.Errorf("%+v", got)
	}
}

func FuzzWild(f *testing.F) {
	for _, s := range [][2]string{{"*", ""}, {"a*b?c", "aXXbYc"}, {"**", "x"}, {"?", ""}, {"a*a*a", "aaaa"}, {"*x", "y"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > 200 || len(s) > 200 {
			return
		}
		if got, want := wild(pattern, s), slowWild(pattern, s); got != want {
			t.Errorf("wild(%q, %q) = %v", pattern, s, got)
		}
	})
}

// slowWild says the same by filling a table.
func slowWild(pattern, s string) bool {
	reach := make([]bool, len(s)+1)
	reach[0] = true
	for _, c := range []byte(pattern) {
		next := make([]bool, len(s)+1)
		for i := range reach {
			switch {
			case c == '*':
				next[i] = reach[i] || i > 0 && next[i-1]
			case i > 0 && (c == '?' || c == s[i-1]):
				next[i] = reach[i-1]
			}
		}
		reach = next
	}
	return reach[len(s)]
}

// A rule about the name alone does not hold for the path, and clients can be told to look elsewhere.
func TestAgentsKnowThePathAndOtherPlaces(t *testing.T) {
	const program = "/opt/bin/sallyport"
	for _, tt := range []struct {
		name, file, settings, variable string
		leave                          Leave
	}{
		{"by name only", ".claude/settings.json", `{"permissions": {"allow": ["Bash"], "deny": ["Bash(sallyport approve:*)", "Bash(sallyport trust:*)", "Bash(sallyport pins accept:*)"]}}`, "", Allowed},
		{"the path is allowed", ".claude/settings.json", `{"permissions": {"allow": ["Bash(/opt/bin/*)"]}}`, "", Allowed},
		{"nothing is allowed", ".claude/settings.json", `{"permissions": {"deny": ["Bash(sallyport:*)"]}}`, "", Denied},
		{"cursor", ".cursor/cli-config.json", `{"permissions": {"allow": ["Shell(**)"], "deny": ["Shell(sallyport)"]}}`, "", Allowed},
		{"gemini", ".gemini/settings.json", `{"tools": {"allowed": ["run_shell_command"], "exclude": ["run_shell_command(sallyport)"]}}`, "", Allowed},
		{"opencode", ".config/opencode/opencode.json", `{"permission": {"bash": {"*": "allow", "sallyport *": "deny"}}}`, "", Allowed},
		{"a directory of its own", "elsewhere/settings.json", `{"permissions": {"allow": ["Bash"]}}`, "CLAUDE_CONFIG_DIR=elsewhere", Allowed},
		{"a file of its own", "elsewhere/x.json", `{"permission": "allow"}`, "OPENCODE_CONFIG=elsewhere/x.json", Allowed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, filepath.FromSlash(tt.file))
			p := clientconfig.Places{GOOS: "linux", Home: home, Program: program}
			if name, at, ok := strings.Cut(tt.variable, "="); ok {
				p.Getenv = func(n string) string {
					if n == name {
						return filepath.Join(home, filepath.FromSlash(at))
					}
					return ""
				}
			}
			judge := func(settings string) Agent {
				t.Helper()
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(settings), 0o600)); err != nil {
					t.Fatal(err)
				}
				got := Agents(p)
				if len(got) != 1 || got[0].Err != nil {
					t.Fatalf("%+v", got)
				}
				return got[0]
			}
			a := judge(tt.settings)
			if a.Leave != tt.leave {
				t.Fatalf("%+v", a)
			}
			// What is to be added is what helps.
			line := "{" + strings.TrimSuffix(a.Line, ", as the last patterns") + "}"
			if a := judge(line); a.Leave != Denied {
				t.Errorf("%s: %+v", line, a)
			}
			everything := strings.NewReplacer(`{"deny"`, `{"allow": ["Bash", "Shell(**)"], "deny"`, `{"exclude"`, `{"allowed": ["run_shell_command"], "exclude"`, `{"bash": {`, `{"bash": {"*": "allow", `).Replace(line)
			if a := judge(everything); a.Leave != Denied {
				t.Errorf("%s: %+v", everything, a)
			}
		})
	}
}
