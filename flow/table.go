package flow

// A table maps facts to evidence. Facts are hashes under a secret key, so that they
// are their own hash, and nobody outside can choose them to collide. It is cut into
// shards by the top bits: growing one copies little.
type table struct {
	shards [256]shard
	count  int
	sum    uint64 // keeps touch from being optimised away
}

type shard struct {
	facts    []uint64 // 0: free
	evidence []uint32
	count    int
}

const firstShard = 64 // slots of a shard at first; a power of two

// get returns the evidence of a fact.
func (t *table) get(h uint64) (uint32, bool) {
	h = nonZero(h)
	s := &t.shards[h>>56]
	if s.count == 0 {
		return 0, false
	}
	mask := uint64(len(s.facts) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch s.facts[i] {
		case h:
			return s.evidence[i], true
		case 0:
			return 0, false
		}
	}
}

// touchAhead is how many slots are read ahead: far memory then answers for all of them
// at once.
const touchAhead = 32

// touch reads the slots of facts that are about to be merged.
func (t *table) touch(facts []uint64) {
	var sum uint64
	for _, h := range facts {
		if s := &t.shards[h>>56]; len(s.facts) > 0 {
			i := h & uint64(len(s.facts)-1)
			sum += s.facts[i] + uint64(s.evidence[i])
		}
	}
	t.sum = sum
}

// slot returns where the fact is or belongs; found is false if it is not there yet,
// and then the caller must set the evidence.
func (t *table) slot(h uint64) (evidence *uint32, found bool) {
	h = nonZero(h)
	s := &t.shards[h>>56]
	if s.count >= len(s.facts)/8*7 {
		s.grow()
	}
	mask := uint64(len(s.facts) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch s.facts[i] {
		case h:
			return &s.evidence[i], true
		case 0:
			s.facts[i] = h
			s.count++
			t.count++
			return &s.evidence[i], false
		}
	}
}

func (s *shard) grow() {
	n := max(firstShard, 2*len(s.facts))
	old := *s
	s.facts, s.evidence = make([]uint64, n), make([]uint32, n)
	mask := uint64(n - 1)
	for j, h := range old.facts {
		if h == 0 {
			continue
		}
		i := h & mask
		for s.facts[i] != 0 {
			i = (i + 1) & mask
		}
		s.facts[i], s.evidence[i] = h, old.evidence[j]
	}
}

func nonZero(h uint64) uint64 {
	if h == 0 {
		return 1
	}
	return h
}
