package flow

import (
	"math/bits"
	"slices"
)

// A table is what a ledger holds: facts with the place where each was seen first, and
// pairs and runs of words, for which it is enough to know that they were seen. It is
// not safe for concurrent use.
type table struct {
	facts  factSet // with the sighting, counted from base
	pairs  hashSet
	runs   hashSet
	base   uint32
	places sightings
	holds  holding
	max    int  // bytes it may hold
	blind  bool // there was no memory left for evidence: none is kept any more
	full   bool // nor for facts
	more   more
}

func (t *table) init(maxBytes int, roomy bool) {
	t.facts, t.pairs, t.runs = factSet{}, newHashSet(4), newRunSet()
	t.setRoomy(roomy)
	t.max, t.more, t.places.next = maxBytes, t.afford, 1
}

// setRoomy says whether time counts for more than memory.
func (t *table) setRoomy(roomy bool) {
	t.facts.roomy, t.pairs.roomy, t.runs.roomy = roomy, roomy, roomy
	if t.pairs.most = leafMost; roomy {
		t.pairs.most = pairsMost
	}
}

// bytes is the memory held.
func (t *table) bytes() int {
	return t.facts.size + t.pairs.size + t.runs.size + t.places.size
}

func (t *table) count() int { return t.facts.count + t.pairs.count + t.runs.count }

// afford makes room for n bytes more, at the cost of the oldest evidence.
func (t *table) afford(n int) bool {
	for t.bytes()+n > t.max {
		if !t.places.drop() {
			return false
		}
	}
	return true
}

// get returns the sighting of a fact; 0 is one that is no longer known.
func (t *table) get(h uint64) (id uint32, ok bool) {
	if id, ok = t.facts.find(h); id != 0 {
		id += t.base
	}
	return id, ok
}

// note adds a fact that is no sighting. Its number is that of the next one: only what was
// seen before has a smaller one. Of two numbers that are no longer known, 0, none is
// smaller.
func (t *table) note(h uint64) {
	t.addFact(h, t.nextID())
}

// nextID is the number that a fact has which is seen next.
func (t *table) nextID() uint32 {
	if t.places.next-t.base > maxSightings {
		t.rebase()
	}
	return t.places.next - t.base
}

// pair reports that a pair of words was seen.
func (t *table) pair(h uint64) bool { return t.pairs.has(h) }

// sampled chooses the recorded runs that are facts as well: one in eight, and so one in
// sixteen of all, so that their places cost less than the runs themselves.
func sampled(run uint64) bool { return run&7 == 0 }

// merge takes a batch.
func (t *table) merge(b *batch) {
	t.holds |= b.holds
	if t.facts.roomy && t.bytes() > t.max/4*3 {
		t.setRoomy(false)
	}
	t.mergeFacts(b)
	t.mergeSet(&t.pairs, b.pairs)
	t.mergeSet(&t.runs, b.runs)
	for _, h := range b.noted {
		t.note(h)
	}
}

// mergeFacts takes the facts of a batch, and the places of those that are new.
func (t *table) mergeFacts(b *batch) {
	span, placed := 0, -1 // the span of a fact, and the last one with a place in the table
	id := t.nextID()
	for from := 0; from < len(b.facts) && !t.full; from += touchAhead {
		facts := b.facts[from:min(len(b.facts), from+touchAhead)]
		for fresh := t.facts.fresh(facts); fresh != 0 && !t.full; fresh &= fresh - 1 {
			i := bits.TrailingZeros32(fresh)
			for b.spans[span].end <= from+i {
				span++
			}
			if placed < span {
				id = t.nextID()
			}
			if known := t.addFact(facts[i], id); known || t.full || t.blind || placed == span {
				continue
			}
			start := 0
			if span > 0 {
				start = b.spans[span-1].place
			}
			t.places.add(b, b.places[start:b.spans[span].place])
			t.afford(0)
			placed = span
		}
	}
}

func (t *table) mergeSet(s *hashSet, hashes []uint64) {
	for len(hashes) > 0 && !t.full {
		if n := s.addAll(hashes); n > 0 {
			hashes = hashes[n:]
			continue
		}
		if !s.add(hashes[0], t.more) {
			t.goBlind()
			t.full = !s.add(hashes[0], t.more)
		}
		hashes = hashes[1:]
	}
}

// addFact adds a fact, and reports that it was known.
func (t *table) addFact(h uint64, id uint32) (known bool) {
	if t.full {
		return false
	}
	known, ok := t.facts.add(h, id, t.more)
	if !ok {
		t.goBlind()
		known, ok = t.facts.add(h, id, t.more)
		t.full = !ok
	}
	return known
}

// rebase makes room for sightings, of which a fact has room for 24 bits: at the cost of
// the older half, if none of them was dropped before.
func (t *table) rebase() {
	for t.places.dropped-t.base < maxSightings/2 && t.places.drop() {
	}
	t.facts.renumber(t.places.dropped - t.base)
	t.base = t.places.dropped
	if t.places.next > 1<<32-1-maxSightings {
		t.goBlind() // no session gets here
	}
}

// goBlind gives up the rest of the evidence, three bytes of eight for each fact, for good.
// When that does not help, the table is full.
func (t *table) goBlind() {
	if t.blind {
		return
	}
	t.blind = true
	t.places = sightings{next: 1}
	t.facts.narrow()
	t.setRoomy(false) // one batch can fill a small table
}

// A batch is a part of what one output shows, and the unit in which the ledger takes
// facts, whoever found them. Hashes are whole: 64 bits, under the keys of the ledger.
type batch struct {
	info     outputInfo
	recorded bool   // the ledger knows info
	output   uint32 // as this
	holds    holding

	facts  []uint64
	spans  []span              // where they stood, in order
	places []byte              // of the spans, one behind the other
	noted  []uint64            // facts that were seen nowhere
	skip   map[uint64]struct{} // facts and pairs that are not to be recorded
	pieces []piece             // of secrets
	pairs  []uint64
	runs   []uint64 // entries; what is sampled is in facts too
}

// span says where the facts up to end stood.
type span struct {
	end   int
	place int // end of the place in places
}

// pairFacts says that pairs in text of a family are facts with a sighting of their own.
// Whether text of people inside showed something before any outside text did is asked of
// its pairs; there is little of it. Of outside text, words are enough: they were seen no
// later than the pair that they make.
func pairFacts(f family) bool { return f != outside }

// batchLen bounds each kind of hash in a batch, and so how long the lock is held.
const batchLen = 4 << 10

func (b *batch) init() {
	b.facts, b.pairs, b.runs = make([]uint64, 0, batchLen), make([]uint64, 0, batchLen), make([]uint64, 0, batchLen)
}

// dropSkipped takes out what is not to be recorded.
func (b *batch) dropSkipped() {
	if len(b.skip) == 0 {
		return
	}
	echo := func(h uint64) bool { _, echo := b.skip[h]; return echo }
	kept, from := b.facts[:0], 0
	for i, sp := range b.spans {
		for _, h := range b.facts[from:sp.end] {
			if !echo(h) {
				kept = append(kept, h)
			}
		}
		from = sp.end
		b.spans[i].end = len(kept)
	}
	b.facts = kept
	b.pairs = slices.DeleteFunc(b.pairs, echo)
}

// reset empties b for the next part of the same output.
func (b *batch) reset() {
	b.facts, b.spans, b.places, b.pairs, b.runs = b.facts[:0], b.spans[:0], b.places[:0], b.pairs[:0], b.runs[:0]
	b.pieces, b.noted = b.pieces[:0], b.noted[:0]
}
