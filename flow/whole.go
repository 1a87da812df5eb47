package flow

import (
	"strings"
	"unicode"
)

// wholly reads a string that is not in a declared sink. It returns nothing unless the
// string is a destination, or a list of addresses, and nothing else.
func wholly(s string) []Destination {
	// Who reads it may strip line ends and control characters round it.
	s = strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	switch {
	case s == "":
		return nil
	case len(s) > MaxDestination:
		if i := strings.IndexAny(s, ",;\r\n \t"); i > 0 && i < MaxDestination && strings.IndexByte(s[:i], '@') > 0 {
			return whollyMail(s)
		}
		return nil
	}
	if strings.HasPrefix(s, `\\`) && !strings.ContainsAny(s, " \t") {
		s = strings.ReplaceAll(s, `\`, "/") // a share on another machine
	}
	scheme, rest := cutScheme(s)
	_, network := netSchemes[scheme]
	network = network && strings.HasPrefix(rest, "//")
	switch {
	case scheme == "mailto":
		return mailto(s, rest)
	case (webSchemes[scheme] != "" || network) && len(rest) > 0 && strings.IndexByte(`/\`, rest[0]) >= 0:
		if strings.ContainsAny(trimSpace(s), " \n") {
			return nil // prose that starts with a link
		}
		return parseList(s)
	case strings.IndexByte(s, '@') > 0:
		if recipientLine(s) { // Bcc: x@y.example
			s = strings.TrimSpace(rest)
		}
		return whollyMail(s)
	}
	if strings.ContainsAny(s, " \t") || hostileText(s) != "" {
		return nil
	}
	d := parseOne(s)
	switch d.Kind {
	case URL:
		if _, usable := netSchemes[scheme]; usable || scheme == "" || hostWithPath(strings.TrimLeft(rest, "/")+"/") {
			return withHidden(d)
		}
	case Host:
		if h := d.parts.host; isIP(h) || d.parts.port != "" || h == "localhost" || knownTop(h) && !fileName(h) {
			return []Destination{d}
		}
	}
	return nil
}

// whollyMail reads a list in which every piece is an address.
func whollyMail(s string) []Destination {
	var pieces []string
	for line := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '\r' || r == '\n' }) {
		pieces = append(pieces, splitList(line)...)
	}
	if len(pieces) < 2 && strings.IndexByte(s, '<') < 0 {
		pieces = strings.Fields(s)
	}
	var ds []Destination
	for _, p := range pieces {
		d := parseOne(p)
		if d.Kind != Email && d.Kind != URL || d.Malformed != "" && (len(pieces) > 1 || strings.ContainsAny(s, " \t")) {
			return nil
		}
		if ds = append(ds, withHidden(d)...); len(ds) > MaxDestinations {
			break
		}
	}
	return ds
}

// fileName reports a two-label name whose top-level domain is better known as the
// ending of files.
func fileName(h string) bool {
	name, end, _ := strings.Cut(h, ".")
	return name != "www" && fileEndings[end]
}

var fileEndings = set("md", "sh", "py", "rs", "pl", "pm", "so", "ps", "mm", "tf", "zip", "mov")
