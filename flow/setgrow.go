package flow

import (
	"encoding/binary"
	"math/bits"
)

// room makes room for one more in the leaf of h, or goes one step towards it; false if there
// is no memory for that.
func (s *hashSet) room(h uint64, more more) bool {
	if s.groups == nil {
		if !more(setGroups * groupSize) {
			return false
		}
		s.groups = new([setGroups]group)
		s.size += setGroups * groupSize
	}
	g := &s.groups[h>>(64-groupBits)]
	if g.used == nil {
		return s.lengthen(g, leaves, leafFirst, more)
	}
	k := int(g.leaf(h))
	if g.stride >= s.most || s.doubles || !s.roomy {
		n := int(g.used[k])
		s.drop(g, k)
		s.doubles = int(g.used[k]) < n-n/6
		if g.roomFor(k) {
			return true
		}
	}
	if !s.roomy { // whatever else grows
		for k := range g.used {
			s.drop(g, k)
		}
	}
	all, longest := 0, 0
	for _, n := range g.used {
		all, longest = all+int(n), max(longest, int(n))
	}
	ok := false
	if g.stride >= s.most && all >= len(g.used)*s.most/4 { // else something else than chance made this one so
		ok = s.split(g, more)
	} else {
		ok = s.lengthen(g, len(g.used), s.longer(longest), more)
	}
	return ok || int(g.used[k])+slotRead <= g.stride
}

// roomFor reports that a leaf has room for more than a few.
func (g *group) roomFor(leaf int) bool { return int(g.used[leaf])+slotRead <= g.stride-g.stride/16 }

// longer is how long leaves get of which the longest has n bytes of slots.
func (s *hashSet) longer(n int) int {
	want := n + n/6 + slotRead + s.width
	if s.roomy && n > s.most/4*3 {
		want = s.most
	}
	if want >= s.most {
		want = max(s.most, n+n/8+2*slotRead)
	}
	return want
}

// lengthen gives a group n leaves of stride bytes, with what it has.
func (s *hashSet) lengthen(g *group, n, stride int, more more) bool {
	next, ok := s.allocated(g, n, stride, more)
	if !ok {
		return false
	}
	for k, used := range g.used {
		copy(next.slots[k*next.stride:], g.slots[k*g.stride:][:used])
	}
	copy(next.used, g.used)
	s.replace(g, next)
	return true
}

// allocated returns n leaves of stride bytes or some more that are to take the place of those
// of g: as many as the allocator would set aside anyway.
func (s *hashSet) allocated(g *group, n, stride int, more more) (next group, ok bool) {
	if stride > leafLimit {
		return group{}, false
	}
	next.slots = append([]byte(nil), make([]byte, n*stride)...)
	next.slots = next.slots[:cap(next.slots)]
	next.used = make([]uint16, n)
	next.stride = min(len(next.slots)/n, leafLimit)
	next.shift = 64 - uint(bits.Len(uint(n))-1)
	return next, more(next.bytes() - g.bytes())
}

// bytes is what a group holds beside itself.
func (g *group) bytes() int { return 2*len(g.used) + len(g.slots) }

func (s *hashSet) replace(g *group, next group) {
	s.size += next.bytes() - g.bytes()
	*g = next
}

// drop drops what a leaf need not keep.
func (s *hashSet) drop(g *group, leaf int) {
	b, n := g.slots[leaf*g.stride:][:g.stride], int(g.used[leaf])
	kept := 0
	if s.contexts {
		kept = s.dropContexts(b, n)
	} else {
		kept = s.dropSame(b, n)
	}
	s.count -= (n - kept) / s.width
	g.used[leaf] = uint16(kept)
}

// dropSame drops what stands in a leaf a second time, or most of it: some of it is missed when
// others stand between that take its place in lately. Those are others each time, so that what
// is recorded again and again is dropped the next time. Each slot is written behind those that
// are kept in any case, since whether it is one of them cannot be foreseen.
func (s *hashSet) dropSame(b []byte, n int) (kept int) {
	s.places += 0x9E3779B97F4A7C16
	lately, places, width := &s.lately, s.places|1, s.width
	clear(lately[:])
	for i := 0; i < n; i += width {
		x := binary.LittleEndian.Uint64(b[i:])
		v := x&s.mask + 1
		last := &lately[v*places>>(64-latelyBits)]
		binary.LittleEndian.PutUint64(b[kept:], x)
		step := width
		if *last == v {
			step = 0
		}
		*last = v
		kept += step
	}
	return kept
}

// dropContexts keeps, of entries of runs with the same four words, maxContexts, and one for
// all others.
func (s *hashSet) dropContexts(b []byte, n int) (kept int) {
	if n > len(s.where)/2*s.width {
		return n // its group could not be cut: there is no memory left
	}
	size := uint64(len(s.where))
	for size > uint64(4*n/s.width) && size > 64 {
		size /= 2
	}
	clear(s.where[:size])
next:
	for i := 0; i < n; i += s.width {
		x := binary.LittleEndian.Uint64(b[i:])
		v, contexts := x&s.mask, 0
		k := v >> (2 * tagBits)
		for k &= (size - 1) & 4095; s.where[k] != 0; k = (k + 1) & (size - 1) & 4095 {
			at := int(s.where[k]) - 1
			had := binary.LittleEndian.Uint64(b[at:]) & s.mask
			if had == v {
				continue next
			}
			if sameFour(had, v) {
				if contexts++; contexts == maxContexts || had == anyContext(had) {
					s.put(b[at:], anyContext(had))
					continue next
				}
			}
		}
		s.where[k] = uint16(kept + 1)
		if kept != i {
			s.put(b[kept:], x)
		}
		kept += s.width
	}
	return kept
}

// put writes one slot, and nothing behind it.
func (s *hashSet) put(b []byte, x uint64) {
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)&^s.mask|x&s.mask)
}

// split cuts every leaf of a group in two; false if there is no memory for it.
func (s *hashSet) split(g *group, more more) bool {
	n := len(g.used)
	bit := (s.bits + 2 - uint(bits.Len(uint(n)))) & 63
	stride := g.stride
	if !s.roomy {
		stride = s.longer(s.longestHalf(g, bit))
	}
	next, ok := s.allocated(g, 2*n, stride, more)
	if !ok {
		return false
	}
	for k, used := range g.used {
		b := g.slots[k*g.stride:][:g.stride]
		zeros, ones := next.slots[2*k*next.stride:][:next.stride], next.slots[(2*k+1)*next.stride:][:next.stride]
		n0, n1 := 0, 0
		for at := 0; at < int(used); at += s.width { // written to both, since which of them cannot be foreseen
			x := binary.LittleEndian.Uint64(b[at:])
			binary.LittleEndian.PutUint64(zeros[n0:], x)
			binary.LittleEndian.PutUint64(ones[n1:], x)
			one := int(x>>bit&1) * s.width
			n0, n1 = n0+s.width-one, n1+one
		}
		next.used[2*k], next.used[2*k+1] = uint16(n0), uint16(n1)
	}
	s.replace(g, next)
	return true
}

// longestHalf is how many bytes of slots the longest leaf has when all of g are cut in two.
func (s *hashSet) longestHalf(g *group, bit uint) (longest int) {
	for k, used := range g.used {
		ones := 0
		b := g.slots[k*g.stride:][:g.stride]
		for at := 0; at < int(used); at += s.width {
			ones += int(binary.LittleEndian.Uint64(b[at:]) >> bit & 1)
		}
		ones *= s.width
		longest = max(longest, ones, int(used)-ones)
	}
	return longest
}
