package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
)

// hostPattern is one operand of host or domain.
type hostPattern struct {
	name  string // in canonical form
	self  bool   // the name itself
	below bool   // names below it
}

func (h hostPattern) match(host string) bool {
	if h.self && host == h.name {
		return true
	}
	left, ok := strings.CutSuffix(host, h.name)
	return h.below && ok && len(left) > 1 && left[len(left)-1] == '.'
}

// covers reports whether h matches every host that other matches.
func (h hostPattern) covers(other hostPattern) bool {
	if other.self && !h.match(other.name) {
		return false
	}
	return !other.below || h.below && (h.name == other.name || h.match(other.name))
}

func (o *Operation) hostList(v doc.Value, effect Effect) error {
	list, err := texts(v)
	if err != nil {
		return err
	}
	for i, e := range list {
		h, err := parseHostPattern(o.Operator, e.String(), effect)
		if err != nil {
			return inList(v, i, err)
		}
		o.hosts = append(o.hosts, h)
	}
	o.operands = list
	return nil
}

func parseHostPattern(op Operator, s string, effect Effect) (hostPattern, error) {
	h := hostPattern{self: true, below: op == Domain}
	name, star := strings.CutPrefix(s, "*.")
	switch {
	case star && op == Domain:
		return h, errors.New("domain stands for every name below it already; leave *. out")
	case star:
		h.self, h.below = false, true
	}
	switch {
	case s == "":
		return h, errors.New("write a host here")
	case strings.Contains(name, "*"):
		return h, errors.New(`"*" stands for the left labels of a host (*.example.com), and for nothing else`)
	case strings.Contains(name, "/"):
		return h, errors.New("write the host alone, without scheme, path or length of a network")
	case strings.Contains(name, "@"):
		return h, errors.New("write the domain alone, without what stands before @")
	}
	canonical, why := flow.CanonicalHost(name)
	if why != "" {
		if i := strings.LastIndexByte(name, ':'); i > 0 && !strings.Contains(name[:i], ":") {
			return h, errors.New("write the host alone, without its port")
		}
		return h, fmt.Errorf("it can never match: %s", why)
	}
	h.name = canonical
	address, err := netip.ParseAddr(canonical)
	isAddress := err == nil
	switch {
	case isAddress && h.below:
		return h, errors.New("an IP address has no names below it; use host and the address alone")
	case isAddress && embeds(address):
		return h, errors.New("an IPv6 address with an IPv4 address inside is never compared; write the IPv4 address")
	case h.below && effect == Allow && flow.PublicSuffix(canonical):
		return h, errors.New("that is everybody below a public suffix; name a domain, such as example.com")
	}
	return h, nil
}

// carriers are the networks of IPv6 whose addresses lead to an IPv4 address: IPv4-
// compatible (RFC 4291 section 2.5.5.1), translated (RFC 2765), NAT64 (RFC 6052, RFC
// 8215), 6to4 (RFC 3056), Teredo (RFC 4380) and ISATAP is not recognisable by prefix.
var carriers = []netip.Prefix{
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("::ffff:0:0:0/96"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"),
}

// embeds reports an IPv6 address that leads to an IPv4 address in ways that not every
// network takes. The mapped form is already that address.
func embeds(a netip.Addr) bool {
	if !a.Is6() || a.IsUnspecified() || a.IsLoopback() {
		return false
	}
	for _, p := range carriers {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// host applies host and domain.
func (e *evaluator) host(o *Operation, v doc.Value) Outcome {
	if v.Kind() != doc.String {
		return e.wrongKind(v.Kind(), wantDestination)
	}
	hosts, why := flow.Hosts(v.String())
	if why != "" {
		return e.cannot(why)
	}
	passed := 0
	for _, h := range hosts {
		if strings.IndexByte(h, ':') >= 0 {
			if a, err := netip.ParseAddr(h); err != nil || embeds(a) {
				return e.cannot("an IPv6 address with an IPv4 address inside")
			}
		}
		for i := range o.hosts {
			if o.hosts[i].match(h) {
				passed++
				break
			}
		}
	}
	switch passed {
	case len(hosts):
		return Pass
	case 0:
		return Fail
	}
	return e.cannot("it names several hosts, and only some are listed")
}
