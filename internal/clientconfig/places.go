package clientconfig

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Places are the directories in which clients keep their files.
type Places struct {
	GOOS         string
	Home         string
	Project      string // where files of a project are looked for; "" for nowhere
	AppData      string // Windows only
	LocalAppData string // Windows only
	Getenv       func(string) string
	Program      string // the path of this program, to know its own entries by
}

// Here are the places of this user, and of the project in the working directory.
// Directories that cannot be told are "", and nothing is looked for there.
func Here(program string) Places {
	p := Places{
		GOOS: runtime.GOOS, Getenv: os.Getenv, Program: program,
		AppData: os.Getenv("APPDATA"), LocalAppData: os.Getenv("LOCALAPPDATA"),
	}
	p.Home, _ = os.UserHomeDir()
	p.Project, _ = os.Getwd()
	return p
}

func (p Places) env(name string) string {
	if p.Getenv == nil {
		return ""
	}
	return p.Getenv(name)
}

func (p Places) appData() string {
	switch p.GOOS {
	case "windows":
		return p.AppData
	case "darwin":
		if p.Home == "" {
			return ""
		}
		return filepath.Join(p.Home, "Library", "Application Support")
	}
	if dir := p.env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if p.Home == "" {
		return ""
	}
	return filepath.Join(p.Home, ".config")
}

// Location is a place where a client looks.
type Location struct {
	Client  *Client
	Path    string
	Project bool // in a project, whose files are often shared with other people
}

// Locations are all files that would be looked at, whether they are there or not, those
// with a star in them only if they are.
func (p Places) Locations() []Location {
	var all []Location
	seen := map[string]bool{}
	for _, c := range Clients {
		add := func(of func(Places) []string, project bool) {
			if of == nil {
				return
			}
			for _, path := range of(p) {
				paths := []string{path}
				if strings.Contains(path, "*") {
					paths, _ = filepath.Glob(path) // a wrong pattern has no files
					slices.Sort(paths)
				}
				for _, path := range paths {
					if !seen[path] {
						seen[path] = true
						all = append(all, Location{c, path, project})
					}
				}
			}
		}
		add(c.user, false) // first: in the home directory, a project's file may be the user's
		add(c.project, true)
	}
	return all
}

// ProjectNames are the files of all clients in a project's directory, with slashes between
// their parts.
func ProjectNames() []string {
	root := string(filepath.Separator)
	var names []string
	for _, c := range Clients {
		if c.project == nil {
			continue
		}
		for _, path := range c.project(Places{Project: root}) {
			names = append(names, filepath.ToSlash(strings.TrimPrefix(path, root)))
		}
	}
	return names
}

// Known finds the place that a path is.
func (p Places) Known(path string) (Location, bool) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Location{}, false
	}
	for _, l := range p.Locations() {
		if l.Path == abs {
			return l, true
		}
	}
	return Location{}, false
}

// Find reads every file that is there. A file that cannot be read or understood is in the
// result too, with its Err.
func (p Places) Find() []*File {
	var files []*File
	for _, l := range p.Locations() {
		if _, err := os.Lstat(l.Path); err != nil && os.IsNotExist(err) {
			continue
		}
		files = append(files, p.Read(l))
	}
	return files
}

// Foreign is a place of servers that is not edited.
type Foreign struct {
	Name string // of the client
	Path string
	Why  string // what it is, and what to do instead
}

// foreign: where each is from, and why it is left.
//   - JetBrains AI Assistant keeps its servers in the IDE's own XML; its settings take
//     pasted JSON: https://www.jetbrains.com/help/ai-assistant/mcp.html
//   - Claude Desktop and Gemini CLI install extensions, with servers of their own, which an
//     update writes anew: https://modelcontextprotocol.io/quickstart/user and
//     https://github.com/google-gemini/gemini-cli/blob/main/docs/extensions/index.md
func (p Places) foreign() []Foreign {
	const extension = "an extension starts its own servers and is not edited: an update would write it anew. Sallyport is not in front of them"
	var all []Foreign
	for _, pattern := range under(p.appData(), "JetBrains/*/options/llm.mcpServers.xml") {
		all = append(all, Foreign{"JetBrains AI Assistant", pattern, "the IDE's own file is not edited: in Settings | Tools | AI Assistant | MCP make each server's command this program, and put wrap -- and the server's own command in front of its arguments"})
	}
	for _, pattern := range under(p.appData(), "Claude/Claude Extensions/*/manifest.json") {
		all = append(all, Foreign{"Claude Desktop", pattern, extension})
	}
	for _, pattern := range under(p.Home, ".gemini/extensions/*/gemini-extension.json") {
		all = append(all, Foreign{"Gemini CLI", pattern, extension})
	}
	return all
}

// Foreign lists the places of servers that are here and not edited.
func (p Places) Foreign() []Foreign {
	var found []Foreign
	for _, f := range p.foreign() {
		paths, _ := filepath.Glob(f.Path)
		for _, path := range paths {
			found = append(found, Foreign{f.Name, path, f.Why})
		}
	}
	return found
}
