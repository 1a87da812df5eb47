package flow

import (
	"strings"
	"unicode"
)

// Reference finds the places on a network that a URI leads to: itself, if whoever
// resolves it would go there, and what it carries. A URI that names something of the
// server's own (note:1, file:///x, demo://resource/1) leads to none.
func Reference(place, uri string) []Destination {
	return placed(place, reference(uri))
}

func reference(s string) []Destination {
	if strings.TrimSpace(s) != s || strings.ContainsFunc(s, unicode.IsControl) {
		return []Destination{malformed(s, URL, "white space or control characters that some readers drop")}
	}
	scheme, rest := cutScheme(s)
	_, network := netSchemes[scheme]
	host, found := uriHost(rest)
	switch {
	case scheme == "" && strings.IndexAny(s, `/\`) == 0 && len(s) > 1 && strings.IndexByte(`/\`, s[1]) >= 0, webSchemes[scheme] != "", network:
		return parseList(s)
	case scheme == "":
		return wholly(s)
	case scheme == "file" && found && !strings.EqualFold(host, "localhost"):
		return []Destination{malformed(s, URL, "a file on another machine")}
	case scheme != "file" && refusedSchemes[scheme], scheme == "mailto":
		return parseList(s)
	case scheme != "file" && found && (fetched[scheme] || namesHost(host)):
		d := readURL(s, "", "https:"+rest)
		return append([]Destination{d}, embedded(rest)...)
	}
	return embedded(rest)
}

// fetched are schemes of protocols that go to a host and are no destination otherwise.
var fetched = set("gopher", "ldap", "ldaps", "smb", "cifs", "nfs", "afp", "dav", "davs", "webdav", "telnet", "dict", "tftp", "rtsp", "rtmp", "rsync",
	"imap", "imaps", "pop3", "smtp", "mqtt", "mqtts", "amqp", "redis", "feed", "h2c", "coap", "irc", "ircs")

// uriHost returns the authority of a URI; found is false if there is none.
func uriHost(rest string) (host string, found bool) {
	a, ok := strings.CutPrefix(strings.ReplaceAll(rest, `\`, "/"), "//")
	if !ok {
		return "", false
	}
	if i := strings.IndexAny(a, "/?#"); i >= 0 {
		a = a[:i]
	}
	return a, a != ""
}

// namesHost tells a host on a network from the first word of a name (demo://resource/1,
// docs://index.md).
func namesHost(a string) bool {
	if strings.IndexByte(a, '@') >= 0 {
		return true
	}
	name, port := cutPort(a)
	if !hostShaped(name) {
		return false
	}
	h, why := canonicalHost(name)
	return why == "" && (port != "" || isIP(h) || h == "localhost" || knownTop(h) && !fileName(h))
}

// embedded returns the URLs that stand in the rest of a URI.
func embedded(rest string) []Destination {
	var ds []Destination
	for _, u := range nestedIn(rest) {
		if d := parseOne(u); d.Kind == URL {
			ds = append(ds, d)
		}
	}
	return ds
}
