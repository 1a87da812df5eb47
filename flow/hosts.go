package flow

import (
	"github.com/sallyport-dev/sallyport/doc"
)

// Hosts reads s as the value of a sink, by the rules of [Flatten], and returns the host
// of every destination in it: of an address its mail domain, of a URL or host the host
// itself, in the form of [CanonicalHost]. It returns at least one, or why says what is
// wrong: one of them is malformed, or has no host.
func Hosts(s string) (hosts []string, why string) {
	v, ok := doc.Text(s)
	if !ok {
		return nil, "not valid UTF-8"
	}
	for _, d := range Flatten("", v) {
		switch {
		case d.Malformed != "":
			return nil, d.Malformed
		case d.parts.host == "":
			return nil, "neither a URL nor a host nor a mail address"
		}
		hosts = append(hosts, d.parts.host)
	}
	if len(hosts) == 0 {
		return nil, "blank"
	}
	return hosts, ""
}

// CanonicalHost reads a host name or IP address alone, IPv6 with or without brackets:
// lower case, in ASCII, without a trailing dot, an address in the one form that
// net/netip prints, however it was spelled. why says what is wrong with it, "" if
// nothing is; it quotes nothing from s.
func CanonicalHost(s string) (host, why string) {
	if why := hostileText(s); why != "" {
		return "", why
	}
	return canonicalHost(s)
}

// PublicSuffix reports a name below which anybody can register one: com, co.uk,
// github.io. h is in the form of [CanonicalHost]. Names that are reserved for private
// use (local, internal, example) are none.
func PublicSuffix(h string) bool {
	return !isIP(h) && registrable(h) == "" && knownTop(h) && !reservedTops[h]
}
