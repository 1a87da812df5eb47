package flow

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// hostName is what there is to know of a name in text.
type hostName struct {
	text    string
	name    string // folded
	plain   bool   // in ASCII, and folded it is the same
	valid   bool
	glued   bool // the last label may be the next sentence: x.example.They
	kind    kind
	key     string
	tenants bool   // it is one of tenantHosts
	inner   string // the IPv4 address that it stands for, as names of nip.io do; "" for none
}

// seenNames are names that text showed lately, each at the place that its hash gives.
type seenNames struct {
	seed  maphash.Seed
	names [4 << 10]*hostName
	tops  [1 << topBits]topLabel
}

const topBits = 12

func newSeenNames() *seenNames { return &seenNames{seed: maphash.MakeSeed()} }

// nameOf works out what a name is; when observing, it remembers.
func (s *scanner) nameOf(h []byte) *hostName {
	if s.seen == nil {
		return learn(string(h))
	}
	slot := &s.seen.names[maphash.Bytes(s.seen.seed, h)%uint64(len(s.seen.names))]
	if n := *slot; n == nil || n.text != string(h) {
		*slot = learn(string(h))
	}
	return *slot
}

func learn(h string) *hostName {
	n := &hostName{text: h, name: taintName(h)}
	n.plain = n.name == h && plainASCII(h)
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
	return n
}

// unlisted returns the registered part of the host name b[start:end], if that is all that
// nameOf would find out: it is valid, in ASCII, has no punycode, no number at its end and
// no second name in it, and the public suffix list knows nothing of its last label.
// Reserved names, the local parts of addresses and fields in code are such names. Behind b
// there must be scanAhead zero bytes.
func (s *scanner) unlisted(b []byte, start, end int) (registered []byte, ok bool) {
	if s.seen == nil || end-start > maxHost {
		return nil, false
	}
	ahead := b[:len(b)+scanAhead]
	label, last, dots := start, start, 0 // where this label starts, and the one before it
	for i := start; ; i++ {
		j := wordEnd(ahead, i)
		if j == i {
			return nil, false
		}
		i = j
		if j >= end || b[j] == '.' {
			if j > end || j-label > maxLabel {
				return nil, false
			}
			if j == end {
				break
			}
			last, label, dots = label, j+1, dots+1
		} else if b[j] != '-' && b[j] != '_' {
			return nil, false
		}
	}
	if dots == 0 || !letter(b[label]) || end-label > maxTop {
		return nil, false
	}
	top := s.seen.top(newTopLabel(ahead[label:], end-label))
	return b[last:end], top&topUnlisted != 0 && (dots == 1 || top&topReserved != 0)
}

// topLabel is a last label of at most maxTop bytes, the first one the lowest, and in the
// highest byte what is remembered of it.
type topLabel struct{ lo, hi uint64 }

const maxTop = 15

const (
	topKnown    = 1 << (56 + iota) // the slot is taken
	topUnlisted                    // the public suffix list does not have it
	topReserved
)

// newTopLabel is the first n bytes of ahead, behind which there must be scanAhead more.
func newTopLabel(ahead []byte, n int) topLabel {
	lo := binary.LittleEndian.Uint64(ahead)
	if n < 8 {
		return topLabel{lo: lo & (1<<(8*uint(n)) - 1)}
	}
	return topLabel{lo, binary.LittleEndian.Uint64(ahead[8:]) & (1<<(8*uint(n-8)) - 1)}
}

// top returns what there is to know of a last label.
func (s *seenNames) top(l topLabel) uint64 {
	slot := &s.tops[(l.lo*0x9E3779B97F4A7C15^l.hi*0xC2B2AE3D27D4EB4F)>>(64-topBits)]
	if slot.hi == 0 || slot.lo != l.lo || slot.hi<<8 != l.hi<<8 {
		*slot = l.known()
	}
	return slot.hi
}

func (l topLabel) known() topLabel {
	b := append(make([]byte, 0, 2+16), "a."...)
	b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, l.lo), l.hi)
	name := string(bytes.TrimRight(b, "\x00"))
	suffix, icann := publicsuffix.PublicSuffix(name)
	l.hi |= topKnown
	if suffix == name[2:] && !icann { // what is listed is ICANN's, or has every name below it listed
		l.hi |= topUnlisted
	}
	if reservedTops[name[2:]] {
		l.hi |= topReserved
	}
	return l
}
