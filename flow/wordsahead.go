package flow

// aheadWords is how many words are hashed before the first of them is taken. The same is
// then done to all of them, one step after the other, so that the processor need not wait
// for the outcome of one word before it looks at the next.
const aheadWords = 64

// ahead are words that the batch does not have yet.
type ahead struct {
	words [aheadWords]uint64
	pairs [3 + aheadWords]uint64 // the last three of the words before, and those of the words
	n     int
}

// takeWords puts the words that were hashed ahead into the batch, the pairs that they make
// with the word before them, and the runs. Whether something was taken lately cannot be
// foreseen, so that it is written in any case, and counts if it was not.
func (s *scanner) takeWords() {
	words := s.ahead.words[:s.ahead.n]
	s.ahead.n = 0
	if len(s.facts)+2*aheadWords > cap(s.facts) || len(s.pairs)+aheadWords > cap(s.pairs) || len(s.runs)+aheadWords > cap(s.runs) {
		s.filled()
	}
	facts, n := s.facts[:cap(s.facts)], len(s.facts)
	for _, h := range words {
		n += s.recent.put(facts, n, h)
	}
	all := s.ahead.pairs[:3+len(words)]
	made := all[3:]
	k, prev := s.keys[factPair], s.prev
	for i, h := range words {
		made[i] = k.pair(prev, h)
		prev = h
	}
	s.prev = prev
	first := 0
	if s.count == 0 { // the first word of a text makes no pair
		first = 1
	}
	pairs, m := s.pairs[:cap(s.pairs)], len(s.pairs)
	for _, p := range made[min(first, len(made)):] {
		slot, tag := s.recentPairs.slot(p)
		pairs[m] = p
		if *slot != tag {
			m++
		}
		*slot = tag
	}
	s.pairs = pairs[:m]
	if s.copies {
		k := s.keys[factRun]
		runs, m := s.runs[:cap(s.runs)], len(s.runs)
		for i := max(0, runWords-1-int(min(s.count, runWords))); i < len(words); i++ {
			run := k.pair(k.pair(all[i], all[i+2]), words[i])
			if sampled(run) {
				n += s.recent.put(facts, n, run)
				continue
			}
			runs[m] = run
			m++
		}
		s.runs = runs[:m]
	}
	s.facts = facts[:n]
	s.count += uint64(len(words))
	copy(all[:3], all[len(words):])
}

// put writes h behind the first n facts, and returns how many there are more if it was not
// taken lately.
func (r *recent) put(facts []uint64, n int, h uint64) (more int) {
	slot := &r[h%uint64(len(r))]
	facts[n] = h
	if *slot != h {
		more = 1
	}
	*slot = h
	return more
}
