package confine

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Longest path in bytes, as the systems have it.
const (
	maxPOSIX   = 4096
	maxWindows = 32767
)

// spelling is a path as a call wrote it. For a relative one, only parts are set.
type spelling struct {
	location
	relative bool
}

// parse reads a path from a call or a configuration. It refuses every form that a
// shell, a library or another system could read as another path.
func (s Style) parse(path string) (spelling, error) {
	if path == "" {
		return spelling{}, errors.New("it is empty")
	}
	if err := s.length(path); err != nil {
		return spelling{}, err
	}
	if err := s.characters(path); err != nil {
		return spelling{}, err
	}
	sp := spelling{location: location{style: s}}
	if s == Windows {
		return parseWindows(path)
	}
	sp.relative = path[0] != '/'
	sp.parts = s.parts(path)
	for _, p := range sp.parts {
		if bare := strings.TrimSpace(p); bare != p && (bare == ".." || bare == ".") {
			return spelling{}, errors.New("it has dots with white space beside them, which a program may drop")
		}
	}
	return sp, nil
}

func (s Style) length(path string) error {
	limit := maxPOSIX
	if s == Windows {
		limit = maxWindows
	}
	if len(path) > limit {
		return fmt.Errorf("it is longer than %d bytes", limit)
	}
	return nil
}

func (s Style) characters(path string) error {
	if !utf8.ValidString(path) {
		return errors.New("it is not valid UTF-8")
	}
	for _, r := range path {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return fmt.Errorf("it has the control character U+%04X", r)
		case r == '~', r == '$', r == '%', r == '\\' && s != Windows:
			return fmt.Errorf("it has the character %c, which a program may read as something else", r)
		}
	}
	if lower := strings.ToLower(path); strings.Contains(lower, "file:") || strings.Contains(lower, "://") {
		return errors.New("it is a URI, or has one inside; use a plain path")
	}
	return s.lookAlikes(path)
}

// lookAlikes refuses characters that a program which normalises text turns into a
// separator or into "." and "..".
func (s Style) lookAlikes(path string) error {
	if norm.NFKC.IsNormalString(path) {
		return nil
	}
	plain, folded := s.parts(path), s.parts(norm.NFKC.String(path))
	same := len(plain) == len(folded)
	for i := 0; same && i < len(plain); i++ {
		same = (plain[i] == "..") == (folded[i] == "..") && !strings.Contains(folded[i], `\`)
	}
	if !same {
		return errors.New("it has characters that look like a separator or like dots")
	}
	return nil
}

func parseWindows(path string) (spelling, error) {
	sp := spelling{location: location{style: Windows}, relative: true}
	rest := path
	if hasDrive(path) {
		if len(path) < 3 || !isSeparator(Windows, path[2]) {
			return spelling{}, errors.New("it is relative to a drive's own directory; write C:\\ and the whole path")
		}
		sp.relative = false
		sp.volume, rest = strings.ToUpper(path[:2]), path[2:]
	} else if isSeparator(Windows, path[0]) {
		return spelling{}, errors.New("it has no drive letter: UNC, device and drive-relative paths are refused")
	}
	sp.parts = Windows.parts(rest)
	for _, p := range sp.parts {
		if err := windowsName(p); err != nil {
			return spelling{}, err
		}
	}
	return sp, nil
}

func windowsName(name string) error {
	switch {
	case name == "..":
		return nil
	case strings.ContainsAny(name, `:*?"<>|`):
		return errors.New("it has a character that names cannot have on Windows, or an alternate data stream")
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return errors.New("a name ends in a dot or a space, which Windows drops")
	case isDevice(name):
		return errors.New("it names a device")
	}
	return nil
}

// isDevice reports the names that Windows keeps for devices, whatever follows the
// first dot.
func isDevice(name string) bool {
	name, _, _ = strings.Cut(name, ".")
	name = strings.ToUpper(strings.TrimRight(norm.NFKC.String(name), " "))
	switch name {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	if len(name) != 4 || name[3] < '0' || name[3] > '9' {
		return false
	}
	return strings.HasPrefix(name, "COM") || strings.HasPrefix(name, "LPT")
}
