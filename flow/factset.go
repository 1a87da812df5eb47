package flow

import "encoding/binary"

// A factSet holds hashes under a secret key, and a number for each. The top 11 bits of a
// hash choose a shelf, and a slot of it keeps the 40 bits behind, and the number, so that
// two hashes are one to the set when they agree in their first 51 bits. Nobody outside can
// choose hashes that do. Nothing else is lossy: a hash that was added is found, and
// another one is found with a probability of count/2^51.
//
// The slots of a shelf are in order, with gaps. A hash stands where its share of all
// values is the slot's share of the shelf, or as near to that as others let it, and there
// is no gap between: a look there and at a few slots beside it is enough. When a shelf is
// nearly full, it gets larger.
type factSet struct {
	width   int    // bytes of a slot
	num     uint   // bits of the number
	mask    uint64 // the bytes of a slot
	shelves *[setShelves]shelf
	count   int
	size    int // bytes held
}

// shelf is as long as the hashes in it, and its capacity is that of the slots. A slot with
// nothing in it is 0.
type shelf []byte

const (
	setShelves = 1 << 11
	shelfSize  = 24 // bytes of a shelf's own
	numBits    = 24
)

// newFactSet returns a set with slots of 8 bytes, or of 5: without numbers.
func newFactSet(numbers bool) factSet {
	if numbers {
		return factSet{width: 8, num: numBits, mask: ^uint64(0)}
	}
	return factSet{width: 5, mask: 1<<exactBits - 1}
}

// value is what a slot keeps of a hash. It is not 0.
func (s *factSet) value(h uint64) uint64 { return max(h<<11>>(64-exactBits), 1) }

// slots is how many slots a shelf has.
func (s *factSet) slots(l shelf) int {
	if s.width == 8 {
		return cap(l) / 8
	}
	return max(0, cap(l)-(slotRead-5)) / 5
}

func (s *factSet) slot(b []byte, at int) uint64 {
	return binary.LittleEndian.Uint64(b[at:]) & s.mask
}

// home is where a value belongs in a shelf.
func (s *factSet) home(v uint64, slots int) int { return int(v*uint64(slots)>>exactBits) * s.width }

// seek returns where v is, or where it goes: before the first that is larger, in a gap or
// not, or at the end.
func (s *factSet) seek(l shelf, v uint64) (at int, found bool) {
	slots := s.slots(l)
	if slots == 0 {
		return 0, false
	}
	b, end := l[:cap(l)], slots*s.width
	at = s.home(v, slots)
	x := s.slot(b, at)
	k := x >> (s.num & 63)
	for x != 0 && k < v {
		if at += s.width; at == end {
			return at, false
		}
		x = s.slot(b, at)
		if k = x >> (s.num & 63); x == 0 || k >= v {
			return at, k == v
		}
	}
	for x != 0 && k > v && at > 0 {
		x = s.slot(b, at-s.width)
		if k = x >> (s.num & 63); x == 0 || k < v {
			return at, false
		}
		at -= s.width
	}
	return at, k == v
}

// find returns the number that belongs to h.
func (s *factSet) find(h uint64) (num uint32, ok bool) {
	if s.shelves == nil {
		return 0, false
	}
	l := s.shelves[h>>53]
	at, ok := s.seek(l, s.value(h))
	if !ok || s.num == 0 {
		return 0, ok
	}
	return uint32(s.slot(l[:cap(l)], at) & (1<<numBits - 1)), true
}

func (s *factSet) has(h uint64) bool {
	_, ok := s.find(h)
	return ok
}

// touchAhead is how many slots are read ahead: far memory then answers for all of them
// at once.
const touchAhead = 32

// touch reads the slots of hashes that are about to be looked for. The caller keeps what it
// returns, without which nothing need be read.
func (s *factSet) touch(hashes []uint64) (sum uint64) {
	if s.shelves == nil {
		return 0
	}
	for _, h := range hashes {
		l := s.shelves[h>>53]
		if slots := s.slots(l); slots > 0 {
			sum += uint64(l[:cap(l)][s.home(s.value(h), slots)])
		}
	}
	return sum
}

