package flow

import (
	"encoding/binary"
	"math/bits"
)

// room returns the leaf of h with room for one more, nil if there is no memory.
func (s *hashSet) room(h uint64, more more) *leaf {
	if s.groups == nil {
		if !more(setGroups * groupSize) {
			return nil
		}
		s.groups = new([setGroups]group)
		s.size += setGroups * groupSize
	}
	g := &s.groups[h>>55]
	if len(*g) == 0 {
		if !more(leaves * leafSize) {
			return nil
		}
		*g = make(group, leaves)
		s.size += leaves * leafSize
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
	n, spare := len(*l), cap(*l)-(slotRead-s.width)-len(*l)
	if spare >= s.width && spare >= n/(s.step(n)+2) {
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

// step is the fraction by which a leaf of n bytes grows. A small one is cheap to copy.
func (s *hashSet) step(n int) int {
	small := n < s.most/4
	switch {
	case s.roomy && small:
		return 2
	case s.roomy:
		return 1
	case small:
		return 10
	}
	return 6
}

// allocated returns a leaf for n bytes of slots and some more: as many as the allocator
// would set aside anyway.
func (s *hashSet) allocated(n int) leaf {
	return append(leaf(nil), make(leaf, n+n/s.step(n)+s.width+slotRead)...)[:0]
}

// drop drops what stands in a leaf a second time. Of entries of runs with the same four words
// it keeps maxContexts, and one for all others.
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
		v := x & s.mask
		k, contexts := v, 0
		if s.contexts {
			k >>= 2 * tagBits
		}
		for k &= (size - 1) & 4095; s.scratch[k] != 0; k = (k + 1) & (size - 1) & 4095 {
			at := int(s.scratch[k]) - 1
			had := binary.LittleEndian.Uint64(b[at:]) & s.mask
			if had == v {
				continue next
			}
			if s.contexts && sameFour(had, v) {
				if contexts++; contexts == maxContexts || had == anyContext(had) {
					s.put(b[at:], anyContext(had))
					continue next
				}
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
	bit := s.bits + uint(bits.Len(leaves)-bits.Len(uint(len(*g)))) - 1
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
