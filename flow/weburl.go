package flow

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// webSchemes are the schemes that browsers read leniently (any number and kind of
// slashes), with their default ports.
var webSchemes = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}

// netSchemes are the others that name a place on a network.
var netSchemes = map[string]string{
	"ssh": "22", "sftp": "22", "ftps": "990", "git": "9418", "git+ssh": "22", "ssh+git": "22",
	"git+https": "443", "git+http": "80", "svn+ssh": "22", "s3": "", "gs": "",
}

// refusedSchemes carry their content, run it, or read the machine's own files.
var refusedSchemes = set("data", "javascript", "vbscript", "file", "blob", "about", "view-source", "filesystem", "jar")

// browser parses as the URL standard says, for all usable schemes alike.
var browser = whatwg.NewParser(whatwg.WithSpecialSchemes(func() map[string]string {
	all := map[string]string{"file": ""}
	for s, port := range webSchemes {
		all[s] = port
	}
	for s, port := range netSchemes {
		all[s] = port
	}
	return all
}()))

// parseURL reads a URL, one without its scheme, or an scp-like git address. ok is
// false if s is none of these.
func parseURL(s string) (d Destination, ok bool) {
	if inner, found := strings.CutPrefix(s, "<"); found && strings.HasSuffix(inner, ">") && strings.Contains(inner, ":") && !strings.ContainsAny(inner[:1], "@#!") {
		inner, _, _ = strings.Cut(inner[:len(inner)-1], "|")
		if d, ok = parseURL(inner); ok {
			d.Raw = s
			return d, true
		}
	}
	scheme, rest := cutScheme(s)
	if scheme != "" {
		return parseScheme(s, scheme, rest)
	}
	switch {
	case strings.HasPrefix(s, "//"):
		return readURL(s, "", "https:"+s), true
	case scpLike(s):
		host, path, _ := strings.Cut(s[len("git@"):], ":")
		return readURL(s, "ssh", "ssh://"+host+"/"+strings.TrimLeft(path, "/")), true
	case hostWithPath(s):
		return readURL(s, "", "https://"+s), true
	}
	return d, false
}

func parseScheme(s, scheme, rest string) (d Destination, ok bool) {
	slashes := strings.HasPrefix(rest, "//")
	switch {
	case refusedSchemes[scheme]:
		return malformed(s, URL, "the scheme "+scheme+" names no place on a network"), true
	case scheme == "mailto":
		return malformed(s, Email, "a mailto link that cannot be read"), true // flatten takes the others apart
	case webSchemes[scheme] != "":
		return readURL(s, scheme, s), true
	case !slashes:
		return d, false
	}
	if _, usable := netSchemes[scheme]; !usable {
		return malformed(s, URL, "not a scheme that can be used as a destination"), true
	}
	if user, after, found := strings.Cut(rest[2:], "@"); found && user == "git" {
		rest = "//" + after // who logs in at a forge, and says nothing
	}
	return readURL(s, scheme, scheme+":"+rest), true
}

// readURL parses full, which is raw with what it left out.
func readURL(raw, scheme, full string) Destination {
	if why := badURL(full); why != "" {
		return malformed(raw, URL, why)
	}
	u, err := browser.Parse(full)
	if err != nil || u.Hostname() == "" {
		return malformed(raw, URL, "not a URL that can be read")
	}
	if u.Username() != "" || u.Password() != "" {
		return malformed(raw, URL, "user information in a URL")
	}
	h, why := canonicalHost(u.Hostname())
	if why != "" {
		return malformed(raw, URL, why)
	}
	written, _ := cutPort(strings.TrimSuffix(authority(full), ":"))
	if own, why := canonicalHost(written); why != "" || own != h {
		return malformed(raw, URL, "a host that can be read in two ways")
	}
	if zeroLed(written) {
		return malformed(raw, URL, whyZeroLed)
	}
	p := parts{read: true, host: h, scheme: scheme, port: u.Port(), path: u.Pathname()}
	if scheme == "" && !hostShaped(written) {
		return malformed(raw, URL, "neither a scheme nor a full host name")
	}
	if p.path == "" {
		p.path = "/"
	}
	canonical := "//" + bracketed(h)
	if p.port != "" {
		canonical += ":" + p.port
	}
	if canonical += p.path + u.Search() + u.Hash(); scheme != "" {
		canonical = scheme + ":" + canonical
	}
	return Destination{Kind: URL, Raw: raw, Canonical: canonical, parts: p}
}

// badURL refuses what readers of URLs read differently.
func badURL(s string) string {
	_, rest := cutScheme(s)
	a := authority(s)
	switch {
	case strings.ContainsFunc(s, oddSpace):
		return "white space in a URL"
	case strings.IndexByte(a, '@') >= 0:
		return "user information in a URL"
	case strings.IndexByte(a, '%') >= 0:
		return "the host is percent-encoded"
	case !strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "///"):
		return "not two slashes before the host"
	}
	return ""
}

