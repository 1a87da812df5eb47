package flow

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits bound how much one call can ask of [Flatten] and [Scan].
const (
	MaxDestinations = 1000     // per value; what is more becomes one Malformed destination
	MaxDestination  = 16 << 10 // bytes of one string; longer is Malformed
)

// Destination is one value found in a sink.
type Destination struct {
	Place     string // where in the arguments: to[1], or to#2 for the second when the string at to held several
	Kind      DestKind
	Raw       string // as the call wrote it; hostile, escape before showing
	Canonical string // the address, URL, host or text, folded as little as possible; "" if malformed
	Upstream  string // the server that the call goes to: its own ids are known as such; "" if that is not known
	Malformed string // why it must be refused, "" if it is well formed; quotes nothing from Raw

	parts parts
}

// parts are what patterns and lookups compare.
type parts struct {
	read   bool   // the rest was filled in by this package
	local  string // of an Email, ASCII in lower case
	odd    bool   // the local part was quoted, or holds "%" or "!": no pattern matches it
	host   string // of an Email, URL or Host; see canonicalHost
	scheme string // of a URL; "" when it was left out
	port   string // of a URL or Host, without leading zeros; "" if it is the scheme's own or not given
	path   string // of a URL, starting with "/"
	code   bool   // Text of a command, script or query
	sigil  byte   // "#", "@" or "!" before Text, 0 for none
}

func (p *parts) segment() string {
	return segmentKey(Fold(p.rawSegment()))
}

func (p *parts) rawSegment() string {
	seg := strings.TrimLeft(p.path, "/")
	if i := strings.IndexByte(seg, '/'); i >= 0 {
		seg = seg[:i]
	}
	return seg
}

func malformed(raw string, k DestKind, why string) Destination {
	return Destination{Kind: k, Raw: raw, Malformed: why, parts: parts{read: true}}
}

// reread parses a Destination that was not made by this package from its own words.
func reread(d Destination) Destination {
	raw := d.Raw
	if raw == "" {
		raw = d.Canonical
	}
	r := parseOne(raw)
	r.Place, r.Raw, r.Upstream = d.Place, d.Raw, d.Upstream
	if r.Malformed == "" && (r.Kind != d.Kind || r.Canonical != d.Canonical) {
		r.Malformed = "its canonical form does not fit what was written"
	}
	return r
}

// parseOne reads s as a single destination. s is trimmed and not empty.
func parseOne(s string) Destination {
	s = trimSpace(s)
	if s == "" {
		return malformed(s, Text, "blank")
	}
	if why := hostileText(s); why != "" {
		return malformed(s, guessKind(s), why)
	}
	if d, ok := parseURL(s); ok {
		return d
	}
	if d, ok := parseAddress(s); ok {
		return d
	}
	if d, ok := parseHost(s); ok {
		return d
	}
	return parseText(s)
}

// guessKind names what a refused value was meant to be, for the message.
func guessKind(s string) DestKind {
	switch {
	case strings.Contains(s, "://"), strings.Contains(s, `:\\`):
		return URL
	case strings.IndexByte(s, '@') > 0:
		return Email
	}
	return Text
}

// trimSpace trims what every reader trims, and nothing else: a line break at the end of a
// destination is a control character, and a no-break space is part of an address to some.
func trimSpace(s string) string { return strings.Trim(s, " \t") }

// hostileText says why a destination must be refused whatever it is, "" if it need not.
func hostileText(s string) string {
	if len(s) > MaxDestination {
		return "too long"
	}
	if !utf8.ValidString(s) {
		return "not valid UTF-8"
	}
	for _, r := range s {
		switch {
		case r == '\r' || r == '\n' || r == 0x2028 || r == 0x2029:
			return "a line break"
		case unicode.IsControl(r):
			return "a control character"
		case r == '\\':
			return "a backslash"
		case r < utf8.RuneSelf, r == 0xFE0E, r == 0xFE0F: // how a symbol is drawn
		case unicode.Is(unicode.Bidi_Control, r):
			return "a bidirectional control character"
		case invisible(r):
			return "an invisible character"
		case r == utf8.RuneError:
			return "a replacement character"
		}
	}
	if i := strings.Index(s, "=?"); i >= 0 && strings.Contains(s[i:], "?=") {
		return "an encoded word"
	}
	return ""
}

