// Package osresolve resolves symbolic links of the local file system, for use as a
// resolver of package confine.
//
// It only reads links and looks at names; it never opens, creates or changes a file.
// Whatever it cannot find out is an error, never the unresolved path.
package osresolve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of one resolution.
const (
	MaxLinks = 255  // links followed
	maxSteps = 8192 // names looked at
)

// Errors of [Resolve], besides those of the file system.
var (
	ErrNotAbsolute  = errors.New("the path is not absolute")
	ErrTooManyLinks = errors.New("too many symbolic links")
	ErrTooLong      = errors.New("too many names")
	ErrOwnView      = errors.New("a link in /proc leads elsewhere for another process")
)

// Resolve returns path with every symbolic link followed, as far as it exists: the
// real path of the deepest existing ancestor joined with the rest. A link that
// dangles is followed to where it points. ".." in a link's target goes up from where
// the link really stands, as the system does it. An error other than that a name does
// not exist is returned; so is a name behind something that is no directory.
func Resolve(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", ErrNotAbsolute
	}
	w := walk{real: filepath.VolumeName(path) + sep}
	w.push(strings.TrimPrefix(path, filepath.VolumeName(path)))
	for len(w.rest) > 0 {
		if err := w.step(); err != nil {
			return "", err
		}
	}
	return w.real, nil
}

const sep = string(filepath.Separator)

type walk struct {
	real    string   // resolved so far, clean
	rest    []string // names still to look at, the next one last
	missing bool     // real does not exist, so nothing below it does
	links   int
	steps   int
}

// push puts the names of a path before those still to look at.
func (w *walk) push(path string) {
	names := strings.FieldsFunc(path, func(r rune) bool { return r == filepath.Separator || r == '/' })
	for i := len(names) - 1; i >= 0; i-- {
		w.rest = append(w.rest, names[i])
	}
}

func (w *walk) step() error {
	if w.steps++; w.steps > maxSteps {
		return ErrTooLong
	}
	name := w.rest[len(w.rest)-1]
	w.rest = w.rest[:len(w.rest)-1]
	switch name {
	case ".":
		return nil
	case "..":
		// real holds no links, so its parent is the text before its last name. What
		// does not exist has no "..": whoever creates it decides where that leads.
		if w.missing {
			return fmt.Errorf("a link leads through a directory that does not exist: %w", fs.ErrNotExist)
		}
		w.real = filepath.Dir(w.real)
		return nil
	}
	next := filepath.Join(w.real, name)
	if w.missing {
		w.real = next
		return nil
	}
	info, err := os.Lstat(next)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.real, w.missing = next, true
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return w.follow(next)
	case info.Mode()&fs.ModeIrregular != 0:
		return fmt.Errorf("neither a file nor a directory nor a link: %w", fs.ErrInvalid)
	}
	w.real = next
	return nil
}

func (w *walk) follow(link string) error {
	if w.links++; w.links > MaxLinks {
		return ErrTooManyLinks
	}
	// /proc/self/cwd and the like are other places to the program that the path is for.
	if strings.HasPrefix(link, "/proc/") {
		return ErrOwnView
	}
	target, err := os.Readlink(link)
	if err != nil {
		return err
	}
	if target == "" {
		return fmt.Errorf("an empty link: %w", fs.ErrInvalid)
	}
	volume := filepath.VolumeName(target)
	switch {
	case filepath.IsAbs(target):
		w.real = volume + sep
	case volume != "" || os.IsPathSeparator(target[0]):
		return fmt.Errorf("a link relative to a drive: %w", fs.ErrInvalid)
	}
	w.push(target[len(volume):])
	return nil
}