// add adds h with num if the set does not have it; what h had before stays. ok is false
// if more refused the memory.
func (s *factSet) add(h uint64, num uint32, more more) (known, ok bool) {
	if s.shelves == nil {
		if !more(setShelves * shelfSize) {
			return false, false
		}
		s.shelves = new([setShelves]shelf)
		s.size += setShelves * shelfSize
	}
	l, v := &s.shelves[h>>53], s.value(h)
	at, known := s.seek(*l, v)
	if known {
		return true, true
	}
	if n, slots := len(*l)/s.width+1, s.slots(*l); n > slots-slots/16 {
		if s.grow(l, more) {
			at, _ = s.seek(*l, v)
		} else if n > slots-slots/32 {
			return false, false // a shelf that is full is slow
		}
	}
	s.insert(l, at, v<<(s.num&63)|uint64(num)&(1<<s.num-1))
	return false, true
}

// insert puts x at a slot, and what stands there out of its way: into the next gap, on
// whichever side.
func (s *factSet) insert(l *shelf, at int, x uint64) {
	w := s.width
	b, end := (*l)[:cap(*l)], s.slots(*l)*w
	for right, left := at, at-w; ; right, left = right+w, left-w {
		if right < end && s.slot(b, right) == 0 {
			copy(b[at+w:right+w], b[at:right])
			break
		}
		if left >= 0 && s.slot(b, left) == 0 {
			copy(b[left:at-w], b[left+w:at])
			at -= w
			break
		}
	}
	s.write(b, at, x)
	*l = b[:len(*l)+w]
	s.count++
}

// write writes one slot, and nothing behind it.
func (s *factSet) write(b []byte, at int, x uint64) {
	binary.LittleEndian.PutUint64(b[at:], binary.LittleEndian.Uint64(b[at:])&^s.mask|x)
}

// allocated returns a shelf for n hashes and some more: as many as the allocator would
// set aside anyway.
func (s *factSet) allocated(n int) shelf {
	return append(shelf(nil), make(shelf, (n+n/4+2)*s.width+slotRead-s.width)...)[:0]
}

// grow makes a shelf larger.
func (s *factSet) grow(l *shelf, more more) bool {
	next := s.allocated(len(*l) / s.width)
	if !more(cap(next) - cap(*l)) {
		return false
	}
	s.size += cap(next) - cap(*l)
	s.spread(&next, *l, s)
	*l = next
	return true
}

// spread puts all that a shelf of from has, with numbers or without, into one with nothing
// in it.
func (s *factSet) spread(next *shelf, l shelf, from *factSet) {
	w := s.width
	b, slots := (*next)[:cap(*next)], s.slots(*next)
	old, left := l[:cap(l)], len(l)/from.width
	*next = b[:left*w]
	end := s.slots(*next) * w
	free := 0            // the first slot behind what was put
	last := end - left*w // the last slot that leaves room for what is left
	for at := 0; left > 0; at += from.width {
		x := from.slot(old, at)
		v := x >> (from.num & 63)
		if s.num == 0 {
			x = v
		}
		// A gap is written as well, where the next goes over it: whether there is one
		// cannot be foreseen.
		to := min(max(s.home(v, slots), free), last)
		s.write(b, to, x)
		one := 1
		if v == 0 {
			one = 0
		}
		free += (to + w - free) * one
		last += w * one
		left -= one
	}
}

// narrow drops the numbers: slots of 8 bytes become slots of 5.
func (s *factSet) narrow() {
	next := newFactSet(false)
	next.shelves, next.count, next.size = s.shelves, s.count, s.size
	if s.shelves != nil {
		for i, l := range s.shelves {
			narrow := next.allocated(len(l) / s.width)
			next.spread(&narrow, l, s)
			next.size += cap(narrow) - cap(l)
			s.shelves[i] = narrow
		}
	}
	*s = next
}

// renumber takes by off all numbers; those that are not above it become 0.
func (s *factSet) renumber(by uint32) {
	if s.shelves == nil {
		return
	}
	for _, l := range s.shelves {
		b := l[:cap(l)]
		for at := range s.slots(l) {
			x := binary.LittleEndian.Uint64(b[8*at:])
			binary.LittleEndian.PutUint64(b[8*at:], x-min(x&(1<<numBits-1), uint64(by)))
		}
	}
}
