package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/clientconfig"
)

// Leave is what a client's own settings let its agent run without a question.
type Leave uint8

// What the settings say of a command.
const (
	Asks    Leave = iota // nothing, or that the user is asked
	Denied               // it is refused
	Allowed              // it runs
)

// Agent is what one client says of the commands with which a person answers.
type Agent struct {
	Client string // its name
	File   string // where it would be said
	Line   string // the line to add that refuses them
	Leave  Leave
	Rule   string // the rule that allows it; hostile text
	Err    error  // a file that is there and cannot be read
}

// answering are the commands that are a person's. An agent's shell has no terminal of the
// person's, so that they refuse there; that the agent may try is a second line of defence.
var answering = []string{"sallyport approve K7Q-F2M", "sallyport trust x@y.example", "sallyport pins accept"}

// Agents reads the settings of the clients that have a shell and say in a file what it
// may run. Clients of which nothing is there are left out.
//
// Where the facts are from (read in November 2026): https://code.claude.com/docs/en/permissions,
// https://opencode.ai/docs/permissions and, for version 1, https://opencode.ai/v1/docs/permissions,
// https://geminicli.com/docs/cli/configuration, https://cursor.com/docs/cli/reference/permissions.
func Agents(p clientconfig.Places) []Agent {
	var all []Agent
	add := func(client, line string, read func(settings []map[string]any, program string) (Leave, string), files ...string) {
		a := Agent{Client: client, Line: line, File: files[0]}
		var found []map[string]any
		for _, f := range files {
			if !filepath.IsAbs(f) {
				continue
			}
			s, err := clientconfig.Settings(f)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				all = append(all, Agent{Client: client, File: f, Line: line, Err: err})
				continue
			}
			found = append(found, s)
		}
		if len(found) == 0 {
			return
		}
		a.Leave, a.Rule = read(found, p.Program)
		all = append(all, a)
	}
	in := func(dir, file string) string {
		if dir == "" {
			return ""
		}
		return filepath.Join(dir, filepath.FromSlash(file))
	}
	claude := in(p.Home, ".claude")
	if dir := env(p, "CLAUDE_CONFIG_DIR"); filepath.IsAbs(dir) {
		claude = dir
	}
	also := func(form string) string { // where a rule is about a command's first word
		if p.Program == "" {
			return ""
		}
		text, err := json.Marshal(fmt.Sprintf(form, p.Program))
		if err != nil {
			return ""
		}
		return ", " + string(text)
	}
	add("Claude Code", `"permissions": {"deny": ["Bash(*sallyport approve*)", "Bash(*sallyport trust*)", "Bash(*sallyport pins accept*)"]}`, claudeCode,
		in(claude, "settings.json"), in(p.Project, ".claude/settings.json"), in(p.Project, ".claude/settings.local.json"))
	add("Cursor CLI", `"permissions": {"deny": ["Shell(sallyport)"`+also("Shell(%s)")+`]}`, cursorCLI,
		in(p.Home, ".cursor/cli-config.json"), in(p.Project, ".cursor/cli.json"))
	add("Gemini CLI", `"tools": {"exclude": ["run_shell_command(sallyport)"`+also("run_shell_command(%s)")+`]}`, geminiCLI,
		in(p.Home, ".gemini/settings.json"), in(p.Project, ".gemini/settings.json"))
	add("opencode", `"permission": {"bash": {"*sallyport approve*": "deny", "*sallyport trust*": "deny", "*sallyport pins accept*": "deny"}}, as the last patterns`, opencode,
		in(p.Home, ".config/opencode/opencode.json"), in(p.Home, ".config/opencode/opencode.jsonc"), env(p, "OPENCODE_CONFIG"), in(p.Project, "opencode.json"), in(p.Project, "opencode.jsonc"))
	return all
}

func env(p clientconfig.Places, name string) string {
	if p.Getenv == nil {
		return ""
	}
	return p.Getenv(name)
}

// over judges each answering command, by the program's name and by its path. One that may run is
// enough; all have to be refused, by the name that people use.
func over(program string, judge func(command string) (Leave, string)) (Leave, string) {
	denied := 0
	for _, c := range answering {
		if program != "" {
			if leave, rule := judge(program + strings.TrimPrefix(c, "sallyport")); leave == Allowed {
				return Allowed, rule
			}
		}
		switch leave, rule := judge(c); leave {
		case Allowed:
			return Allowed, rule
		case Denied:
			denied++
		}
	}
	if denied == len(answering) {
		return Denied, ""
	}
	return Asks, ""
}

