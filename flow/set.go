package flow

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"
)

// A hashSet holds hashes under a secret key, close to each other. The top 10 bits of a
// hash choose a group; a slot keeps the 32 or 40 bits that follow, so that two hashes
// are one to the set when they agree in their first 42 or 50 bits. Nobody outside can
// choose hashes that do. Nothing else is lossy: a hash that was added is found, and
// another one is found with a probability of count/2^42 or count/2^50.
//
// The slots of a leaf are sorted but for the last few, which were added lately, and
// nearly all of them are used. Adding writes one slot at the end, and looks at no other:
// with hashes, each look would be one into far memory. When there are enough new ones,
// all of them are sorted in. As values are evenly spread, a search guesses where its
// value is, and needs few steps from there. A group of large leaves splits them all.
//
// Wide slots have 24 bits more, the lowest, for a number that belongs to the hash.
type hashSet struct {
	width  int    // bytes of a slot
	num    uint   // bits of the number
	bits   uint   // of the hash in a slot
	mask   uint64 // the bytes of a slot
	groups *[setGroups]group
	count  int // hashes; one that was added twice lately counts twice
	size   int // bytes held
	sum    uint64
	*scratch
}

// scratch is what settle works with.
type scratch struct {
	fresh, in [freshMost]uint64
	at        [freshMost]int32
}

type group struct {
	leaves []leaf
	depth  uint // there are 1<<depth
	count  int
}

type leaf struct {
	slots  []byte // and slotPad bytes
	n      uint32 // slots used
	sorted uint32 // of them, those in order
}

const (
	setGroups = 1 << 10
	groupSize = 40 // bytes of a group's own
	leafSize  = 32 // and of a leaf's
	leafMost  = 1 << 10
	freshMost = 128
	slotPad   = 8 // so that a slot can be read and written as eight bytes

	pairBits  = 32
	exactBits = 40
	numBits   = 24
)

// newHashSet returns a set with slots of 4 bytes (32 bits of a hash), 5 (40) or 8 (40,
// and a number).
func newHashSet(width int) hashSet {
	s := hashSet{width: width, bits: exactBits, scratch: new(scratch)}
	switch width {
	case 4:
		s.bits = pairBits
	case 8:
		s.num = numBits
	}
	s.mask = ^uint64(0) >> (64 - 8*width)
	return s
}

// value is what a slot keeps of a hash.
func (s *hashSet) value(h uint64) uint64 { return h << 10 >> (64 - s.bits) }

// at reads slot i.
func (s *hashSet) at(b []byte, i int) uint64 {
	return binary.LittleEndian.Uint64(b[i*s.width:]) & s.mask
}

// set writes slot i, and spoils the slots behind it.
func (s *hashSet) set(b []byte, i int, x uint64) { binary.LittleEndian.PutUint64(b[i*s.width:], x) }

func (s *hashSet) leaf(h uint64) (g *group, l *leaf) {
	if s.groups == nil {
		return nil, nil
	}
	if g = &s.groups[h>>54]; len(g.leaves) == 0 {
		return g, nil
	}
	return g, &g.leaves[h<<10>>1>>(63-g.depth)]
}

// guess is about where v is among the sorted slots of a leaf at that depth.
func (s *hashSet) guess(l *leaf, depth uint, v uint64) int {
	return int((v << depth & (1<<s.bits - 1)) * uint64(l.sorted) >> s.bits)
}

// find returns the number that belongs to h.
func (s *hashSet) find(h uint64) (num uint32, ok bool) {
	g, l := s.leaf(h)
	if l == nil {
		return 0, false
	}
	v := s.value(h)
	b := l.slots
	if i := s.guess(l, g.depth, v); i < int(l.sorted) {
		x := s.at(b, i)
		for i > 0 && x>>(s.num&63) > v {
			i--
			x = s.at(b, i)
		}
		for x>>(s.num&63) < v {
			if i++; i == int(l.sorted) {
				break
			}
			x = s.at(b, i)
		}
		if x>>(s.num&63) == v {
			return uint32(x & (1<<s.num - 1)), true
		}
	}
	for i := int(l.sorted); i < int(l.n); i++ {
		if x := s.at(b, i); x>>(s.num&63) == v {
			return uint32(x & (1<<s.num - 1)), true
		}
	}
	return 0, false
}

