package flow

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Limits of DNS names, RFC 1035 section 2.3.4.
const (
	maxHost  = 253
	maxLabel = 63
)

// names maps host names as browsers do: UTS #46, non-transitional.
var names = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.StrictDomainName(false),
	idna.CheckHyphens(false),
	idna.BidiRule(),
)

// canonicalHost reads a host name or IP address, IPv6 in brackets or not: lower case,
// in ASCII, no trailing dot, addresses in the one form that net/netip prints (an
// IPv4-mapped one as IPv4). why says what is wrong; it is "" if host is good.
func canonicalHost(s string) (host, why string) {
	if strings.HasPrefix(s, "[") || strings.Count(s, ":") > 1 {
		return canonicalIPv6(s)
	}
	if strings.ContainsRune(s, '%') {
		return "", "the host is percent-encoded"
	}
	h, ok := asciiHost(s)
	if !ok {
		return "", "not a valid host name"
	}
	h = strings.TrimSuffix(h, ".")
	if endsInNumber(h) {
		a, ok := numericIPv4(h)
		if !ok {
			return "", "a host that ends in a number but is no IPv4 address"
		}
		return a.String(), ""
	}
	if !validName(h) || hasACE(h) && !readable(h) {
		return "", "not a valid host name"
	}
	return h, ""
}

// readable reports that a name in punycode stands for letters and digits: others are no
// part of names in text, and IDNA 2008 forbids them. What is drawn like a slash or a dot
// makes people read another host, and some programs too.
func readable(h string) bool {
	u, err := names.ToUnicode(h)
	if err != nil {
		return false
	}
	for label := range strings.SplitSeq(u, ".") {
		if strings.Trim(label, "-_") != label || strings.ContainsFunc(label, func(r rune) bool {
			return r >= utf8.RuneSelf && widthOf(r) == wideSep || stopOf[r] == '/' || stopOf[r] == '.'
		}) {
			return false
		}
	}
	return true
}

func canonicalIPv6(s string) (host, why string) {
	if strings.HasPrefix(s, "[") {
		if !strings.HasSuffix(s, "]") {
			return "", "an IPv6 address without its closing bracket"
		}
		s = s[1 : len(s)-1]
	}
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		return "", "not a valid IP address"
	}
	return a.Unmap().String(), ""
}

// asciiHost lower-cases and maps to ASCII.
func asciiHost(s string) (string, bool) {
	if len(s) > 4*maxHost {
		return "", false
	}
	if plainASCII(s) && !hasACE(s) {
		return strings.ToLower(s), true
	}
	h, err := names.ToASCII(s)
	return h, err == nil
}

// validName checks labels. Underscores are let through inside, because real names have
// them, and not at the ends, where in prose they are markup.
func validName[T string | []byte](h T) bool {
	if len(h) == 0 || len(h) > maxHost {
		return false
	}
	start := 0 // of a label
	for i := 0; i <= len(h); i++ {
		if i < len(h) && h[i] != '.' {
			if chars[h[i]]&chrName == 0 {
				return false
			}
			continue
		}
		if i == start || i-start > maxLabel || !alnum(h[start]) || !alnum(h[i-1]) {
			return false
		}
		start = i + 1
	}
	return true
}

// taintName is the form in which a name is looked for: its Unicode form folded hard,
// in ASCII again.
func taintName(h string) string {
	if plainASCII(h) && !hasACE(h) {
		return h
	}
	u, err := names.ToUnicode(h)
	if err != nil {
		u = h
	}
	if a, err := names.ToASCII(skeleton(Fold(u))); err == nil && a != "" {
		return strings.TrimSuffix(a, ".")
	}
	return h
}

func isIP(h string) bool {
	if strings.IndexByte(h, ':') < 0 && (h == "" || !digit(h[len(h)-1])) {
		return false
	}
	_, err := netip.ParseAddr(h)
	return err == nil
}

// hostKey says which key stands for a host when looking for taint, and the key.
func hostKey(h, segment string) (kind, string) {
	if tenantHosts[h] {
		if segment == "" {
			return factHost, h
		}
		return factTenant, h + "/" + segment
	}
	return domainKey(registrable(h), h)
}

// domainKey is the key of a name and its registered part.
func domainKey(registered, h string) (kind, string) {
	if registered != "" {
		return factDomain, registered
	}
	return factHost, h
}

