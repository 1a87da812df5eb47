package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/clientconfig"
	"github.com/sallyport-dev/sallyport/internal/doctor"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// ownProgram is the path that clients are to start, and what is to be said of it. named is
// the one that the user gave, "" for this program's own. undo writes no path.
func ownProgram(named string, undo bool) (path string, warnings []string, err error) {
	if path = named; path == "" {
		if path, err = runningProgram(); err != nil {
			return "", nil, err
		}
	} else if path, err = filepath.Abs(named); err != nil {
		return "", nil, err
	}
	if undo {
		return path, nil, nil
	}
	shown := quote.Value(path, 400)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("the program %s cannot be found", shown)
	case !info.Mode().IsRegular():
		return "", nil, fmt.Errorf("%s is no program", shown)
	case !clientconfig.IsSallyport(path, ""):
		return "", nil, fmt.Errorf("%s is not called sallyport: init knows its own entries by that name", shown)
	case strings.ContainsAny(path, "$%{}`") || quote.Text(path, 0) != path:
		return "", nil, fmt.Errorf("a client may read something else than the path %s, because of its characters: put the program elsewhere, or name it with --program", shown)
	}
	if where := passing(path); where != "" && named == "" {
		return "", nil, fmt.Errorf("this program is %s, %s: clients would not find it later. Move it to a directory that stays, ~/.local/bin for example, and run init from there, or name one with --program", shown, where)
	} else if where != "" {
		warnings = append(warnings, fmt.Sprintf("%s is %s: once it is gone, these servers do not start", shown, where))
	}
	if runtime.GOOS == "windows" && strings.ContainsRune(path, ' ') {
		warnings = append(warnings, fmt.Sprintf("%s has a blank in it: a client that starts servers through cmd.exe may take it for two words", shown))
	}
	if dir, err := os.Getwd(); err == nil && within(dir, path) {
		warnings = append(warnings, fmt.Sprintf("%s lies in the working directory: an agent that may write here could replace it", shown))
	}
	return path, warnings, nil
}

// runningProgram is the path by which this program was started, if it leads to it: a link
// in a directory of programs goes on when a new version takes the place of this one.
func runningProgram() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", errors.New("the path of this program cannot be told: name it with --program")
	}
	for _, typed := range typedPaths(os.Args[0]) {
		if sameFile(typed, path) {
			return typed, nil
		}
	}
	return path, nil
}

// typedName is how a person calls this program in a terminal: by its name where PATH leads
// to this very file, else by its path. A program of another name, such as a test, is sallyport.
func typedName() string {
	const name = "sallyport"
	running, err := runningProgram()
	if err != nil || !clientconfig.IsSallyport(running, "") {
		return name
	}
	if found, err := doctor.Find(name); err == nil && sameFile(found, running) {
		return name
	}
	return shellWord(running)
}

// typedPaths are where a program that was started as name may be.
func typedPaths(name string) []string {
	if strings.ContainsRune(name, filepath.Separator) {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil
		}
		return []string{abs}
	}
	var all []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			all = append(all, filepath.Join(dir, name), filepath.Join(dir, name+".exe"))
		}
	}
	return all
}

func sameFile(a, b string) bool {
	ia, err1 := os.Stat(a)
	ib, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(ia, ib)
}

// passing says in which place that is cleared sooner or later a path lies, "" for none.
func passing(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	for _, part := range strings.Split(filepath.ToSlash(path), "/") {
		if strings.HasPrefix(part, "go-build") {
			return "which go run has built for this once"
		}
	}
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", "/private/tmp"} {
		if real, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(dir) && within(real, path) {
			return "in a directory for temporary files"
		}
	}
	return ""
}

// within reports whether path lies below dir.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
