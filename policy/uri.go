package policy

import "strings"

// plainURI is the form of a resource's URI that a server may well take it for: scheme
// and authority in lower case, slashes of one kind and single, "." and ".." collapsed, and
// decoded what needs no encoding (RFC 3986 section 6.2.2), separators and dots included.
// It returns uri itself, without allocating, if that is so already.
func plainURI(uri string) string {
	if !strings.ContainsAny(uri, `%\`) && !strings.Contains(uri, "/.") && !needsMore(uri) {
		return uri
	}
	s := uri
	for range 3 { // encoded once, or again
		s = decodePlain(s)
	}
	s = strings.ReplaceAll(s, `\`, "/")
	scheme, rest, found := cutScheme(s)
	if !found {
		return collapse(s)
	}
	scheme = strings.ToLower(scheme) + ":"
	if scheme == "file:" {
		rest = localFile(rest)
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		end := strings.IndexAny(after, "/?#")
		if end < 0 {
			end = len(after)
		}
		scheme, rest = scheme+"//"+strings.ToLower(after[:end]), after[end:]
	}
	return scheme + collapse(rest)
}

// cutScheme cuts at the first colon, unless it stands further on, where it ends no scheme.
func cutScheme(uri string) (scheme, rest string, found bool) {
	i := strings.IndexAny(uri, ":/?#")
	if i < 0 || uri[i] != ':' {
		return "", uri, false
	}
	return uri[:i], uri[i+1:], true
}

// wholePath is a plain URI whose query and fragment are taken for a part of the path, as
// a server does that cuts the scheme off and has the rest opened. What a network fetches
// has a query that all agree on.
func wholePath(plain string) string {
	if !strings.ContainsAny(plain, "?#") || !strings.Contains(plain, "/.") && !strings.Contains(plain, "//") {
		return plain
	}
	scheme, rest, found := cutScheme(plain)
	switch {
	case !found:
		return collapsePath(plain)
	case scheme == "http" || scheme == "https" || scheme == "ws" || scheme == "wss":
		return plain
	}
	authority := ""
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		if i := strings.IndexAny(after, "/?#"); i >= 0 {
			authority, rest = "//"+after[:i], after[i:]
		} else {
			return plain
		}
	}
	return scheme + ":" + authority + collapsePath(rest)
}

// localFile gives the one form to what names a file on this machine (RFC 8089
// section 2 and appendix B).
func localFile(rest string) string {
	after, hasAuthority := strings.CutPrefix(rest, "//")
	const local = "localhost"
	switch {
	case !hasAuthority && strings.HasPrefix(rest, "/"):
		return "//" + rest
	case hasAuthority && len(after) > len(local) && after[len(local)] == '/' && strings.EqualFold(after[:len(local)], local):
		return "//" + after[len(local):]
	}
	return rest
}

// needsMore reports upper case before the path, more than one slash or a dot at the start
// in it, or a file that is not spelled with three slashes.
func needsMore(uri string) bool {
	scheme, rest, _ := cutScheme(uri)
	after, hasAuthority := strings.CutPrefix(rest, "//")
	if strings.Contains(after, "//") || strings.HasPrefix(after, ".") || strings.IndexFunc(scheme, upper) >= 0 {
		return true
	}
	if scheme == "file" && !strings.HasPrefix(rest, "///") {
		return true
	}
	if !hasAuthority {
		return false
	}
	if end := strings.IndexAny(after, "/?#"); end >= 0 {
		after = after[:end]
	}
	return strings.IndexFunc(after, upper) >= 0
}

func upper(r rune) bool { return r >= 'A' && r <= 'Z' }

// collapse drops empty segments and ".", and ".." with the segment before it, from the
// path; a query or fragment stays.
func collapse(path string) string {
	end := strings.IndexAny(path, "?#")
	if end < 0 {
		end = len(path)
	}
	return collapsePath(path[:end]) + path[end:]
}

func collapsePath(path string) string {
	if path == "" {
		return ""
	}
	var kept []string
	for seg := range strings.SplitSeq(path, "/") {
		switch seg {
		case "", ".":
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		default:
			kept = append(kept, seg)
		}
	}
	out := strings.Join(kept, "/")
	if path[0] == '/' {
		out = "/" + out
	}
	if path[len(path)-1] == '/' && len(kept) > 0 {
		out += "/"
	}
	return out
}

// decodePlain decodes what needs no encoding, slashes, backslashes and the percent sign
// of what was encoded twice.
func decodePlain(s string) string {
	var b []byte
	from := 0
	for i := strings.IndexByte(s, '%'); i >= 0 && i+2 < len(s); {
		c, ok := hexByte(s[i+1], s[i+2])
		if ok && (c == '%' || c == '/' || c == '\\' || c == '.' || c == '-' || c == '_' || c == '~' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			b = append(append(b, s[from:i]...), c)
			from = i + 3
			i += 2
		}
		next := strings.IndexByte(s[i+1:], '%')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	if b == nil {
		return s
	}
	return string(append(b, s[from:]...))
}

func hexByte(hi, lo byte) (byte, bool) {
	h, ok1 := hexDigit(hi)
	l, ok2 := hexDigit(lo)
	return h<<4 | l, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
