package audit

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// DefaultPath is where the log is when nothing else is said: sallyport/audit.jsonl
// within $XDG_STATE_HOME if that is set to an absolute path, else within
// ~/.local/state, on macOS ~/Library/Application Support, on Windows %LocalAppData%.
func DefaultPath() (string, error) {
	dir, err := stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "sallyport", "audit.jsonl"), nil
}

func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if runtime.GOOS == "windows" {
		if dir := os.Getenv("LocalAppData"); filepath.IsAbs(dir) {
			return dir, nil
		}
		return "", errors.New("audit: %LocalAppData% is not set: say where the log is")
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", errors.New("audit: neither $XDG_STATE_HOME nor $HOME is an absolute path: say where the log is")
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support"), nil
	}
	return filepath.Join(home, ".local", "state"), nil
}
