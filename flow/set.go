package flow

import (
	"encoding/binary"
	"math/bits"
)

// A hashSet holds hashes under a secret key, close to each other. The top 11 bits of a
// hash choose a group; a slot keeps the 32 or 40 bits that follow, so that two hashes
// are one to the set when they agree in their first 43 or 51 bits. Nobody outside can
// choose hashes that do. Nothing else is lossy: a hash that was added is found, and
// another one is found with a probability of count/2^43 or count/2^51.
//
// A group is cut into leaves, by the first bits that a slot keeps: slots in no order,
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
	step    int    // a leaf grows by this fraction
	groups  *[setGroups]group
	count   int    // hashes; one that was added twice lately counts twice
	size    int    // bytes held
	doubles bool   // the last leaf that was looked through had many hashes twice
	sum     uint64 // keeps touch from being optimised away
	*scratch
}

// group is the leaves of a group, a power of two.
type group []leaf

// leaf is slots, with leafPad bytes to spare behind the last.
type leaf []byte

// scratch is what dropping takes: for each value where it is, from 1.
type scratch [4096]uint16

const (
	setGroups = 1 << 11
	groupSize = 24   // bytes of a group's own
	leafSize  = 24   // and of a leaf's
	leafMost  = 1536 // bytes of a large leaf
	leafMostN = 768  // of one with numbers
	leafPad   = 8    // so that a slot can be read and written as eight bytes

	pairBits  = 32
	exactBits = 40
	numBits   = 24
)

// newHashSet returns a set with slots of 4 bytes (32 bits of a hash), 5 (40) or 8 (40,
// and a number).
func newHashSet(width int) hashSet {
	s := hashSet{width: width, bits: exactBits, step: 6, most: leafMost, scratch: new(scratch)}
	switch width {
	case 4:
		s.bits = pairBits
	case 5:
		s.step = 3 // for speed: here there are most
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
	g := s.groups[h>>53]
	if len(g) == 0 {
		return nil
	}
	return &g[h<<11>>1>>((64-bits.Len(uint(len(g))))&63)]
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
	if n+s.width+leafPad > len(b) {
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
	if l == nil || len(*l)+s.width+leafPad > cap(*l) {
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
		if n+s.width+leafPad > cap(*l) {
			return i
		}
		binary.LittleEndian.PutUint64((*l)[n:n+8], s.value(h))
		*l = (*l)[:n+s.width]
		s.count++
	}
	return len(hashes)
}

// room returns the leaf of h with room for one more, nil if there is no memory.
func (s *hashSet) room(h uint64, more more) *leaf {
	if s.groups == nil {
		if !more(setGroups * groupSize) {
			return nil
		}
		s.groups = new([setGroups]group)
		s.size += setGroups * groupSize
	}
	g := &s.groups[h>>53]
	if len(*g) == 0 {
		if !more(leafSize) {
			return nil
		}
		*g = make(group, 1)
		s.size += leafSize
	}
	l := s.leaf(h)
	if len(*l) > s.most || s.doubles {
		n := len(*l)
		s.drop(l)
		s.doubles = len(*l) < n-n/6
	}
	if len(*l) > s.most && s.split(g, more) {
		l = s.leaf(h)
	}
	n, spare := len(*l), cap(*l)-leafPad-len(*l)
	if spare >= s.width && spare >= n/(s.step+2) {
		return l
	}
	next := s.allocated(n)
	if !more(cap(next) - cap(*l)) {
		if spare >= s.width {
			return l
		}
		return nil
	}
	s.size += cap(next) - cap(*l)
	*l = append(next, *l...)
	return l
}

// allocated returns a leaf for n bytes of slots and some more: as many as the allocator
// would set aside anyway.
func (s *hashSet) allocated(n int) leaf {
	return append(leaf(nil), make(leaf, n+n/s.step+3*s.width+leafPad)...)[:0]
}

// drop drops what stands in a leaf a second time.
func (s *hashSet) drop(l *leaf) {
	n, kept := len(*l), 0
	if n > len(s.scratch)/2*s.width {
		return // its group could not be cut: there is no memory left
	}
	size := uint64(len(s.scratch))
	for size > uint64(4*n/s.width) && size > 64 {
		size /= 2
	}
	clear(s.scratch[:size])
	b := (*l)[:cap(*l)]
next:
	for i := 0; i < n; i += s.width {
		x := binary.LittleEndian.Uint64(b[i:])
		v := x & s.mask >> (s.num & 63)
		k := v & (size - 1) & 4095
		for ; s.scratch[k] != 0; k = (k + 1) & (size - 1) & 4095 {
			if binary.LittleEndian.Uint64(b[int(s.scratch[k])-1:])&s.mask>>(s.num&63) == v {
				continue next
			}
		}
		s.scratch[k] = uint16(kept + 1)
		if kept != i {
			s.put(b[kept:], x)
		}
		kept += s.width
	}
	s.count -= (n - kept) / s.width
	*l = (*l)[:kept]
}

// put writes one slot, and nothing behind it.
func (s *hashSet) put(b []byte, x uint64) {
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)&^s.mask|x&s.mask)
}

// split cuts every leaf of a group in two; false if there is no memory for it, or if the
// others are not large: then something else than chance made this one so.
func (s *hashSet) split(g *group, more more) bool {
	all := 0
	for _, l := range *g {
		all += len(l)
	}
	if all < len(*g)*s.most/4 {
		return false
	}
	next := make(group, 2*len(*g))
	grown := leafSize * len(*g)
	bit := s.bits + s.num - uint(bits.Len(uint(len(*g))))
	for i, l := range *g {
		n, ones := len(l), 0
		b := l[:cap(l)]
		for at := 0; at < n; at += s.width {
			ones += int(binary.LittleEndian.Uint64(b[at:]) >> (bit & 63) & 1)
		}
		grown -= cap(l)
		halves := [2]leaf{s.allocated(n - ones*s.width), s.allocated(ones * s.width)}
		for at := 0; at < n; at += s.width {
			x := binary.LittleEndian.Uint64(b[at:])
			half := &halves[x>>(bit&63)&1]
			end := len(*half)
			binary.LittleEndian.PutUint64((*half)[end:end+8], x)
			*half = (*half)[:end+s.width]
		}
		next[2*i], next[2*i+1] = halves[0], halves[1]
		grown += cap(halves[0]) + cap(halves[1])
	}
	if !more(grown) {
		return false
	}
	s.size += grown
	*g = next
	return true
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
