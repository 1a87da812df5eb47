package flow

// aheadWords is how many words are hashed before the first of them is taken. The same is
// then done to all of them, one step after the other, so that the processor need not wait
// for the outcome of one word before it looks at the next.
const aheadWords = 64

// ahead are words that the batch does not have yet.
type ahead struct {
	words [runWords + aheadWords]uint64 // the last five of the words before, and the words
	pairs [3 + aheadWords]uint64        // the last three of the words before, and those of the words
	n     uint
}

// takeWords puts the words that were hashed ahead into the batch, the pairs that they make
// with the word before them, and the runs. Whether something was taken lately cannot be
// foreseen, so that it is written in any case, and counts if it was not.
func (s *scanner) takeWords() {
	words := s.ahead.words[runWords:][:s.ahead.n]
	s.ahead.n = 0
	if len(s.facts)+2*aheadWords > cap(s.facts) || len(s.pairs)+aheadWords > cap(s.pairs) || len(s.runs)+aheadWords > cap(s.runs) {
		s.filled()
	}
	n := len(s.facts)
	facts := (*[aheadWords]uint64)(s.facts[n : n+aheadWords])
	more := 0
	for _, h := range words {
		more += s.recent.put(facts, more, h)
	}
	all := &s.ahead.pairs
	made := all[3:][:len(words)]
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
	m := len(s.pairs)
	pairs, taken := (*[aheadWords]uint64)(s.pairs[m:m+aheadWords]), 0
	for _, p := range made[min(first, len(made)):] {
		slot, tag := s.recentPairs.slot(p)
		pairs[taken&(aheadWords-1)] = p
		if *slot != tag {
			taken++
		}
		*slot = tag
	}
	s.pairs = s.pairs[:m+taken]
	s.facts = s.facts[:n+more]
	if s.copies {
		s.takeRuns(len(words))
	}
	s.count += uint64(len(words))
	copy(all[:3], all[len(words):])
	copy(s.ahead.words[:runWords], s.ahead.words[len(words):])
}

// takeRuns puts the entries that the words complete into the batch, and those runs that are
// sampled among the facts.
func (s *scanner) takeRuns(words int) {
	k, pairs, past := s.keys[factRun], &s.ahead.pairs, &s.ahead.words
	n, m := len(s.facts), len(s.runs)
	facts, runs := (*[aheadWords]uint64)(s.facts[n:n+aheadWords]), (*[aheadWords]uint64)(s.runs[m:m+aheadWords])
	more, taken := 0, 0
	first := max(0, runWords-1-int(min(s.count, runWords)))
	for at := first + (int(s.count)+first)&1; at < words; at += 2 { // of every second word
		i := at & (aheadWords - 1)
		four := k.pair(pairs[i], pairs[i+2])
		before := tag(past[i])
		if s.count+uint64(i) < runWords {
			before = 0
		}
		runs[taken&(aheadWords-1)] = runEntry(four, before, tag(past[i+runWords]))
		taken++
		if run := k.pair(four, past[i+runWords]); sampled(run) {
			more += s.recent.put(facts, more, run)
		}
	}
	s.facts, s.runs = s.facts[:n+more], s.runs[:m+taken]
}

// takeLast puts the entry of the last four words of a text into the batch, if it is their
// turn.
func (s *scanner) takeLast() {
	if s.count < runWords || s.count&1 != 0 {
		return
	}
	if len(s.runs) == cap(s.runs) {
		s.filled()
	}
	four := s.keys[factRun].pair(s.ahead.pairs[0], s.ahead.pairs[2])
	s.runs = append(s.runs, runEntry(four, tag(s.ahead.words[0]), 0))
}

// put writes h behind the first n facts, and returns 1 if it was not taken lately.
func (r *recent) put(facts *[aheadWords]uint64, n int, h uint64) (more int) {
	slot := &r[h%uint64(len(r))]
	facts[n&(aheadWords-1)] = h
	if *slot != h {
		more = 1
	}
	*slot = h
	return more
}