func (s *hashSet) has(h uint64) bool {
	_, ok := s.find(h)
	return ok
}

// touchAhead is how many slots are read ahead: far memory then answers for all of them
// at once.
const touchAhead = 32

// touch reads the slots of hashes that are about to be looked for.
func (s *hashSet) touch(hashes []uint64) {
	sum := s.sum // keeps the reads from being optimised away
	for _, h := range hashes {
		if g, l := s.leaf(h); l != nil && l.n > 0 {
			sum += uint64(l.slots[s.guess(l, g.depth, s.value(h))*s.width]) + uint64(l.slots[int(l.sorted)*s.width])
		}
	}
	s.sum = sum
}

// more is asked before a set takes further bytes, and says whether it may.
type more func(bytes int) bool

// add adds h with num; what h had before stays. ok is false if more refused the memory.
func (s *hashSet) add(h uint64, num uint32, more more) (ok bool) {
	g, l := s.leaf(h)
	if l == nil {
		if !s.start(h, more) {
			return false
		}
		g, l = s.leaf(h)
	}
	if int(l.n-l.sorted) >= freshMost || (int(l.n)+1)*s.width > len(l.slots)-slotPad {
		if !s.room(g, l, more) {
			return s.has(h)
		}
		_, l = s.leaf(h)
	}
	s.set(l.slots, int(l.n), s.value(h)<<s.num|uint64(num))
	l.n++
	g.count++
	s.count++
	return true
}

// start makes the group of h.
func (s *hashSet) start(h uint64, more more) bool {
	if s.groups == nil {
		if !more(setGroups * groupSize) {
			return false
		}
		s.groups = new([setGroups]group)
		s.size += setGroups * groupSize
	}
	if !more(leafSize) {
		return false
	}
	s.groups[h>>54].leaves = make([]leaf, 1)
	s.size += leafSize
	return true
}

// room makes room for one more slot.
func (s *hashSet) room(g *group, l *leaf, more more) bool {
	s.settle(g, l)
	if g.count > leafMost<<g.depth && s.split(g, more) {
		return true
	}
	if spare := (len(l.slots)-slotPad)/s.width - int(l.n); spare >= freshFor(int(l.n))/2 {
		return true
	}
	b := s.allocated(int(l.n))
	if !more(len(b) - len(l.slots)) {
		return (int(l.n)+1)*s.width <= len(l.slots)-slotPad
	}
	copy(b, l.slots[:int(l.n)*s.width])
	s.size += len(b) - len(l.slots)
	l.slots = b
	return true
}

// freshFor is for how many new slots a leaf of n must have room.
func freshFor(n int) int { return min(freshMost, 4+n/8) }

// allocated returns slots for n hashes and some new ones: as many as the allocator would
// set aside anyway.
func (s *hashSet) allocated(n int) []byte {
	b := append([]byte(nil), make([]byte, (n+freshFor(n)+n/32)*s.width+slotPad)...)
	return b[:cap(b)]
}

// settle sorts the new slots of a leaf in, and drops those that were there already.
func (s *hashSet) settle(g *group, l *leaf) {
	fresh := s.sortFresh(l, g.depth)
	b, sorted, kept, i := l.slots, int(l.sorted), 0, 0
	at := &s.scratch.at // where the fresh ones belong
	for _, x := range fresh {
		v := x >> (s.num & 63)
		for i+8 <= sorted && s.at(b, i+7)>>(s.num&63) < v {
			i += 8
		}
		for i < sorted && s.at(b, i)>>(s.num&63) < v {
			i++
		}
		if i < sorted && s.at(b, i)>>(s.num&63) == v || kept > 0 && fresh[kept-1]>>(s.num&63) == v {
			continue
		}
		fresh[kept], at[kept] = x, int32(i)
		kept++
	}
	end := int(l.sorted)
	for j := kept - 1; j >= 0; j-- {
		from := int(at[j])
		copy(b[(from+j+1)*s.width:], b[from*s.width:end*s.width])
		s.put(b, from+j, fresh[j])
		end = from
	}
	dropped := int(l.n-l.sorted) - kept
	l.sorted += uint32(kept)
	l.n = l.sorted
	g.count -= dropped
	s.count -= dropped
}

