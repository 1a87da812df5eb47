package flow

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"
)

// dotted emits b[start:end] as a host if it can be one. The path that follows is
// looked at for many-tenant hosts only.
func (s *scanner) dotted(b []byte, start, end int) {
	if end-start > 4*maxHost {
		return
	}
	if start > 0 && b[start-1] == '@' && start != s.urlHost && !pathBehindColon(b[end:]) {
		s.mailDomain(b[start:end])
		return
	}
	var known *uint64
	k := uint64(0)
	if n := behind(b[end:]); s.take == nil && n < maxPath {
		k = s.keys[factHost].sip(b[start : end+n])
		if known = &s.hosts[k%uint64(len(s.hosts))]; *known == k {
			return
		}
	}
	n, ok := s.known[string(b[start:end])]
	if ok && n.name == string(b[start:end]) && plainASCII(n.name) && !endsInNumber(n.name) {
		s.named(n, b[end:])
		if known != nil {
			*known = k
		}
		return
	}
	h := string(b[start:end])
	switch {
	case !endsInNumber(h):
		if !ok {
			n = s.learn(h)
		}
		s.named(n, b[end:])
		if !plainASCII(h) {
			s.latin(h)
		}
	case looksNumeric(h):
		if a, ok := numericIPv4(h); ok {
			s.emit(factHost, a.String())
		}
	}
	if known != nil {
		*known = k
	}
}

// afterAt emits the domain of an address that starts at i, and returns where to go on. Its
// labels are words of nobody's: what stands in ana@ourfirm.example is no "ourfirm".
func (s *scanner) afterAt(b []byte, i int) int {
	end, dotted := i, false
	for end < len(b) && end-i < maxHost && chars[b[end]]&chrName != 0 {
		dotted = dotted || b[end] == '.' && end > i && end+1 < len(b) && alnum(b[end+1])
		end++
	}
	for end > i && !alnum(b[end-1]) {
		end--
	}
	if !dotted || i == s.urlHost || end < len(b) && b[end] >= utf8.RuneSelf || pathBehindColon(b[end:]) || !alnum(b[i]) || !validName(b[i:end]) {
		return i
	}
	s.mailDomain(b[i:end])
	return end
}

// mailDomain emits the domain of an address. It says less than a link does: people at a
// company's domain write mails, and its web site is not theirs to choose.
func (s *scanner) mailDomain(b []byte) {
	if hexDigit(b[len(b)-1]) && endsInNumber(string(b)) {
		s.mailAddress4(string(b))
		return
	}
	n, ok := s.known[string(b)]
	if !ok {
		n = s.learn(string(b))
	}
	if !n.valid {
		return
	}
	s.emit(factMailDomain, n.key)
	if n.glued {
		s.emit(factMailDomain, s.nameOf(n.name[:strings.LastIndexByte(n.name, '.')]).key)
	}
}

// mailAddress4 emits the IPv4 address that stands for the domain of an address.
func (s *scanner) mailAddress4(h string) {
	if a, ok := numericIPv4(h); ok && looksNumeric(h) {
		s.emit(factHost, a.String())
	}
}

// pathBehindColon reports the path of user@host:path, which leads to the host.
func pathBehindColon(rest []byte) bool {
	return len(rest) > 1 && rest[0] == ':' && (alnum(rest[1]) || strings.IndexByte("/~.", rest[1]) >= 0)
}

// behind is the length of a port and path, or more, of what follows a host.
func behind(rest []byte) int {
	i := 0
	if len(rest) == 0 || rest[0] != ':' && !slash(rest[0]) {
		return 0
	}
	for i < len(rest) && i < maxPath && chars[rest[i]]&chrPath != 0 {
		i++
	}
	return i
}

// latin emits the host names in plain ASCII that stand in h among other scripts, which
// write no space before and after them.
func (s *scanner) latin(h string) {
	for part := range strings.FieldsFuncSeq(h, func(r rune) bool { return r >= utf8.RuneSelf }) {
		if part = strings.Trim(part, ".-_"); strings.IndexByte(part, '.') >= 0 && !endsInNumber(part) {
			s.host(part, nil)
		}
	}
}

// host emits the keys of a host name that is followed by rest.
func (s *scanner) host(h string, rest []byte) {
	s.named(s.nameOf(h), rest)
}

// named emits the keys of a name that is followed by rest.
func (s *scanner) named(n hostName, rest []byte) {
	if !n.valid {
		return
	}
	s.names(n, rest)
	if n.inner != "" {
		s.emit(factHost, n.inner)
	}
	if n.glued {
		s.names(s.nameOf(n.name[:strings.LastIndexByte(n.name, '.')]), nil)
	}
}

// hostName is what there is to know of a name in text.
type hostName struct {
	name    string // folded
	valid   bool
	glued   bool // the last label may be the next sentence: x.example.They
	kind    kind
	key     string
	tenants bool   // it is one of tenantHosts
	inner   string // the IPv4 address that it stands for, as names of nip.io do; "" for none
}

// maxNames is how many names are remembered.
const maxNames = 8 << 10

// nameOf works out what a name is; when observing, it remembers.
func (s *scanner) nameOf(h string) hostName {
	if n, ok := s.known[h]; ok {
		return n
	}
	return s.learn(h)
}

// learn is nameOf for a name that is not remembered.
func (s *scanner) learn(h string) hostName {
	n := hostName{name: taintName(h)}
	if n.valid = validName(n.name); n.valid {
		suffix, icann := publicsuffix.PublicSuffix(n.name)
		n.tenants = tenantHosts[n.name]
		if n.kind, n.key = factHost, n.name; !n.tenants {
			n.kind, n.key = domainKey(registrableUnder(suffix, n.name), n.name)
		}
		n.inner = inner4(n.name)
		top := strings.LastIndexByte(n.name, '.')
		n.glued = top > 0 && strings.IndexByte(n.name[:top], '.') > 0 && !knownSuffix(suffix, icann)
	}
	if s.take == nil {
		if len(s.known) >= maxNames {
			clear(s.known)
		}
		s.known[h] = n
	}
	return n
}

func (s *scanner) names(n hostName, rest []byte) {
	h := n.name
	if s.take == nil {
		s.name = appendPlaceKey(s.name[:0], h, pathBehind(rest))
		s.fact(factPlace, s.keys[factPlace].sip(s.name))
	}
	if !n.tenants {
		s.emit(n.kind, n.key)
		return
	}
	s.emit(factHost, h)
	if seg := firstSegment(rest); seg != "" {
		s.emit(hostKey(h, seg))
	}
}

// firstSegment reads the first path segment of what follows a host, an optional port
// included; "" if there is none.
func firstSegment(rest []byte) string {
	i := 0
	if i < len(rest) && rest[i] == ':' {
		for i++; i < len(rest) && rest[i] >= '0' && rest[i] <= '9'; i++ {
		}
	}
	for i < len(rest) && (rest[i] == '/' || rest[i] == '\\') {
		i++
	}
	if i == 0 || rest[i-1] != '/' && rest[i-1] != '\\' {
		return ""
	}
	end := i
	for end < len(rest) && end-i < 256 && chars[rest[end]]&chrSegment != 0 {
		end++
	}
	return segmentKey(string(rest[i:end]))
}

// segmentKey is the form in which a path segment is compared: decoded, folded, without
// the punctuation that prose puts after a link.
func segmentKey(seg string) string {
	if strings.IndexByte(seg, '%') >= 0 {
		if d, ok := percentDecode(nil, seg); ok {
			seg = Fold(string(d))
		}
	}
	return strings.TrimRight(seg, ".-_~%+@ ")
}
