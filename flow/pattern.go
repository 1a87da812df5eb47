package flow

import (
	"errors"
	"fmt"
	"strings"
)

// Pattern is one entry of trusted_destinations: an address, "*@domain", a URL, a
// host, or plain text. It matches whole parsed values in canonical form, never a
// prefix or substring. "*" stands for one whole part only: the local part of an
// address, or the left labels of a host, at least one ("*.example.com" is not
// example.com). A URL is compared by scheme, host, port and path; an entry without
// a path stands for its host. A host stands for itself on every port and scheme,
// and for no mail address. The zero Pattern matches nothing.
type Pattern struct {
	text     string
	kind     DestKind
	anyLocal bool // "*@…"
	anyLabel bool // "*." before the host
	want     parts
	plain    string // of Text
}

// String returns the entry as it was written.
func (p Pattern) String() string { return p.text }

// ParsePattern compiles an entry. Errors say what is wrong and what was meant; they
// quote nothing of s.
func ParsePattern(s string) (Pattern, error) {
	p := Pattern{text: s}
	t := trimSpace(s)
	if t == "" {
		return Pattern{}, errors.New("an empty entry matches nothing; leave it out")
	}
	if i := strings.IndexByte(t, '*'); i >= 0 {
		var err error
		if t, err = p.stars(t); err != nil {
			return Pattern{}, err
		}
	}
	ds := parseList(t)
	d := ds[0]
	switch {
	case d.Malformed != "":
		return Pattern{}, fmt.Errorf("it can never match: %s", d.Malformed)
	case len(ds) > 1:
		return Pattern{}, errors.New("one entry names one destination; write a list")
	case d.Kind == Email && (strings.ContainsAny(t, "<\"") || d.parts.odd):
		return Pattern{}, errors.New("an address without display name, quotes, % and ! is meant")
	case d.Kind == Text && d.parts.sigil == '@' && strings.IndexByte(d.Canonical, '.') > 0 && knownTop(lowerASCII(d.Canonical)):
		return Pattern{}, errors.New("@ and a domain is nobody's address; write *@example.com for everybody there")
	case d.Kind == URL && strings.ContainsAny(t, "?#"):
		return Pattern{}, errors.New("a URL is compared by scheme, host, port and path; leave query and fragment out")
	}
	if p.anyLabel {
		d.parts.host = strings.TrimPrefix(d.parts.host, "x.")
	}
	if err := p.fits(d); err != nil {
		return Pattern{}, err
	}
	p.kind, p.want, p.plain = d.Kind, d.parts, d.Canonical
	return p, nil
}

// stars puts "x" in place of the stars of an entry, for the parser.
func (p *Pattern) stars(t string) (string, error) {
	if rest, ok := strings.CutPrefix(t, "*@"); ok {
		p.anyLocal = true
		if label, ok := strings.CutPrefix(rest, "*."); ok {
			p.anyLabel, rest = true, "x."+label
		}
		t = "x@" + rest
	} else if rest, ok := strings.CutPrefix(t, "*."); ok {
		p.anyLabel, t = true, "x."+rest
	} else if before, after, ok := strings.Cut(t, "://*."); ok {
		p.anyLabel, t = true, before+"://x."+after
	}
	if strings.IndexByte(t, '*') >= 0 {
		return "", errors.New(`"*" stands for a whole local part (*@example.com) or for the left labels of a host (*.example.com), and for nothing else`)
	}
	return t, nil
}

// fits checks that what is left after the stars is what they were meant for.
func (p *Pattern) fits(d Destination) error {
	switch {
	case p.anyLocal && d.Kind != Email:
		return errors.New(`"*@" is followed by a domain: *@example.com`)
	case !p.anyLabel && !p.anyLocal:
		return nil
	case d.Kind == Text, isIP(d.parts.host):
		return errors.New(`"*." is followed by a domain name: *.example.com`)
	}
	h := d.parts.host
	if registrable(h) == "" && (p.anyLabel || knownTop(h)) && !reservedTops[h] {
		return errors.New("that is everybody below a public suffix; name a domain: *.example.com or *@example.com")
	}
	return nil
}

// Matches reports whether the entry names d.
func (p Pattern) Matches(d Destination) bool {
	if p.text == "" || !d.parts.read || d.Malformed != "" {
		return false
	}
	switch p.kind {
	case Email:
		return d.Kind == Email && !d.parts.odd && (p.anyLocal || p.want.local == d.parts.local) && p.host(d.parts.host)
	case URL:
		return p.url(d)
	case Host:
		return (d.Kind == Host || d.Kind == URL) && p.host(d.parts.host) && (p.want.port == "" || p.want.port == effectivePort(d.parts))
	}
	// #general is no @general; without either, both are meant.
	return d.Kind == Text && p.plain == d.Canonical && (p.want.sigil == d.parts.sigil || p.want.sigil == 0 || d.parts.sigil == 0)
}

func (p Pattern) host(h string) bool {
	if !p.anyLabel {
		return p.want.host == h
	}
	left, ok := strings.CutSuffix(h, "."+p.want.host)
	return ok && left != ""
}

func (p Pattern) url(d Destination) bool {
	if !p.host(d.parts.host) {
		return false
	}
	wholeHost := p.want.path == "/"
	if d.Kind == Host {
		return wholeHost && (d.parts.port == "" && p.want.port == "" || d.parts.port != "" && d.parts.port == effectivePort(p.want))
	}
	return d.Kind == URL && p.want.scheme == d.parts.scheme && effectivePort(p.want) == effectivePort(d.parts) &&
		(wholeHost || p.want.path == d.parts.path)
}

// effectivePort is the port written, or the scheme's own.
func effectivePort(p parts) string {
	if p.port != "" {
		return p.port
	}
	if port := webSchemes[p.scheme]; port != "" {
		return port
	}
	return netSchemes[p.scheme]
}
