package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fenced finds the blocks of a page that hold what a reader types.
var fenced = regexp.MustCompile("(?ms)^```(sh|console|)\n(.*?)^```$")

// inPage finds commands in running text.
var inPage = regexp.MustCompile("`(?:bin/)?(sallyport [a-z][^`]*)`")

// Every command that a page shows exists, with the flags that it is shown with.
func TestCommandsOfTheDocsExist(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../../README.md", "../../SECURITY.md", "../../CONTRIBUTING.md", "../../CHANGELOG.md")
	n := 0
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(data), "\\\n", " ")
		for _, block := range fenced.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(block[2]) {
				line = strings.TrimSpace(line)
				if block[1] != "sh" && !strings.HasPrefix(line, "$ ") {
					continue // what a command prints
				}
				line = strings.TrimPrefix(line, "$ ")
				if _, piped, ok := strings.Cut(line, "| "); ok && strings.Contains(piped, "sallyport ") {
					line = piped
				}
				line = strings.TrimPrefix(strings.TrimPrefix(line, "./"), "bin/")
				if strings.HasPrefix(line, "sallyport ") {
					n++
					checkCommand(t, page, line)
				}
			}
		}
		for _, found := range inPage.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			n++
			checkCommand(t, page, found[1])
		}
	}
	if n < 80 {
		t.Errorf("%d commands were found", n)
	}
}

func checkCommand(t *testing.T, page, line string) {
	t.Helper()
	words := strings.Fields(line)[1:]
	for i, w := range words {
		if w == "--" || strings.HasPrefix(w, "#") || strings.ContainsAny(w, "|<>&;") {
			words = words[:i]
			break
		}
	}
	if len(words) == 0 {
		return
	}
	// A page may name several at once: pins list|diff|accept.
	first := []string{words[0]}
	if len(words) > 1 {
		first = append(first, strings.Split(words[1], "|")[0])
	}
	cmd, rest, err := newRoot().Find(first)
	if err != nil || cmd.Parent() == nil || len(rest) > 0 && cmd.HasSubCommands() && regexp.MustCompile(`^[a-z]+$`).MatchString(rest[0]) {
		t.Errorf("%s: there is no command %q", page, line)
		return
	}
	for _, w := range words {
		name, _, _ := strings.Cut(strings.Trim(w, "[]().,…'\""), "=")
		switch {
		case strings.HasPrefix(name, "--") && len(name) > 2:
			if name != "--help" && cmd.Flags().Lookup(name[2:]) == nil && cmd.InheritedFlags().Lookup(name[2:]) == nil {
				t.Errorf("%s: %s has no flag %s: %q", page, cmd.CommandPath(), name, line)
			}
		case len(name) == 2 && name[0] == '-' && name[1] != '-':
			if name != "-h" && cmd.Flags().ShorthandLookup(name[1:]) == nil {
				t.Errorf("%s: %s has no flag %s: %q", page, cmd.CommandPath(), name, line)
			}
		}
	}
}
