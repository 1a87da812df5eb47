package flow

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parseAddress reads a mail address: bare, in angle brackets, with a display name.
// ok is false if s is none; what means to be one but cannot be read is malformed.
func parseAddress(s string) (d Destination, ok bool) {
	if !strings.Contains(s, "@") || handle(s) {
		return d, false
	}
	spec := s
	if strings.HasSuffix(s, ">") {
		open := strings.LastIndexByte(s, '<')
		if open < 0 {
			return malformed(s, Email, "a bracket that does not open"), true
		}
		if why := badDisplay(s[:open]); why != "" {
			return malformed(s, Email, why), true
		}
		spec = trimSpace(s[open+1 : len(s)-1])
	} else if !mailShaped(s) {
		return d, false
	}
	p, why := mailbox(spec)
	if why != "" {
		return malformed(s, Email, why), true
	}
	return Destination{Kind: Email, Raw: s, Canonical: p.local + "@" + mailHost(p.host), parts: p}, true
}

// handle reports @name and <@ID>, which are no addresses.
func handle(s string) bool {
	if inner, ok := strings.CutPrefix(s, "<@"); ok {
		return strings.HasSuffix(inner, ">") && strings.IndexByte(inner, '@') < 0
	}
	return s[0] == '@' && strings.IndexByte(s[1:], '@') < 0 && strings.IndexByte(s, '<') < 0
}

// mailShaped tells addresses, and what some reader could take for one, from text with
// a stray "@". Spaces round "@" are legal in mail (RFC 5322 section 4.4).
func mailShaped(s string) bool {
	one := strings.IndexByte(s, ' ') < 0
	s = strings.ReplaceAll(s, " @", "@")
	s = strings.ReplaceAll(s, "@ ", "@")
	for f := range strings.FieldsSeq(s) {
		if i := strings.IndexByte(f, '@'); i > 0 && i < len(f)-1 {
			if one || strings.IndexByte(f[i:], '.') > 0 || strings.IndexByte(f[i:], '[') > 0 {
				return true
			}
		}
	}
	return false
}

// badDisplay says why what stands before <address> cannot be a display name.
func badDisplay(s string) string {
	s = trimSpace(s)
	quoted := len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"'
	if quoted {
		s = s[1 : len(s)-1]
	}
	switch {
	case strings.ContainsAny(s, `"<>`):
		return "a display name that cannot be read"
	case !quoted && strings.ContainsAny(s, "()"):
		return "a comment in an address"
	}
	return ""
}

// displayAddress returns the address that a display name is or holds: one is shown, and
// the other is written to.
func displayAddress(s string) (string, bool) {
	open := strings.LastIndexByte(s, '<')
	if open <= 0 || !strings.HasSuffix(s, ">") {
		return "", false
	}
	name := strings.Trim(s[:open], " \t\"'")
	return name, strings.IndexByte(strings.Trim(name, "@"), '@') > 0
}

// mailbox reads local@domain and holds the result against net/mail.
func mailbox(s string) (p parts, why string) {
	local, domain, why := cutMailbox(s)
	if why != "" {
		return p, why
	}
	host := domain
	inner, literal := strings.CutPrefix(domain, "[")
	if literal {
		inner = strings.TrimSuffix(inner, "]")
		if len(inner) > 5 && strings.EqualFold(inner[:5], "ipv6:") {
			inner = inner[5:]
		}
		if !isIP(inner) {
			return p, "an address literal that cannot be read"
		}
		host = inner
	}
	h, why := canonicalHost(host)
	if why != "" {
		return p, why
	}
	if isIP(h) && !literal {
		return p, "a mail domain that is a number"
	}
	p = parts{read: true, local: lowerASCII(local), host: h}
	p.odd = strings.HasPrefix(s, `"`) || strings.ContainsAny(local, "%!")
	check := local + "@" + domain
	if a, err := mail.ParseAddress(check); err != nil || a.Name != "" || a.Address != check {
		return p, "not a mail address that can be read"
	}
	return p, ""
}

// cutMailbox splits at the one "@". A quoted local part must need no quotes.
func cutMailbox(s string) (local, domain, why string) {
	if strings.ContainsAny(s, "()") {
		return "", "", "a comment in an address"
	}
	i := strings.LastIndexByte(s, '@')
	if i < 0 {
		return "", "", "not a mail address that can be read"
	}
	local, domain = s[:i], strings.TrimSuffix(s[i+1:], ".")
	if len(local) > 1 && local[0] == '"' && local[len(local)-1] == '"' {
		local = local[1 : len(local)-1]
		if strings.IndexByte(local, '@') >= 0 {
			return "", "", "an address in the local part of another"
		}
	}
	for _, r := range local {
		if c := byte(r); r < utf8.RuneSelf && !alnum(c) && !atext(c) || r >= utf8.RuneSelf && widthOf(r) == wideSep {
			return "", "", "not a mail address that can be read"
		}
	}
	// What folds to a space or a separator is read as two words in text.
	if !plainASCII(local) && strings.ContainsFunc(Fold(local), func(r rune) bool { return r < utf8.RuneSelf && !alnum(byte(r)) && !atext(byte(r)) }) {
		return "", "", "not a mail address that can be read"
	}
	if local == "" || domain == "" || len(local) > maxLocal || strings.ContainsFunc(s, oddSpace) {
		return "", "", "not a mail address that can be read"
	}
	return local, domain, ""
}

// oddSpace reports white space, and what only changes how the character before it is
// drawn.
func oddSpace(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Variation_Selector, r) }

func mailHost(h string) string {
	if !isIP(h) {
		return h
	}
	if strings.IndexByte(h, ':') >= 0 {
		return "[IPv6:" + h + "]"
	}
	return "[" + h + "]"
}

func lowerASCII(s string) string {
	for i := range len(s) {
		if lower[s[i]] != s[i] {
			b := []byte(s)
			for j := range b {
				b[j] = lower[b[j]]
			}
			return string(b)
		}
	}
	return s
}
