package flow

import (
	"encoding/binary"
	"math/bits"
)

// A hashSet holds hashes under a secret key, close to each other. The top 9 bits of a
// hash choose a group, 2 or more that follow a leaf of it. A slot keeps the 32, 40 or 48
// bits behind the first 11, so that two hashes are one to the set when they agree in their
// first 43, 51 or 59 bits. Nobody outside can choose hashes that do. Nothing else is lossy: a
// hash that was added is found, and another one is found with a probability of count/2^43,
// count/2^51 or count/2^59. For sets of entries of runs see [newRunSet].
//
// A leaf is slots in no order, few enough to be read through. Adding writes behind the last
// slot and looks at no other, because each look would be one into far memory. When a leaf is
// out of room, hashes that were added more than once are dropped from it, then it gets
// larger, and when it is large, all leaves of its group are cut in two.
type hashSet struct {
	width    int    // bytes of a slot
	bits     uint   // of the hash in a slot
	mask     uint64 // the bytes of a slot
	most     int    // bytes of a large leaf
	groups   *[setGroups]group
	count    int  // hashes; one that was added twice lately counts twice
	size     int  // bytes held
	doubles  bool // the last leaf that was looked through had many hashes twice
	contexts bool // hashes are entries of runs
	roomy    bool // leaves grow by more: time counts for more than memory
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
	pairsMost = 512  // of one of pairs, which are asked for more often
	slotRead  = 8    // bytes in which a slot is read and written: a leaf has so many from its last slot on

	pairBits  = 32
	exactBits = 40
	runWidth  = 6
)

// newHashSet returns a set with slots of 4 bytes (32 bits of a hash), 5 (40) or 6 (48).
func newHashSet(width int) hashSet {
	return hashSet{width: width, bits: uint(8 * width), mask: 1<<(8*width) - 1, most: leafMost, scratch: new(scratch)}
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

func (s *hashSet) has(h uint64) bool {
	l := s.leaf(h)
	if l == nil {
		return false
	}
	n, v := len(*l), s.value(h)
	b := (*l)[:cap(*l)]
	if s.width == 4 {
		return has4(b, n, v)
	}
	for i := 0; i < n; i += s.width {
		if binary.LittleEndian.Uint64(b[i:])&s.mask == v {
			return true
		}
	}
	return false
}

// has4 reports that v stands in one of the slots of 4 bytes in the first n bytes of b. It
// looks at two slots at once, and at sixteen before it asks whether v was among them.
func has4(b []byte, n int, v uint64) bool {
	const low, high = 0x0000_0001_0000_0001, 0x8000_0000_8000_0000
	two := v | v<<32
	for ; n >= 64; n -= 64 {
		hit := uint64(0)
		for i := 0; i < 64; i += 8 {
			x := binary.LittleEndian.Uint64(b[i:64]) ^ two
			hit |= (x - low) &^ x // the top bit of a slot that is v; others only above one
		}
		if hit&high != 0 {
			return true
		}
		b = b[64:]
	}
	for i := 0; i < n; i += 4 {
		if uint64(binary.LittleEndian.Uint32(b[i:])) == v {
			return true
		}
	}
	return false
}

// touch reads the leaves of hashes that are about to be looked for, whole, as factSet.touch
// does.
func (s *hashSet) touch(hashes []uint64) (sum uint64) {
	for _, h := range hashes {
		if l := s.leaf(h); l != nil {
			for i := 0; i < len(*l); i += 64 {
				sum += uint64((*l)[i])
			}
		}
	}
	return sum
}

// more is asked before a set takes further bytes, and says whether it may.
type more func(bytes int) bool

// add adds h. ok is false if more refused the memory.
func (s *hashSet) add(h uint64, more more) (ok bool) {
	l := s.leaf(h)
	if l == nil || len(*l)+slotRead > cap(*l) {
		if l = s.room(h, more); l == nil {
			return s.has(h)
		}
	}
	n := len(*l)
	binary.LittleEndian.PutUint64((*l)[n:n+8], s.value(h))
	*l = (*l)[:n+s.width]
	s.count++
	return true
}

// addAll adds hashes while there is room for them in their leaves. It returns how many it
// added.
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