// claudeCode: rules of all files hold together, deny before ask before allow.
func claudeCode(files []map[string]any, program string) (Leave, string) {
	deny, ask, allow := rules(files, "permissions", "deny"), rules(files, "permissions", "ask"), rules(files, "permissions", "allow")
	bypass := ""
	for _, f := range files {
		if m, _ := object(f, "permissions")["defaultMode"].(string); m == "bypassPermissions" {
			bypass = "defaultMode: " + m
		}
	}
	return over(program, func(command string) (Leave, string) {
		match := func(rules []string) string { return firstMatch(rules, "Bash", command) }
		switch {
		case match(deny) != "":
			return Denied, ""
		case match(ask) != "":
			return Asks, ""
		case match(allow) != "":
			return Allowed, match(allow)
		case bypass != "":
			return Allowed, bypass
		}
		return Asks, ""
	})
}

func cursorCLI(files []map[string]any, program string) (Leave, string) {
	deny, allow := rules(files, "permissions", "deny"), rules(files, "permissions", "allow")
	return over(program, func(command string) (Leave, string) {
		// Shell(NAME) is about a command's first word.
		first, _, _ := strings.Cut(command, " ")
		for _, r := range deny {
			if inner, ok := within(r, "Shell"); ok && wild(inner, first) {
				return Denied, ""
			}
		}
		for _, r := range allow {
			if inner, ok := within(r, "Shell"); ok && wild(inner, first) {
				return Allowed, r
			}
		}
		return Asks, ""
	})
}

// geminiCLI: a rule names the tool, or the tool with the beginning of a command.
func geminiCLI(files []map[string]any, program string) (Leave, string) {
	exclude, allow := rules(files, "tools", "exclude"), rules(files, "tools", "allowed")
	match := func(rules []string, command string) string {
		for _, r := range rules {
			for _, tool := range []string{"run_shell_command", "ShellTool"} {
				if r == tool {
					return r
				}
				if inner, ok := within(r, tool); ok && strings.HasPrefix(command+" ", inner+" ") {
					return r
				}
			}
		}
		return ""
	}
	return over(program, func(command string) (Leave, string) {
		if match(exclude, command) != "" {
			return Denied, ""
		}
		if r := match(allow, command); r != "" {
			return Allowed, r
		}
		return Asks, ""
	})
}

// opencode: the last pattern that matches wins. In version 1 the members of an object are
// patterns, whose order a map has lost: a pattern that is longer counts as later, which is
// how they are meant to be written. Version 2 has a list.
func opencode(files []map[string]any, program string) (Leave, string) {
	return over(program, func(command string) (Leave, string) {
		leave, rule, length := Asks, "", -1
		take := func(effect, pattern string, n int) {
			if n < length {
				return
			}
			length, rule = n, pattern+": "+effect
			switch effect {
			case "allow":
				leave = Allowed
			case "deny":
				leave = Denied
			default:
				leave = Asks
			}
		}
		for _, f := range files {
			switch perm := f["permission"].(type) {
			case string:
				take(perm, "*", 0)
			case map[string]any:
				if e, ok := perm["*"].(string); ok {
					take(e, "*", 0)
				}
				switch bash := perm["bash"].(type) {
				case string:
					take(bash, "bash", 0)
				case map[string]any:
					for pattern, e := range bash {
						if e, ok := e.(string); ok && wild(pattern, command) {
							take(e, pattern, len(pattern))
						}
					}
				}
			}
			list, _ := f["permissions"].([]any)
			for _, r := range list {
				r, _ := r.(map[string]any)
				action, _ := r["action"].(string)
				resource, _ := r["resource"].(string)
				effect, _ := r["effect"].(string)
				if wild(action, "shell") && wild(resource, command) {
					take(effect, resource, max(length, 0))
				}
			}
		}
		if leave != Allowed {
			rule = ""
		}
		return leave, rule
	})
}

func object(m map[string]any, key string) map[string]any {
	o, _ := m[key].(map[string]any)
	return o
}

// rules gathers a list of texts from all files.
func rules(files []map[string]any, section, list string) []string {
	var all []string
	for _, f := range files {
		l, _ := object(f, section)[list].([]any)
		for _, r := range l {
			if s, ok := r.(string); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// within gives what stands in the parentheses of TOOL(…).
func within(rule, tool string) (string, bool) {
	inner, ok := strings.CutPrefix(rule, tool+"(")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(inner, ")")
}

// firstMatch finds a rule TOOL, TOOL(pattern) or TOOL(prefix:*) that covers a command.
func firstMatch(rules []string, tool, command string) string {
	for _, r := range rules {
		if r == tool {
			return r
		}
		inner, ok := within(r, tool)
		if !ok {
			continue
		}
		if prefix, ok := strings.CutSuffix(inner, ":*"); ok {
			if strings.HasPrefix(command+" ", prefix+" ") {
				return r
			}
			continue
		}
		// A blank and a star at the end also match the command without anything behind it.
		if wild(inner, command) || strings.HasSuffix(inner, " *") && wild(strings.TrimSuffix(inner, " *"), command) {
			return r
		}
	}
	return ""
}

// wild matches a pattern in which a star is any text and a question mark one character.
func wild(pattern, s string) bool {
	star, mark := -1, 0
	p, i := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark, p = p, i, p+1
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p, i = p+1, i+1
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
