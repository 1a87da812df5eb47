package flow

// A factSet holds hashes under a secret key, and a number for each. The top 11 bits of a
// hash choose a shelf, and a slot of it keeps the 40 bits behind, and the number, so that
// two hashes are one to the set when they agree in their first 51 bits. Nobody outside can
// choose hashes that do. Nothing else is lossy: a hash that was added is found, and
// another one is found with a probability of count/2^51.
//
// A shelf is lines of eight slots, 64 bytes: what a processor fetches from far memory at a
// time. A hash belongs to the line whose share of the shelf is its share of all values, and
// stands there, or behind it in the first line that had room when it came; behind the last
// line is the first. So one line, and now and then the next, says whether a hash was added,
// however many there are. When a shelf is nearly full, it gets larger.
//
// A set can forget its numbers to save memory. Its hashes are then in a [hashSet].
type factSet struct {
	shelves *[setShelves]shelf
	plain   *hashSet // the hashes, once the numbers are forgotten; shelves is then nil
	count   int
	size    int     // bytes held
	roomy   bool    // shelves grow by more: time counts for more than memory
	used    []uint8 // scratch of grow: how many slots of each line are used
	touched uint64  // nothing of use
}

// shelf is as long as the hashes in it, and its capacity is that of the slots. A slot with
// nothing in it is 0.
type shelf []uint64

// line is slots, used from the first on.
type line [lineSlots]uint64

const (
	setShelves = 1 << shelfBits
	shelfBits  = 11
	shelfSize  = 24 // bytes of a shelf's own
	lineSlots  = 8
	numBits    = 24
)

// factValue is what a slot keeps of a hash. It is not 0.
func factValue(h uint64) uint64 { return max(h<<shelfBits>>(64-exactBits), 1) }

// lines is how many lines a shelf has.
func (l shelf) lines() int { return cap(l) / lineSlots }

// home is the line, of n, that a value belongs to.
func home(v uint64, n int) int { return int(v * uint64(n) >> exactBits) }

// seek returns the line that v stands in, or else the first that has room for it; nil if
// none has.
func (l shelf) seek(v uint64) (at *line, found bool) {
	slots, n := l[:cap(l)], l.lines()
	i := home(v, n)
	for range n {
		at = (*line)(slots[lineSlots*i:])
		if at.holds(v) {
			return at, true
		}
		if at[lineSlots-1] == 0 {
			return at, false
		}
		if i++; i == n {
			i = 0
		}
	}
	return nil, false
}

// holds reports that v stands in l. It does not stop where it finds it: that cannot be
// foreseen, and a wrong guess costs a processor more than the rest of the line.
func (l *line) holds(v uint64) bool {
	return l.misses(v) == 0
}

// misses is 1 if v does not stand in l, else 0.
func (l *line) misses(v uint64) uint64 {
	hit := uint64(0)
	for _, x := range l {
		hit |= (x>>numBits ^ v) - 1 // has the top bit if they are the same
	}
	return ^hit >> 63
}

// free is the first slot with nothing in it of a line that is not full.
func (l *line) free() int {
	at := 0
	if l[3] != 0 {
		at = 4
	}
	if l[at+1] != 0 {
		at += 2
	}
	if l[at] != 0 {
		at++
	}
	return at
}

// find returns the number that belongs to h, 0 if the numbers are forgotten.
func (s *factSet) find(h uint64) (num uint32, ok bool) {
	if s.plain != nil {
		return 0, s.plain.has(plainHash(h>>(64-shelfBits), factValue(h)))
	}
	if s.shelves == nil {
		return 0, false
	}
	v := factValue(h)
	at, ok := s.shelves[h>>(64-shelfBits)].seek(v)
	if !ok {
		return 0, false
	}
	for _, x := range at {
		if x>>numBits == v {
			num = uint32(x & (1<<numBits - 1))
		}
	}
	return num, true
}

func (s *factSet) has(h uint64) bool {
	_, ok := s.find(h)
	return ok
}

// touchAhead is how many lines are read ahead: far memory then answers for all of them
// at once.
const touchAhead = 32

// touch reads the lines of hashes that are about to be looked for. The caller keeps what it
// returns, without which nothing need be read.
func (s *factSet) touch(hashes []uint64) (sum uint64) {
	if s.shelves == nil {
		return 0
	}
	for _, h := range hashes {
		l := s.shelves[h>>(64-shelfBits)]
		if n := l.lines(); n > 0 {
			sum += l[:cap(l)][lineSlots*home(factValue(h), n)]
		}
	}
	return sum
}

