package config

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// units of a duration, longest spelling first.
var units = []struct {
	name string
	size time.Duration
}{
	{"ms", time.Millisecond},
	{"s", time.Second},
	{"m", time.Minute},
	{"h", time.Hour},
	{"d", 24 * time.Hour},
}

// readDuration reads one whole number and one unit, 30s or 5m, between least and most.
func readDuration(n *strictyaml.Node, p *strictyaml.Problems, least, most time.Duration) time.Duration {
	if !n.IsText() && n.Text() != "" && !n.IsNull() && !n.IsList() && !n.IsMapping() {
		p.Add(n, "write a number and its unit, such as 30s or 5m, not %s", strictyaml.Quote(n.Text()))
		return least
	}
	s, ok := n.Str(p)
	if !ok {
		return least
	}
	d, err := parseDuration(s)
	switch {
	case err != nil:
		p.Add(n, "%s is no duration: %v", strictyaml.Quote(s), err)
	case d < least || d > most:
		p.Add(n, "write a duration from %s to %s", showDuration(least), showDuration(most))
	default:
		return d
	}
	return least
}

func parseDuration(s string) (time.Duration, error) {
	wrong := errors.New("write a number and its unit, such as 30s or 5m (ms, s, m, h, d)")
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, wrong
	}
	for _, u := range units {
		if s[len(digits):] != u.name {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > int64(1<<62/u.size) {
			return 0, errors.New("the number is too large")
		}
		return time.Duration(n) * u.size, nil
	}
	return 0, wrong
}

func showDuration(d time.Duration) string {
	for i := len(units) - 1; i >= 0; i-- {
		if d%units[i].size == 0 {
			return strconv.FormatInt(int64(d/units[i].size), 10) + units[i].name
		}
	}
	return d.String()
}

// sizes are the units of a number of bytes.
var sizes = []struct {
	name string
	size int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}}

// readSize reads one whole number and one unit, 100MiB, between least and most bytes.
func readSize(n *strictyaml.Node, p *strictyaml.Problems, least, most int64) int64 {
	if n.IsList() || n.IsMapping() || n.IsNull() {
		n.Str(p)
		return least
	}
	for _, u := range sizes {
		digits, ok := strings.CutSuffix(n.Text(), u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || v < 0 || digits[0] < '0' || digits[0] > '9' {
			break
		}
		if v > most/u.size || v*u.size < least {
			p.Add(n, "write a size from %s to %s", showSize(least), showSize(most))
			return least
		}
		return v * u.size
	}
	p.Add(n, "write a number and its unit, such as 100MiB (KiB, MiB, GiB, KB, MB, GB), not %s", strictyaml.Quote(n.Text()))
	return least
}

func showSize(v int64) string {
	for _, u := range []int{2, 1, 0} {
		if v%sizes[u].size == 0 {
			return strconv.FormatInt(v/sizes[u].size, 10) + sizes[u].name
		}
	}
	return strconv.FormatInt(v, 10) + " bytes"
}

// isVariable reports the name of an environment variable.
func isVariable(s string) bool {
	for i := range len(s) {
		b := s[i]
		letter := b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
		if !letter && (i == 0 || b < '0' || b > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 256
}

// absolute makes a path absolute: relative ones start at the configuration's directory,
// wherever the program was started. ok is false after a problem.
func absolute(n *strictyaml.Node, p *strictyaml.Problems, file, s string) (path string, ok bool) {
	switch {
	case quote.Text(s, 0) != s:
		p.Add(n, "the path has characters that cannot be seen")
		return "", false
	case s[0] == '~':
		p.Add(n, "~ is not expanded here; write the directory out, or ${HOME}")
		return "", false
	}
	if !filepath.IsAbs(s) {
		dir, err := filepath.Abs(filepath.Dir(file))
		if err != nil {
			p.Add(n, "the path is relative, and the current directory is not known; write it from the root on")
			return "", false
		}
		s = filepath.Join(dir, s)
	}
	return filepath.Clean(s), true
}

// readFileName reads the name of a file that is opened later; what says what to write
// where there is none.
func readFileName(n *strictyaml.Node, p *strictyaml.Problems, file, what string) string {
	s, ok := n.Str(p)
	if !ok {
		return ""
	}
	if s == "" || strings.HasSuffix(s, "/") || filepath.Base(s) == "." || filepath.Base(s) == ".." {
		p.Add(n, "%s", what)
		return ""
	}
	path, _ := absolute(n, p, file, s)
	return path
}
