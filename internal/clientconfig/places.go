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
		add(c.project, true)
		add(c.user, false)
	}
	return all
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

// Foreign lists files that hold servers in a form that is not edited, if they are here.
func (p Places) Foreign() []Location {
	var found []Location
	for _, pattern := range under(p.appData(), "JetBrains/*/options/llm.mcpServers.xml") {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			found = append(found, Location{assistant, path, false})
		}
	}
	return found
}

// assistant keeps its servers in the IDE's own XML: its settings take pasted JSON,
// https://www.jetbrains.com/help/ai-assistant/mcp.html.
var assistant = &Client{ID: "jetbrains", Name: "JetBrains AI Assistant", Desktop: true}
