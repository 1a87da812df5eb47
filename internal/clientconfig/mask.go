package clientconfig

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// hidden stands in a shown line where a text is not shown.
const hidden = "***"

// shownKeys are members whose texts are shown. All others may be secrets, or are none of
// anybody's business in a difference about servers.
var shownKeys = map[string]bool{"command": true, "path": true, "args": true, "type": true, "cwd": true, "source": true}

// maskedLines are the lines of a file as they may be shown on a terminal: texts other than
// commands and arguments are hidden, what looks like a credential is, and what a terminal
// would obey is escaped. There are as many as src has.
func maskedLines(src []byte, root *node) []string {
	m := masker{}
	m.walk(root, "", false)
	for _, c := range root.comments {
		m.comment(src, c)
	}
	slices.SortFunc(m.ranges, func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, r := range m.ranges {
		if r.start < at {
			continue
		}
		out = append(out, src[at:r.start]...)
		out = append(out, r.text...)
		out = append(out, bytes.Repeat([]byte("\n"), bytes.Count(src[r.start:r.end], []byte("\n")))...)
		at = r.end
	}
	out = append(out, src[at:]...)
	lines := strings.Split(string(out), "\n")
	for i, l := range lines {
		lines[i] = audit.RedactText(strings.TrimSuffix(l, "\r"))
	}
	return lines
}

type masker struct{ ranges []edit }

func (m *masker) hide(n *node) {
	m.ranges = append(m.ranges, edit{n.start, n.end, `"` + hidden + `"`})
}

// comment hides what may be a setting that was commented out.
func (m *masker) comment(src []byte, c edit) {
	if !bytes.ContainsAny(src[c.start:c.end], "\"'=:") {
		return
	}
	switch begin := string(src[c.start : c.start+1]); {
	case bytes.HasPrefix(src[c.start:], []byte("/*")):
		c.text = "/* " + hidden + " */"
	case begin == "#":
		c.text = "# " + hidden
	default:
		c.text = "// " + hidden
	}
	m.ranges = append(m.ranges, c)
}

// walk hides the texts below n. inEntry: n is part of an entry, not of other settings.
func (m *masker) walk(n *node, key string, inEntry bool) {
	switch n.kind {
	case text:
		if !inEntry || !shownKeys[key] {
			m.hide(n)
		}
	case object:
		if key == "env" || key == "environment" || key == "headers" || key == "http_headers" {
			m.hideAll(n) // a variable may be called "command", and a number
			return
		}
		for _, c := range n.members {
			m.walk(c.val, c.key, inEntry || n.get("command") != nil || n.get("url") != nil)
		}
	case array:
		if key == "args" || key == "command" {
			m.walkArgs(n)
			return
		}
		for _, c := range n.elems {
			m.walk(c, "", inEntry)
		}
	}
}

// hideAll hides every value below n.
func (m *masker) hideAll(n *node) {
	for _, c := range n.members {
		m.hideAll(c.val)
	}
	for _, c := range n.elems {
		m.hideAll(c)
	}
	if n.kind != object && n.kind != array {
		m.hide(n)
	}
}

// walkArgs hides the arguments that are secrets by the flag or the variable they are for.
func (m *masker) walkArgs(n *node) {
	after := false
	for _, e := range n.elems {
		if e.kind != text {
			m.walk(e, "", true)
			continue
		}
		name, _, hasValue := strings.Cut(e.text, "=")
		switch {
		case after, hasValue && secretName(name), assigned.MatchString(e.text):
			m.hide(e)
		}
		after = secretFlag(e.text)
	}
}

// assigned finds a value behind a name that says that it is secret, in the middle of a text: in a
// line for a shell, a header, a query.
var assigned = regexp.MustCompile(`(?i)(pass(wd|word|phrase)?|secret|token|credential|(api|access|private)[-_]?key)[\w.-]*(=|["']\s*:|:\s)\s*["']?[^\s"']|[?&](key|sig|code|auth|pat|pwd)=[^&]`)

// secretFlag reports whether the argument after this one is a secret.
func secretFlag(arg string) bool {
	name := strings.ToLower(strings.TrimLeft(arg, "-"))
	if name == strings.ToLower(arg) || strings.Contains(arg, "=") {
		return false
	}
	return secretName(arg) || slices.Contains([]string{"key", "pat", "pin", "auth", "pwd", "pass", "passphrase"}, name)
}

func secretName(name string) bool {
	name = strings.ToLower(strings.TrimLeft(name, "-"))
	for _, p := range audit.DefaultKeyPatterns {
		if p.MatchString(name) {
			return true
		}
	}
	for _, word := range []string{"token", "secret", "password", "passwd", "apikey", "api-key", "api_key", "credential", "bearer", "authorization", "access-key", "private-key"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// RedactedCommand shows a command line with what [maskedLines] would hide hidden.
func RedactedCommand(command []string, max int) string {
	var shown []string
	after := false
	for _, a := range command {
		name, _, hasValue := strings.Cut(a, "=")
		word := audit.RedactText(a)
		switch {
		case after:
			word = hidden
		case hasValue && secretName(name):
			word = name + "=" + hidden
		case assigned.MatchString(a):
			word = hidden
		case strings.ContainsAny(a, " \t\"'") || a == "":
			word = quote.Value(word, max)
		}
		after = secretFlag(a)
		shown = append(shown, word)
	}
	return quote.Text(strings.Join(shown, " "), max)
}
