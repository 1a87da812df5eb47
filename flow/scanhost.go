package flow

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// dotted emits b[start:end] as a host if it can be one. The path that follows is
// looked at for many-tenant hosts only.
func (s *scanner) dotted(b []byte, start, end int) {
	if end-start > 4*maxHost {
		return
	}
	mail := start > 0 && b[start-1] == '@' && start != s.urlHost && !pathBehindColon(b[end:])
	if registered, ok := s.unlisted(b, start, end); ok {
		if mail {
			s.fact(factMailDomain, s.keys[factMailDomain].sip(registered))
		} else {
			s.site(b, start, end, registered)
		}
		return
	}
	h := b[start:end]
	switch {
	case mail:
		s.mailDomain(h)
		return
	case inNumber(h):
		s.bareNumber(h)
		return
	}
	n := s.nameOf(h)
	if !n.plain {
		s.named(n, s.placeOf(n.name, b[end:]), b[end:])
		if !plainASCII(n.text) {
			s.latin(n.text)
		}
		return
	}
	if s.take != nil {
		s.named(n, 0, b[end:])
		return
	}
	place, whole := s.place(b, start, end)
	if slot := s.shown(place); !whole {
		s.named(n, place, b[end:])
	} else if *slot != place {
		s.named(n, place, b[end:])
		*slot = place
	}
}

// site emits the name b[start:end] with what follows it, if unlisted returned its
// registered part.
func (s *scanner) site(b []byte, start, end int, registered []byte) {
	place, _ := s.place(b, start, end)
	if slot := s.shown(place); *slot != place {
		s.fact(factPlace, place)
		s.fact(factDomain, s.keys[factDomain].sip(registered))
		*slot = place
	}
}

// shown returns where the hash of a place stands if all that it says was emitted lately.
func (s *scanner) shown(place uint64) *uint64 { return &s.hosts[place%uint64(len(s.hosts))] }

// place is placeOf for a plain name, b[start:end]. whole says that the place has the whole
// path, as it stands.
func (s *scanner) place(b []byte, start, end int) (hash uint64, whole bool) {
	path := pathBehind(b[end:])
	if len(path) > 0 {
		whole = len(path) < maxPath && bytes.IndexByte(path, '%') < 0
		if !whole || b[end] == ':' || bytes.IndexByte(path, '\\') >= 0 {
			s.name = appendPlaceKey(append(s.name[:0], b[start:end]...), "", path)
			return s.keys[factPlace].sip(s.name), whole
		}
		return s.keys[factPlace].sip(trimPlace(b[start:end+len(path)], end-start)), true
	}
	return s.keys[factPlace].sip(b[start:end]), true
}

// placeOf is the hash of a name with the path in rest; 0 for a lookup, which asks for none.
func (s *scanner) placeOf(name string, rest []byte) uint64 {
	if s.take != nil {
		return 0
	}
	s.name = appendPlaceKey(s.name[:0], name, pathBehind(rest))
	return s.keys[factPlace].sip(s.name)
}

// bareNumber emits what stands in text without a scheme before it and ends in a number, if
// it is taken for an IPv4 address.
func (s *scanner) bareNumber(h []byte) {
	if dots := bytes.Count(h, []byte(".")); dots != 3 && (dots == 0 || !bytes.Contains(h, []byte("0x"))) {
		return
	}
	var slot *uint64
	k := uint64(0)
	if s.take == nil {
		k = s.keys[factHost].sip(h)
		if slot = s.shown(k); *slot == k {
			return
		}
		*slot = k
	}
	s.address4(string(h))
}

// afterAt emits the domain of an address that starts at i, and returns where to go on. Its
// labels are words of nobody's: what stands in ana@ourfirm.example is no "ourfirm". Where no
// letter or digit stands before the "@", it is no address but somebody's name, @ana.maria,
// whose words count.
func (s *scanner) afterAt(b []byte, i int) int {
	if i < 2 || !alnum(b[i-2]) {
		return i
	}
	end, dotted := i, false
	for end < len(b) && end-i < maxHost && chars[b[end]]&chrName != 0 {
		dotted = dotted || b[end] == '.' && end > i && end+1 < len(b) && alnum(b[end+1])
		end++
	}
	for end > i && !alnum(b[end-1]) {
		end--
	}
	if !dotted || i == s.urlHost || end < len(b) && b[end] >= utf8.RuneSelf || pathBehindColon(b[end:]) || !alnum(b[i]) {
		return i
	}
	if registered, ok := s.unlisted(b, i, end); ok {
		s.fact(factMailDomain, s.keys[factMailDomain].sip(registered))
		return end
	}
	if h := b[i:end]; !validName(h) || digit(h[bytes.LastIndexByte(h, '.')+1]) { // perhaps an account: its words count
		return i
	}
	s.mailDomain(b[i:end])
	return end
}

// mailDomain emits the domain of an address. It says less than a link does: people at a
// company's domain write mails, and its web site is not theirs to choose.
func (s *scanner) mailDomain(b []byte) {
	if hexDigit(b[len(b)-1]) && endsInNumber(string(b)) {
		s.address4(string(b))
		return
	}
	n := s.nameOf(b)
	if !n.valid {
		return
	}
	s.emit(factMailDomain, n.key)
	if n.glued {
		s.emit(factMailDomain, s.shorter(n).key)
	}
}

// address4 emits the IPv4 address that h is taken for without a scheme before it.
func (s *scanner) address4(h string) {
	if a, ok := numericIPv4(h); ok && looksNumeric(h) {
		s.emit(factHost, a.String())
	}
}

// inNumber is endsInNumber for bytes.
func inNumber(h []byte) bool {
	last := h[len(h)-1]
	return (hexDigit(last) || last == 'x') && endsInNumber(string(h))
}

// pathBehindColon reports the path of user@host:path, which leads to the host.
func pathBehindColon(rest []byte) bool {
	return len(rest) > 1 && rest[0] == ':' && (alnum(rest[1]) || strings.IndexByte("/~.", rest[1]) >= 0)
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
	n := s.nameOf([]byte(h))
	s.named(n, s.placeOf(n.name, rest), rest)
}

// named emits the keys of a name that is followed by rest, which is the place of that hash.
func (s *scanner) named(n *hostName, place uint64, rest []byte) {
	if !n.valid {
		return
	}
	s.names(n, place, rest)
	if n.inner != "" {
		s.emit(factHost, n.inner)
	}
	if n.glued {
		short := s.shorter(n)
		s.names(short, s.placeOf(short.name, nil), nil)
	}
}

// shorter is a glued name without its last label.
func (s *scanner) shorter(n *hostName) *hostName {
	return s.nameOf([]byte(n.name[:strings.LastIndexByte(n.name, '.')]))
}

func (s *scanner) names(n *hostName, place uint64, rest []byte) {
	if s.take == nil {
		s.fact(factPlace, place)
	}
	if !n.tenants {
		s.emit(n.kind, n.key)
		return
	}
	s.emit(factHost, n.name)
	if seg := firstSegment(rest); seg != "" {
		s.emit(hostKey(n.name, seg))
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