// authority returns what stands between the slashes and the path.
func authority(s string) string {
	_, rest := cutScheme(s)
	a := strings.TrimLeft(rest, "/")
	if i := strings.IndexAny(a, "/?#"); i >= 0 {
		a = a[:i]
	}
	return a
}

// cutScheme splits "scheme:rest"; scheme is in lower case, "" if there is none.
func cutScheme(s string) (scheme, rest string) {
	i := strings.IndexByte(s, ':')
	if i <= 0 || i > 20 {
		return "", s
	}
	for j := range i {
		c := s[j]
		if !(alnum(c) || j > 0 && strings.IndexByte("+-.", c) >= 0) || j == 0 && c >= '0' && c <= '9' {
			return "", s
		}
	}
	scheme = strings.ToLower(s[:i])
	if strings.IndexByte(scheme, '.') >= 0 { // a host and its port
		return "", s
	}
	return scheme, s[i+1:]
}

// scpLike reports git@host:path.
func scpLike(s string) bool {
	host, path, ok := strings.Cut(strings.TrimPrefix(s, "git@"), ":")
	if !strings.HasPrefix(s, "git@") || !ok || path == "" || strings.ContainsAny(host, `/@ #?\`) {
		return false
	}
	h, ok := asciiHost(host)
	return ok && (!endsInNumber(h) || looksNumeric(h))
}

// hostWithPath reports a URL whose scheme was left out: the first segment is a host by
// its known last label, its address or its port.
func hostWithPath(s string) bool {
	i := strings.IndexAny(s, "/?#")
	if i <= 0 || strings.ContainsAny(s, " \t") {
		return false
	}
	name, port := cutPort(s[:i])
	if strings.IndexByte(name, '@') >= 0 {
		return strings.IndexByte(name[strings.LastIndexByte(name, '@'):], '.') > 0
	}
	if !hostShaped(name) {
		return false
	}
	h, why := canonicalHost(name)
	return why == "" && (port != "" || isIP(h) || h == "localhost" || knownTop(h))
}

// nested returns the URLs that the path, query or fragment of a URL holds, encoded once
// or twice: a host that redirects, or fetches, goes there.
func nested(d Destination) []string {
	_, rest := cutScheme(d.Raw)
	rest = strings.TrimLeft(rest, "/")
	i := strings.IndexAny(rest, "/?#")
	if i < 0 {
		return nil
	}
	found := nestedIn(rest[i:])
	for _, u := range encodedIn(rest[i:]) {
		if !slices.Contains(found, u) {
			found = append(found, u)
		}
	}
	return found
}

// encodedIn returns the URLs that stand in a path or query as base64 or hexadecimal.
func encodedIn(rest string) []string {
	var found []string
	if len(rest) >= minRun {
		r := reader{use: func(s string) {
			if len(found) <= maxNested && strings.Contains(s, "://") {
				found = append(found, nestedIn("="+strings.TrimSpace(s))...)
			}
		}}
		for i := range r.budget {
			r.budget[i] = 2 * len(rest)
		}
		r.read(rest)
	}
	return found
}

func nestedIn(rest string) []string {
	for range 2 {
		b, _ := percentDecode(nil, rest)
		rest = string(b)
	}
	// Browsers take any number of slashes, of either kind, after these.
	rest = strings.ReplaceAll(rest, `\`, "/")
	if strings.IndexByte(rest, ':') >= 0 {
		rest = lenient.ReplaceAllString(rest, "$1://$2")
	}
	var found []string
	for {
		j := strings.Index(rest, "//")
		if j < 0 || len(found) > maxNested {
			return found
		}
		start := j
		if j > 0 && rest[j-1] == ':' {
			for start--; start > 0 && (alnum(rest[start-1]) || rest[start-1] == '+'); start-- {
			}
		} else if j == 0 || rest[j-1] != '=' {
			rest = rest[j+2:]
			continue
		}
		end := j + 2
		for end < len(rest) && end-start < maxNestedURL && strings.IndexByte(" &\"'<>|\\^`", rest[end]) < 0 && rest[end] > ' ' {
			end++
		}
		for end < len(rest) && !utf8.RuneStart(rest[end]) {
			end--
		}
		if end > j+2 {
			found = append(found, rest[start:end])
		}
		rest = rest[j+2:]
	}
}

const (
	maxNested    = 20
	maxNestedURL = 1 << 10 // bytes of each that are read: its host stands at the start
)

// lenient finds what is surely meant as a host: ratios and options have colons too.
var lenient = regexp.MustCompile(`(?i)\b(https?|wss?|ftp):/*([^\s/?#]*\.\pL)`)
