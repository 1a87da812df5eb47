package flow

import (
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
	tops  [1 << topBits]uint64
}

const topBits = 10

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
	if dots == 0 || !letter(b[label]) || end-label > 7 {
		return nil, false
	}
	top := s.seen.top(binary.LittleEndian.Uint64(ahead[label:]) & (1<<(8*uint(end-label)) - 1))
	return b[last:end], top&topUnlisted != 0 && (dots == 1 || top&topReserved != 0)
}

// What is remembered of a last label of at most seven bytes, in the highest byte above it.
const (
	topKnown    = 1 << (56 + iota) // the slot is taken
	topUnlisted                    // the public suffix list does not have it
	topReserved
)

// top returns what a last label is, the first letter in the lowest byte.
func (s *seenNames) top(label uint64) uint64 {
	slot := &s.tops[label*0x9E3779B97F4A7C15>>(64-topBits)]
	if *slot == 0 || *slot<<8 != label<<8 {
		*slot = newTop(label)
	}
	return *slot
}

func newTop(label uint64) uint64 {
	text := strings.TrimRight(string(binary.LittleEndian.AppendUint64(nil, label)), "\x00")
	suffix, icann := publicsuffix.PublicSuffix("a." + text)
	top := label | topKnown
	if suffix == text && !icann { // what is listed is ICANN's, or has every name below it listed
		top |= topUnlisted
	}
	if reservedTops[text] {
		top |= topReserved
	}
	return top
}