// fresh has a bit for each of at most touchAhead hashes, the first one's lowest, that is not
// in the line that it belongs to: it is new, unless it stands behind that line.
func (s *factSet) fresh(hashes []uint64) (fresh uint32) {
	if s.shelves == nil {
		return uint32((1<<touchAhead - 1) >> (touchAhead - len(hashes)))
	}
	var lines [touchAhead]*line
	sum := uint64(0)
	for i, h := range hashes {
		at := &noLine
		l := s.shelves[h>>(64-shelfBits)]
		if n := l.lines(); n > 0 {
			at = (*line)(l[:cap(l)][lineSlots*home(factValue(h), n):])
		}
		lines[i%touchAhead] = at
		sum += at[0] // far memory then answers for all of them at once
	}
	s.touched += sum
	for i, h := range hashes {
		fresh |= uint32(lines[i%touchAhead].misses(factValue(h))) << i
	}
	return fresh
}

// noLine is empty.
var noLine line

// add adds h with num if the set does not have it; what h had before stays. ok is false
// if more refused the memory.
func (s *factSet) add(h uint64, num uint32, more more) (known, ok bool) {
	if s.plain != nil {
		return s.addPlain(h, more)
	}
	if s.shelves == nil {
		if !more(setShelves * shelfSize) {
			return false, false
		}
		s.shelves = new([setShelves]shelf)
		s.size += setShelves * shelfSize
	}
	l, v := &s.shelves[h>>(64-shelfBits)], factValue(h)
	at, known := l.seek(v)
	if known {
		return true, true
	}
	if len(*l) >= cap(*l)-cap(*l)/16 {
		if s.grow(l, more) {
			at, _ = l.seek(v)
		} else if len(*l) >= cap(*l)-cap(*l)/32 {
			return false, false // a shelf that is full is slow
		}
	}
	at[at.free()&(lineSlots-1)] = v<<numBits | uint64(num)&(1<<numBits-1)
	*l = (*l)[:len(*l)+1]
	s.count++
	return false, true
}

// grow makes a shelf larger, by a quarter or, if it is not small and memory allows, by a half.
func (s *factSet) grow(l *shelf, more more) bool {
	n := l.lines() + l.lines()/4 + 1
	if s.roomy && n > 5 {
		n = l.lines() + l.lines()/2
	}
	bytes := (n - l.lines()) * lineSlots * 8
	if !more(bytes) {
		return false
	}
	s.size += bytes
	if len(s.used) < n {
		s.used = make([]uint8, n+n/2)
	}
	used := s.used[:n]
	clear(used)
	next := make(shelf, lineSlots*n)
	for _, x := range (*l)[:cap(*l)] {
		if x == 0 {
			continue
		}
		i := home(x>>numBits, n)
		for used[i] == lineSlots {
			if i++; i == n {
				i = 0
			}
		}
		next[lineSlots*i+int(used[i])] = x
		used[i]++
	}
	*l = next[:len(*l)]
	return true
}

// plainHash is what a hash goes by in plain: what its shelf and its slot say of it.
func plainHash(shelf, value uint64) uint64 {
	return shelf<<(64-shelfBits) | value<<(64-shelfBits-exactBits)
}

func (s *factSet) addPlain(h uint64, more more) (known, ok bool) {
	if s.plain.has(plainHash(h>>(64-shelfBits), factValue(h))) {
		return true, true
	}
	ok = s.plain.add(plainHash(h>>(64-shelfBits), factValue(h)), more)
	s.size, s.count = s.plain.size, s.plain.count
	return false, ok
}

// narrow forgets the numbers: slots of 8 bytes become slots of 5. It ends with less memory,
// and on the way holds one shelf more.
func (s *factSet) narrow() {
	plain := newHashSet(5)
	if s.shelves != nil {
		for i, l := range s.shelves {
			for _, x := range l[:cap(l)] {
				if x != 0 {
					plain.add(plainHash(uint64(i), x>>numBits), func(int) bool { return true })
				}
			}
			s.shelves[i] = nil
		}
	}
	*s = factSet{plain: &plain, size: plain.size, count: plain.count}
}

// renumber takes by off all numbers; those that are not above it become 0.
func (s *factSet) renumber(by uint32) {
	if s.shelves == nil {
		return
	}
	for _, l := range s.shelves {
		slots := l[:cap(l)]
		for i, x := range slots {
			slots[i] = x - min(x&(1<<numBits-1), uint64(by))
		}
	}
}