// put writes slot i and no other.
func (s *hashSet) put(b []byte, i int, x uint64) {
	b = b[i*s.width:]
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)&^s.mask|x)
}

// sortFresh returns the new slots of a leaf in order. Their values are spread evenly, so
// that their first bits put most of them where they belong.
func (s *hashSet) sortFresh(l *leaf, depth uint) []uint64 {
	const fan = freshMost
	n := int(l.n - l.sorted)
	if n < fan/4 {
		out := s.fresh[:n]
		for i := range out {
			out[i] = s.at(l.slots, int(l.sorted)+i)
		}
		slices.Sort(out)
		return out
	}
	in := &s.in
	var ends [fan]uint8
	shift := s.bits + s.num - uint(bits.Len(fan-1)) - depth
	for i := range n {
		x := s.at(l.slots, int(l.sorted)+i)
		in[i] = x
		ends[x>>shift%fan]++
	}
	sum := uint8(0)
	for i, c := range ends {
		ends[i] = sum
		sum += c
	}
	out := s.fresh[:n]
	for _, x := range in[:n] {
		e := &ends[x>>shift%fan]
		out[*e] = x
		*e++
	}
	for i := 1; i < n; i++ {
		x, j := out[i], i
		for ; j > 0 && out[j-1] > x; j-- {
			out[j] = out[j-1]
		}
		out[j] = x
	}
	return out
}

// split cuts every leaf of a group in two; false if there is no memory for it.
func (s *hashSet) split(g *group, more more) bool {
	next := make([]leaf, 0, 2*len(g.leaves))
	grown := leafSize * len(g.leaves)
	half := uint64(1) << (s.bits + s.num - 1 - g.depth)
	for i := range g.leaves {
		l := &g.leaves[i]
		s.settle(g, l)
		cut := sort.Search(int(l.n), func(i int) bool { return s.at(l.slots, i)&half != 0 })
		low := s.allocated(cut)
		copy(low, l.slots[:cut*s.width])
		high := s.allocated(int(l.n) - cut)
		copy(high, l.slots[cut*s.width:int(l.n)*s.width])
		next = append(next, leaf{low, uint32(cut), uint32(cut)}, leaf{high, l.n - uint32(cut), l.n - uint32(cut)})
		grown += len(low) + len(high) - len(l.slots)
	}
	if !more(grown) {
		return false
	}
	s.size += grown
	g.leaves = next
	g.depth++
	return true
}

// narrow drops the numbers: slots of 8 bytes become slots of 5.
func (s *hashSet) narrow() {
	next := newHashSet(5)
	next.groups, next.count, next.size = s.groups, s.count, s.size
	if s.groups != nil {
		for i := range s.groups {
			for j := range s.groups[i].leaves {
				next.narrowed(&s.groups[i].leaves[j], s)
			}
		}
	}
	*s = next
}

func (s *hashSet) narrowed(l *leaf, from *hashSet) {
	b := s.allocated(int(l.n))
	for i := range int(l.n) {
		s.set(b, i, from.at(l.slots, i)>>from.num)
	}
	s.size += len(b) - len(l.slots)
	l.slots = b
}

// renumber takes by off all numbers; those that are not above it become 0.
func (s *hashSet) renumber(by uint32) {
	if s.groups == nil {
		return
	}
	for i := range s.groups {
		for _, l := range s.groups[i].leaves {
			for j := range int(l.n) {
				x := s.at(l.slots, j)
				num := x & (1<<s.num - 1)
				s.put(l.slots, j, x-min(num, uint64(by)))
			}
		}
	}
}
