package flow

import (
	"encoding/binary"
	"math/bits"
)

// A hashSet holds hashes under a secret key, close to each other. The top 9 bits of a
// hash choose a group, 2 or more that follow a leaf of it. A slot keeps the 32 or 40 bits
// behind the first 11, so that two hashes are one to the set when they agree in their
// first 43 or 51 bits. Nobody outside can
// choose hashes that do. Nothing else is lossy: a hash that was added is found, and
// another one is found with a probability of count/2^43 or count/2^51.
//
// A leaf is slots in no order,
// few enough to be read through. Adding writes behind the last slot and looks at no
// other, because each look would be one into far memory. When a leaf is out of room,
// hashes that were added more than once are dropped from it, then it gets a little
// larger, and when it is large, all leaves of its group are cut in two.
//
// Wide slots have 24 bits more, the lowest, for a number that belongs to the hash.
type hashSet struct {
	width   int    // bytes of a slot
	num     uint   // bits of the number
	bits    uint   // of the hash in a slot
	mask    uint64 // the bytes of a slot
	most    int    // bytes of a leaf that is cut
	groups  *[setGroups]group
	count   int    // hashes; one that was added twice lately counts twice
	size    int    // bytes held
	doubles bool   // the last leaf that was looked through had many hashes twice
	sum     uint64 // keeps touch from being optimised away
	*scratch
}

// group is the leaves of a group, a power of two.
type group []leaf

// leaf is slots, with room behind the last that makes it eight bytes.
type leaf []byte

// scratch is what dropping takes: for each value where it is, from 1.
type scratch [4096]uint16

const (
	setGroups = 1 << 9
	leaves    = 4    // of a new group
	groupSize = 24   // bytes of a group's own
	leafSize  = 24   // and of a leaf's
	leafMost  = 1536 // bytes of a large leaf
	leafMostN = 768  // of one with numbers
	slotRead  = 8    // bytes in which a slot is read and written: a leaf has so many from its last slot on

	pairBits  = 32
	exactBits = 40
	numBits   = 24
)

// newHashSet returns a set with slots of 4 bytes (32 bits of a hash), 5 (40) or 8 (40,
// and a number).
func newHashSet(width int) hashSet {
	s := hashSet{width: width, bits: exactBits, most: leafMost, scratch: new(scratch)}
	switch width {
	case 4:
		s.bits = pairBits
	case 8:
		s.num, s.most = numBits, leafMostN
	}
	s.mask = ^uint64(0) >> (64 - 8*width)
	return s
}

// value is what a slot keeps of a hash.
func (s *hashSet) value(h uint64) uint64 { return h << 11 >> ((64 - s.bits) & 63) }

// leaf returns the leaf of h, nil if its group is empty.
func (s *hashSet) leaf(h uint64) *leaf {
	if s.groups == nil {
		return nil
	}
	g := s.groups[h>>55]
	if len(g) == 0 {
		return nil
	}
	return &g[h<<9>>1>>((64-bits.Len(uint(len(g))))&63)]
}

// find returns the number that belongs to h.
func (s *hashSet) find(h uint64) (num uint32, ok bool) {
	l := s.leaf(h)
	if l == nil {
		return 0, false
	}
	n, v := len(*l), s.value(h)
	b := (*l)[:cap(*l)]
	switch s.width {
	case 4:
		for i := 0; i < n; i += 4 {
			if uint64(binary.LittleEndian.Uint32(b[i:])) == v {
				return 0, true
			}
		}
	case 5:
		for i := 0; i < n; i += 5 {
			if binary.LittleEndian.Uint64(b[i:])&(1<<40-1) == v {
				return 0, true
			}
		}
	default:
		for i := 0; i < n; i += 8 {
			if x := binary.LittleEndian.Uint64(b[i:]); x>>numBits == v {
				return uint32(x & (1<<numBits - 1)), true
			}
		}
	}
	return 0, false
}

func (s *hashSet) has(h uint64) bool {
	_, ok := s.find(h)
	return ok
}

// touchAhead is how many leaves are read ahead: far memory then answers for all of them
// at once.
const touchAhead = 32

// touch reads the leaves of hashes that are about to be looked for.
func (s *hashSet) touch(hashes []uint64) {
	sum := s.sum
	for _, h := range hashes {
		if l := s.leaf(h); l != nil && len(*l) > 0 {
			sum += uint64((*l)[0]) + uint64((*l)[len(*l)/2])
		}
	}
	s.sum = sum
}

// more is asked before a set takes further bytes, and says whether it may.
type more func(bytes int) bool

// meet adds h with num if the set does not have it and its leaf has room. room is false
// if it has not.
func (s *hashSet) meet(h uint64, num uint32) (known, room bool) {
	l := s.leaf(h)
	if l == nil {
		return false, false
	}
	n, v := len(*l), s.value(h)
	b := (*l)[:cap(*l)]
	if s.width == 8 {
		for i := 0; i < n; i += 8 {
			if binary.LittleEndian.Uint64(b[i:])>>numBits == v {
				return true, true
			}
		}
	} else if s.has(h) {
		return true, true
	}
	if n+slotRead > len(b) {
		return false, false
	}
	binary.LittleEndian.PutUint64(b[n:n+8], v<<(s.num&63)|uint64(num))
	*l = b[:n+s.width]
	s.count++
	return false, true
}

// add adds h with num; what h had before stays. ok is false if more refused the memory.
func (s *hashSet) add(h uint64, num uint32, more more) (ok bool) {
	l := s.leaf(h)
	if l == nil || len(*l)+slotRead > cap(*l) {
		if l = s.room(h, more); l == nil {
			return s.has(h)
		}
	}
	n := len(*l)
	binary.LittleEndian.PutUint64((*l)[n:n+8], s.value(h)<<(s.num&63)|uint64(num))
	*l = (*l)[:n+s.width]
	s.count++
	return true
}

// addAll adds hashes without numbers while there is room for them in their leaves. It
// returns how many it added.
func (s *hashSet) addAll(hashes []uint64) int {
	for i, h := range hashes {
		l := s.leaf(h)
		if l == nil {
			return i
		}
		n := len(*l)
		if n+slotRead > cap(*l) {
			return i
		}
		binary.LittleEndian.PutUint64((*l)[n:n+8], s.value(h))
		*l = (*l)[:n+s.width]
		s.count++
	}
	return len(hashes)
}

// narrow drops the numbers: slots of 8 bytes become slots of 5.
func (s *hashSet) narrow() {
	next := newHashSet(5)
	next.groups, next.count, next.size = s.groups, s.count, s.size
	if s.groups != nil {
		for i := range s.groups {
			for j, l := range s.groups[i] {
				b := next.allocated(len(l) / s.width * next.width)
				next.size += cap(b) - cap(l)
				for ; len(l) > 0; l = l[s.width:] {
					n := len(b)
					binary.LittleEndian.PutUint64(b[n:n+8], binary.LittleEndian.Uint64(l)>>s.num)
					b = b[:n+next.width]
				}
				s.groups[i][j] = b
			}
		}
	}
	*s = next
}

// renumber takes by off all numbers; those that are not above it become 0.
func (s *hashSet) renumber(by uint32) {
	if s.groups == nil {
		return
	}
	for i := range s.groups {
		for _, l := range s.groups[i] {
			for ; len(l) > 0; l = l[s.width:] {
				x := binary.LittleEndian.Uint64(l)
				binary.LittleEndian.PutUint64(l, x-min(x&(1<<numBits-1), uint64(by)))
			}
		}
	}
}