// parseHost reads a bare host name or IP address, with an optional port.
func parseHost(s string) (Destination, bool) {
	name, port := cutPort(s)
	if strings.ContainsAny(name, " \t/?#@<>()\"',;&=+*!$|^`{}~%") || !hostShaped(name) {
		return Destination{}, false
	}
	h, why := canonicalHost(name)
	if why != "" {
		return Destination{}, false
	}
	if zeroLed(name) {
		return malformed(s, Host, whyZeroLed), true
	}
	d := Destination{Kind: Host, Raw: s, Canonical: withPort(h, port), parts: parts{read: true, host: h, port: port}}
	return d, true
}

// hostShaped tells host names from other words: a dot between labels, an address, or
// localhost.
func hostShaped(name string) bool {
	switch {
	case strings.HasPrefix(name, "["):
		return true
	case strings.Count(name, ":") > 1:
		_, why := canonicalIPv6(name)
		return why == ""
	}
	h, ok := asciiHost(name)
	if !ok {
		return false
	}
	h = strings.TrimSuffix(h, ".")
	if endsInNumber(h) {
		return looksNumeric(h)
	}
	return strings.IndexByte(h, '.') > 0 || h == "localhost"
}

// cutPort splits "host:port"; port is "" if there is none that is valid.
func cutPort(s string) (host, port string) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.Count(s, ":") > 1 && !strings.HasSuffix(s[:i], "]") {
		return s, ""
	}
	p, ok := canonicalPort(s[i+1:])
	if !ok {
		return s, ""
	}
	return s[:i], p
}

func canonicalPort(s string) (string, bool) {
	if s == "" || len(s) > 5 {
		return "", false
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return "", false
		}
		n = n*10 + int(s[i]-'0')
	}
	p := strings.TrimLeft(s, "0")
	return p, n > 0 && n < 1<<16
}

func withPort(h, port string) string {
	if port == "" {
		return h
	}
	return bracketed(h) + ":" + port
}

// bracketed puts IPv6 addresses into the brackets that URLs and ports need.
func bracketed(h string) string {
	if strings.IndexByte(h, ':') >= 0 {
		return "[" + h + "]"
	}
	return h
}

// parseText takes whatever is left. Decoration that says only what kind of name
// follows is no part of it.
func parseText(s string) Destination {
	c := undecorated(s)
	if strings.IndexFunc(c, func(r rune) bool {
		return r < utf8.RuneSelf && alnum(byte(r)) || r >= utf8.RuneSelf && widthOf(r) != wideSep
	}) < 0 {
		return malformed(s, Text, "neither letters nor digits")
	}
	return Destination{Kind: Text, Raw: s, Canonical: c, parts: parts{read: true, sigil: sigil(s)}}
}

// sigil is the character that says what kind of name follows: #channel, <@user>.
func sigil(s string) byte {
	s = strings.TrimPrefix(s, "<")
	if s != "" && strings.IndexByte("#@!", s[0]) >= 0 {
		return s[0]
	}
	return 0
}

// undecorated strips "#" and "@", and the mention syntax of chats: <@U1>, <#C1|name>.
func undecorated(s string) string {
	c := s
	if strings.HasPrefix(c, "<") && strings.HasSuffix(c, ">") && len(c) > 3 && strings.IndexByte("@#!", c[1]) >= 0 {
		c = c[2 : len(c)-1]
		if id, _, ok := strings.Cut(c, "|"); ok {
			c = id
		}
	} else {
		c = strings.TrimLeft(c, "#@")
	}
	if c = trimSpace(c); c == "" {
		return s
	}
	return c
}