// registrable returns the part of a name that somebody registered, "" if it has none:
// an address, a single label, a public suffix. Names of which many people share the
// registered part (github.io, slack.com) keep one label more.
func registrable(h string) string {
	suffix, _ := publicsuffix.PublicSuffix(h)
	return registrableUnder(suffix, h)
}

// registrableUnder is registrable for a name of which the public suffix is known.
func registrableUnder(suffix, h string) string {
	if h == "" || strings.IndexByte(h, '.') < 0 || h[0] == '[' || strings.IndexByte(h, ':') >= 0 {
		return ""
	}
	if c := h[len(h)-1]; c >= '0' && c <= '9' && endsInNumber(h) {
		return ""
	}
	r := oneMore(h, suffix)
	if tenantSuffixes[r] {
		if more := oneMore(h, r); more != "" {
			return more
		}
	}
	return r
}

// oneMore returns suffix and the label of h before it, "" if there is none.
func oneMore(h, suffix string) string {
	cut := len(h) - len(suffix) - 1
	if cut <= 0 || h[cut] != '.' {
		return ""
	}
	return h[strings.LastIndexByte(h[:cut], '.')+1:]
}

// knownTop reports that the last labels of h are in use on the internet or reserved
// for private use and documentation (RFC 2606, RFC 6761, RFC 9476).
func knownTop(h string) bool {
	return knownSuffix(publicsuffix.PublicSuffix(h))
}

func knownSuffix(suffix string, icann bool) bool {
	return icann || strings.IndexByte(suffix, '.') >= 0 || reservedTops[suffix]
}

var reservedTops = map[string]bool{
	"example": true, "test": true, "invalid": true, "localhost": true, "local": true, "internal": true,
	"lan": true, "home": true, "corp": true, "intranet": true, "private": true, "onion": true, "alt": true, "arpa": true,
}

// endsInNumber is the test of the URL standard for a host that must be IPv4.
func endsInNumber(h string) bool {
	last := h[strings.LastIndexByte(h, '.')+1:]
	if last == "" {
		return false
	}
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return onlyHex(hex)
	}
	for i := range len(last) {
		if last[i] < '0' || last[i] > '9' {
			return false
		}
	}
	return true
}

func onlyHex(s string) bool {
	for i := range len(s) {
		if !hexDigit(s[i]) {
			return false
		}
	}
	return true
}

// numericIPv4 reads every form that browsers and inet_aton take: 203.0.113.7,
// 203.0.28935, 3405803783, 0313.0.0161.07, 0xcb007107.
func numericIPv4(h string) (netip.Addr, bool) {
	parts := strings.Split(h, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, p := range parts {
		n, ok := ipv4Number(p)
		if !ok {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			sum |= n << (24 - 8*i)
			continue
		}
		if n >= 1<<(32-8*i) {
			return netip.Addr{}, false
		}
		sum |= n
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}

const whyZeroLed = "an IPv4 address with zeros in front of its numbers, which some programs read as octal and others as decimal"

// zeroLed reports four numbers of which one has a zero in front, as in 0177.0.0.1: that is
// 127.0.0.1 for browsers and 177.0.0.1 for others, so nobody can say yes to it. In what was
// seen it counts as what browsers read.
func zeroLed(h string) bool {
	p := strings.Split(strings.TrimSuffix(h, "."), ".")
	if len(p) != 4 {
		return false
	}
	led := false
	for _, n := range p {
		if n == "" || strings.Trim(n, "0123456789") != "" {
			return false
		}
		led = led || len(n) > 1 && n[0] == '0'
	}
	return led
}

func ipv4Number(s string) (uint64, bool) {
	if s == "" || len(s) > 20 {
		return 0, false
	}
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		if s, base = s[2:], 16; s == "" {
			return 0, true
		}
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil && strings.IndexByte(s, '_') < 0
}

// looksNumeric reports a bare token that is taken for an address without a scheme
// before it: four parts, or several with a hexadecimal one. Others are versions,
// amounts and numbers.
func looksNumeric(h string) bool {
	dots := strings.Count(h, ".")
	return endsInNumber(h) && (dots == 3 || dots > 0 && strings.Contains(h, "0x"))
}

func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hasACE reports a label in punycode.
func hasACE(s string) bool {
	for i := 0; i+4 <= len(s); i++ {
		if s[i]|0x20 == 'x' && s[i+1]|0x20 == 'n' && s[i+2] == '-' && s[i+3] == '-' {
			return true
		}
	}
	return false
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}
