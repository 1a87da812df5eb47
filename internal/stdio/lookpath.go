package stdio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// lookPath finds the program of c. A name with a separator is taken as it is, relative to
// Dir; any other is looked up in Env's PATH. Entries of PATH that are not absolute are
// passed over, because what stands in the working directory may be the agent's.
func lookPath(c Command) (string, error) {
	name, env := c.Path, c.Env
	if name == "" {
		return "", errors.New("cannot start a command without a name")
	}
	if strings.ContainsAny(name, separators) {
		file := name
		if !filepath.IsAbs(file) {
			file = filepath.Join(c.Dir, file)
		}
		if _, err := os.Stat(file); err != nil && len(extensions(name, env)) == 1 {
			return "", fmt.Errorf("cannot find the command %s: %w", shown(name), cause(err))
		}
		return name, nil
	}
	path, set := getenv(env, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, ext := range extensions(name, env) {
			file := filepath.Join(dir, name+ext)
			if info, err := os.Stat(file); err == nil && runnable(info) {
				return file, nil
			}
		}
	}
	if !set {
		return "", fmt.Errorf("cannot find the command %s: its environment has no PATH", shown(name))
	}
	return "", fmt.Errorf("cannot find the command %s in PATH %s", shown(name), shown(path))
}

// getenv returns a variable of env; the last one counts, as for the child.
func getenv(env []string, name string) (value string, ok bool) {
	for _, entry := range env {
		key, v, found := strings.Cut(entry, "=")
		if found && sameVariable(key, name) {
			value, ok = v, true
		}
	}
	return value, ok
}
