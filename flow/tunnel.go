package flow

import (
	"net/netip"
	"strings"
)

// wildcardNames are domains whose servers answer any name with the address in it.
var wildcardNames = []string{".nip.io", ".sslip.io", ".xip.io", ".traefik.me"}

// inner4 returns the IPv4 address that a connection to h ends at, though h is another
// address or a name; "" if there is none: NAT64 (RFC 6052), 6to4 (RFC 3056), the
// deprecated compatible form (RFC 4291 section 2.5.5.1), and names that spell it.
func inner4(h string) string {
	if strings.IndexByte(h, ':') < 0 {
		for _, w := range wildcardNames {
			if name, ok := strings.CutSuffix(h, w); ok {
				return spelledIPv4(name)
			}
		}
		return ""
	}
	a, err := netip.ParseAddr(h)
	if err != nil || !a.Is6() {
		return ""
	}
	b := a.As16()
	low := netip.AddrFrom4([4]byte(b[12:16]))
	switch {
	case strings.HasPrefix(string(b[:]), "\x00\x64\xff\x9b\x00\x00\x00\x00\x00\x00\x00\x00"):
		return low.String()
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:6])).String()
	case strings.HasPrefix(string(b[:]), strings.Repeat("\x00", 12)) && b[12] != 0:
		return low.String()
	}
	return ""
}

// spelledIPv4 reads the address at the end of a name: x.203.0.113.7, x-203-0-113-7 or
// x.cb007107.
func spelledIPv4(name string) string {
	fields := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '-' })
	if n := len(fields); n > 0 && len(fields[n-1]) == 8 && onlyHex(fields[n-1]) {
		if a, ok := numericIPv4("0x" + fields[n-1]); ok {
			return a.String()
		}
	}
	if n := len(fields); n >= 4 {
		if a, err := netip.ParseAddr(strings.Join(fields[n-4:], ".")); err == nil {
			return a.String()
		}
	}
	return ""
}

// ip emits an address, and the one that it leads to.
func (s *scanner) ip(h string) {
	s.emit(factHost, h)
	if v4 := inner4(h); v4 != "" {
		s.emit(factHost, v4)
	}
}
