package flow

import (
	"strings"
	"unicode/utf8"
)

// maxCode bounds the text of a command, script or query that is searched, in bytes.
const maxCode = 256 << 10

// nameWords is how many words the name of a payee, list or channel has at most. Longer
// text is searched for the destinations that stand in it.
const nameWords = 4

// codeWords are the words of a parameter's name by which its value is a program or a
// command line: line breaks, quotes and backslashes belong there.
var codeWords = set("command", "commands", "cmd", "cmdline", "shell", "bash", "powershell", "script", "code", "program", "sql", "manifest", "expression", "statement", "argv", "args")

// codeParam reports that the value at place is code, by the name of its parameter.
func codeParam(place string) bool {
	for w := range nameParts(lastName(place)) {
		if codeWords[w] {
			return true
		}
	}
	return false
}

// lastName is the last name in a place: to of message.to[0].
func lastName(place string) string {
	for strings.HasSuffix(place, "]") {
		i := strings.LastIndexByte(place, '[')
		if i < 0 {
			break
		}
		place = place[:i]
	}
	return place[strings.LastIndexByte(place, '.')+1:]
}

// nameParts yields the words of a parameter's name in lower case: messageBody and
// message_body have two.
func nameParts(name string) func(func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		for i := range len(name) + 1 {
			if i < len(name) && (alnum(name[i]) && !(i > 0 && name[i] >= 'A' && name[i] <= 'Z' && name[i-1] >= 'a')) {
				continue
			}
			if i > start && !yield(strings.ToLower(name[start:i])) {
				return
			}
			if start = i; i < len(name) && !alnum(name[i]) {
				start++
			}
		}
	}
}

// code reads a command, script or query that is a sink: the destinations that stand in
// it, and the text itself last. Nothing in the text is proof of what it does, so that a
// trusted destination in it never speaks for the whole: the text must be trusted, typed
// or approved too.
func code(s string) []Destination {
	if s = trimSpace(s); s == "" {
		return []Destination{malformed(s, Text, "blank")}
	}
	if d := parseOne(s); d.Malformed == "" && d.Kind != Text {
		return withHidden(d)
	}
	switch why := hostileCode(s); {
	case why != "":
		return []Destination{malformed(s, Text, why)}
	case parseText(s).Malformed != "":
		return []Destination{parseText(s)}
	}
	return append(inText(s, true), Destination{Kind: Text, Raw: s, Canonical: s, parts: parts{read: true, code: true}})
}

// hostileCode is hostileText for code.
func hostileCode(s string) string {
	if len(s) > maxCode {
		return "too long"
	}
	plain := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' || r == '\\' {
			return ' '
		}
		return r
	}, s)
	for len(plain) > 0 {
		n := min(len(plain), MaxDestination/2)
		for n < len(plain) && !utf8.RuneStart(plain[n]) {
			n++
		}
		if why := hostileText(plain[:n]); why != "" && why != "an encoded word" {
			return why
		}
		plain = plain[n:]
	}
	return ""
}

// inText finds the destinations that stand in text, and in what it reads without
// disguise: URLs, addresses, IP addresses, and hosts under a top-level domain in use.
// In code, user@host names the host too.
func inText(s string, code bool) []Destination {
	f := finder{code: code, seen: make(map[string]bool)}
	f.text(s)
	unfolded(s, f.text)
	return f.found
}

type finder struct {
	code  bool
	seen  map[string]bool
	found []Destination
}

func (f *finder) add(ds ...Destination) {
	for _, d := range ds {
		key := d.Kind.String() + " " + d.Canonical + d.Malformed
		if !f.seen[key] && len(f.found) <= MaxDestinations {
			f.seen[key] = true
			f.found = append(f.found, d)
		}
	}
}

func (f *finder) text(s string) {
	for len(s) > 0 && len(f.found) <= MaxDestinations {
		i := strings.Index(s, "://")
		if i < 0 {
			break
		}
		start, end := i, i+3
		for start > 0 && i-start < 20 && (alnum(s[start-1]) || strings.IndexByte("+-.", s[start-1]) >= 0) {
			start--
		}
		for start < i && !letterByte(s[start]) {
			start++
		}
		for end < len(s) && end-i < MaxDestination && s[end] > ' ' && strings.IndexByte("\"'`<>|\\^{})]", s[end]) < 0 {
			end++
		}
		f.words(s[:start])
		f.url(strings.TrimRight(s[start:end], ".,;:!?&"), s[end:])
		s = s[end:]
	}
	f.words(s)
}

// url takes a URL as written, and what follows it.
func (f *finder) url(s, after string) {
	s = strings.TrimPrefix(s, ":")
	scheme, rest := cutScheme(s)
	a := authority(s)
	if a == "" || strings.ContainsAny(a, "$*!,();") || len(a)+len("://") >= len(rest) && strings.HasPrefix(after, "{") {
		return // put together when it runs: the text as a whole is what is asked about
	}
	d, ok := parseURL(s)
	_, network := netSchemes[scheme]
	if ok && (d.Malformed == "" || strings.IndexByte(a, '@') >= 0 && (network || webSchemes[scheme] != "")) {
		f.add(withHidden(d)...)
		return
	}
	if d, ok := parseHost(a[strings.LastIndexByte(a, '@')+1:]); ok {
		f.add(d)
	}
}

// words takes the addresses and hosts among the words of s.
func (f *finder) words(s string) {
	for i := 0; i < len(s) && len(f.found) <= MaxDestinations; {
		j := i
		for j < len(s) && wordByte(s[j]) {
			j++
		}
		if w := s[i:j]; len(w) > 3 && len(w) <= 4*maxHost && strings.ContainsAny(w, ".@:") {
			f.word(strings.Trim(w, ".:-_+%"))
		}
		i = max(j, i+1)
	}
}

func wordByte(c byte) bool {
	return alnum(c) || c >= utf8.RuneSelf || strings.IndexByte(".-_@:/+%[]", c) >= 0
}

func (f *finder) word(w string) {
	for _, device := range []string{"/dev/tcp/", "/dev/udp/"} {
		if rest, ok := strings.CutPrefix(w, device); ok {
			w, _, _ = strings.Cut(rest, "/")
		}
	}
	if scpLike(w) {
		f.add(parseOne(w))
		return
	}
	if at := strings.LastIndexByte(w, '@'); at > 0 {
		domain := w[at+1:]
		if i := strings.IndexAny(domain, ":/"); i >= 0 && (domain == "" || domain[0] != '[') {
			domain = domain[:i]
		}
		if d := parseOne(w[:at+1] + domain); d.Kind == Email && d.Malformed == "" {
			f.add(d)
		}
		if !f.code {
			return
		}
		w = domain
	}
	w = strings.TrimLeft(w, "/@")
	if i := strings.IndexByte(w, '/'); i >= 0 {
		w = w[:i]
	}
	for _, try := range []string{w, strings.TrimRight(w, "]"), beforeColon(w)} {
		d, ok := parseHost(try)
		if !ok {
			continue
		}
		if h := d.parts.host; isIP(h) || knownTop(h) && !fileName(h) && h != "localhost" {
			f.add(d)
			return
		}
	}
}

// beforeColon is the host of host:path and host:port/x.
func beforeColon(w string) string {
	h, _, _ := strings.Cut(w, ":")
	return h
}
