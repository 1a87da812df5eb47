package flow

import "encoding/binary"

// A hashSet holds hashes under a secret key, close to each other. The top 9 bits of a
// hash choose a group, 2 or more that follow a leaf of it. A slot keeps the 32, 40 or 48
// bits behind the first 11, so that two hashes are one to the set when they agree in their
// first 43, 51 or 59 bits. Nobody outside can choose hashes that do. Nothing else is lossy: a
// hash that was added is found, and another one is found with a probability of count/2^43,
// count/2^51 or count/2^59. For sets of entries of runs see [newRunSet].
//
// A leaf is slots in no order, few enough to be read through. Adding writes behind the last
// slot and looks at no other, because each look would be one into far memory. The leaves of a
// group stand one behind the other, equally long, so that where one is can be worked out.
// When a leaf is out of room, hashes that were added more than once are dropped from it, then
// all leaves of its group get longer, and when they are long, all are cut in two.
type hashSet struct {
	width    int    // bytes of a slot
	bits     uint   // of the hash in a slot
	mask     uint64 // the bytes of a slot
	most     int    // bytes of a long leaf
	groups   *[setGroups]group
	count    int  // hashes; one that was added twice lately counts twice
	size     int  // bytes held
	doubles  bool // the last leaf that was looked through had many hashes twice
	contexts bool // hashes are entries of runs
	roomy    bool // leaves grow by more: time counts for more than memory
	*scratch
}

// group is the leaves of a group, a power of two.
type group struct {
	used   []uint16 // bytes of slots in each leaf
	slots  []byte
	stride int  // bytes from one leaf to the next
	shift  uint // of what follows the group in a hash, to the number of the leaf
}

// scratch is what dropping takes.
type scratch struct {
	lately [1 << latelyBits]uint64 // values and one, each at a place that differs from time to time
	places uint64                  // says which
	where  [4096]uint16            // for each entry where it is, from 1
}

const (
	groupBits = 9
	setGroups = 1 << groupBits
	leaves    = 4         // of a new group
	groupSize = 64        // bytes of a group's own
	leafFirst = 24        // bytes of a first leaf
	leafMost  = 1024      // bytes of a long leaf
	pairsMost = 512       // of one of pairs while time counts, which are asked for more often
	leafLimit = 1<<16 - 1 // bytes of any leaf
	slotRead  = 8         // bytes in which a slot is read and written: a leaf has so many from its last slot on

	pairBits   = 32
	exactBits  = 40
	runWidth   = 6
	latelyBits = 9
)

// newHashSet returns a set with slots of 4 bytes (32 bits of a hash), 5 (40) or 6 (48).
func newHashSet(width int) hashSet {
	return hashSet{width: width, bits: uint(8 * width), mask: 1<<(8*width) - 1, most: leafMost, scratch: new(scratch)}
}

// value is what a slot keeps of a hash.
func (s *hashSet) value(h uint64) uint64 { return h << 11 >> ((64 - s.bits) & 63) }

// leaf is the number of the leaf of h; that of an empty group is not below 1<<55.
func (g *group) leaf(h uint64) uint64 { return h << groupBits >> (g.shift & 63) }

// find returns the bytes of the leaf of h, and how many of them are slots.
func (s *hashSet) find(h uint64) (b []byte, n int) {
	if s.groups == nil {
		return nil, 0
	}
	g := &s.groups[h>>(64-groupBits)]
	k := g.leaf(h)
	if k >= uint64(len(g.used)) {
		return nil, 0
	}
	return g.slots[int(k)*g.stride:][:g.stride], int(g.used[k])
}

func (s *hashSet) has(h uint64) bool {
	b, n := s.find(h)
	v := s.value(h)
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
		b, n := s.find(h)
		for i := 0; i < n; i += 64 {
			sum += uint64(b[i])
		}
	}
	return sum
}

// more is asked before a set takes further bytes, and says whether it may.
type more func(bytes int) bool

// add adds h. ok is false if more refused the memory.
func (s *hashSet) add(h uint64, more more) (ok bool) {
	one := [1]uint64{h}
	for s.addAll(one[:]) == 0 {
		if !s.room(h, more) {
			return s.has(h)
		}
	}
	return true
}

// addAll adds hashes while there is room for them in their leaves. It returns how many it
// added.
func (s *hashSet) addAll(hashes []uint64) int {
	if s.groups == nil {
		return 0
	}
	for i, h := range hashes {
		g := &s.groups[h>>(64-groupBits)]
		k := g.leaf(h)
		if k >= uint64(len(g.used)) {
			s.count += i
			return i
		}
		n := int(g.used[k])
		if n+slotRead > g.stride {
			s.count += i
			return i
		}
		at := int(k)*g.stride + n
		binary.LittleEndian.PutUint64(g.slots[at:at+8], s.value(h))
		g.used[k] = uint16(n + s.width)
	}
	s.count += len(hashes)
	return len(hashes)
}
