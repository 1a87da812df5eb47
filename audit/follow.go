package audit

import "fmt"

// run is a stretch of records that stand where they have no place, and follow each other.
type run struct {
	*finding
	from, to int64 // lines
	seq      uint64
	first    uint64
	hash     sum
	fork     bool  // it claims the place of the chain's last record
	hole     *hole // it fills this one
	what     string
}

// gap is a stretch of numbers that were skipped.
type gap struct {
	from, to uint64
	hole     *hole
}

// hole is the problem of a gap.
type hole struct {
	*finding
	line     int64 // where the chain went on after it
	from, to uint64
	missing  uint64
}

// maxGaps bounds what is remembered to tell moved records from inserted ones.
const maxGaps = MaxProblems

func (o *hole) describe() {
	if o.void {
		return
	}
	o.Text = missing(o.from, o.to)
	if n := o.to - o.from + 1; o.missing < n {
		o.Text += fmt.Sprintf("; %d of them stand later", n-o.missing)
	}
}

func missing(from, to uint64) string {
	if from == to {
		return fmt.Sprintf("record %d is missing before this line", from)
	}
	return fmt.Sprintf("records %d to %d are missing before this line", from, to)
}

// chained judges a record that has a chain.
func (v *verifier) chained(h *head, text []byte) {
	if calc := v.sums.of(&h.prev, h.leaf, brace); calc != h.hash {
		v.edited(h, text, calc)
		return
	}
	cur := &v.cur
	linked := h.prev == cur.hash || cur.edited && h.prev == cur.calc
	switch {
	case linked && h.seq == cur.seq+1:
	case linked && h.seq > cur.seq && (cur.edited || cur.unchained || cur.line == 0):
		v.skipped(h)
	case linked && !cur.unchained && cur.line > 0:
		v.found.add(v.rep.Lines, KindEdited, "the record follows number %d in the chain but has number %d: it was written anew", cur.seq, h.seq)
		seq := cur.seq + 1
		v.adopt(h)
		v.cur.seq, v.cur.edited, v.cur.calc = seq, true, h.hash
		return
	case v.goesOn(h):
		return
	case cur.edited && (h.seq == cur.seq+1 || h.prev == v.good.hash && h.seq == v.good.seq+1):
		// What stands in between is reported already.
	case h.seq == cur.seq+1:
		v.rewritten(h)
	case h.seq > cur.seq:
		v.skipped(h)
	default:
		v.misplaced(h)
		return
	}
	v.adopt(h)
}

// edited takes a record whose bytes do not have its hash. Nothing in it can be relied
// on, so it is taken to be the next one.
func (v *verifier) edited(h *head, text []byte, calc sum) {
	v.found.add(v.rep.Lines, KindEdited, "the line's bytes do not have the hash that stands in it")
	v.region.add(text)
	v.endRun()
	v.cur = place{line: v.rep.Lines, seq: v.cur.seq + 1, prev: h.prev, hash: h.hash, calc: calc, edited: true}
	v.unread = 0
}

// rewritten reports a record that has the right number but names another hash.
func (v *verifier) rewritten(h *head) {
	switch {
	case v.cur.unchained:
	case v.cur.line == 0:
		v.found.add(v.rep.Lines, KindEdited, "the first record names a record before it")
	default:
		v.found.add(v.cur.line, KindEdited, "record %d was written anew: record %d on %s names another hash for it",
			v.cur.seq, h.seq, v.lineName(v.rep.Lines))
	}
}

// skipped reports missing numbers, as far as unreadable lines do not stand in their
// place.
func (v *verifier) skipped(h *head) {
	from, to := v.cur.seq+1, h.seq-1
	if from > to || to-from < v.unread {
		return
	}
	at := v.rep.Lines
	if v.cur.edited && h.prev == v.cur.hash { // it has the number before, and they are missing before it
		at, from, to = v.cur.line, from-1, to-1
	}
	o := &hole{v.found.add(at, KindRemoved, "%s", missing(from, to)), v.rep.Lines, from, to, to - from + 1}
	if o.finding == &v.found.rest || len(v.gaps) == maxGaps {
		return
	}
	v.holes = append(v.holes, o)
	v.gaps = append(v.gaps, gap{from, to, o})
}

// fill returns the hole in which seq was skipped, if it was, and takes it out.
func (v *verifier) fill(seq uint64) *hole {
	for i := range v.gaps {
		g := &v.gaps[i]
		if seq < g.from || seq > g.to {
			continue
		}
		o := g.hole
		if o.missing--; o.missing == 0 {
			v.found.drop(o.finding)
		}
		rest := gap{seq + 1, g.to, o}
		g.to = seq - 1
		if rest.from <= rest.to && len(v.gaps) < maxGaps {
			v.gaps = append(v.gaps, rest)
		}
		return o
	}
	return nil
}

// misplaced reports a record whose number was passed already.
func (v *verifier) misplaced(h *head) {
	v.endRun()
	at := v.rep.Lines
	r := &run{from: at, to: at, seq: h.seq, first: h.seq, hash: h.hash}
	if !h.chained || h.hash != v.cur.hash {
		r.hole = v.fill(h.seq)
	}
	switch {
	case h.chained && h.hash == v.cur.hash:
		v.found.add(at, KindInserted, "the line repeats record %d of %s", h.seq, v.lineName(v.cur.line))
		return
	case r.hole != nil:
		r.what = fmt.Sprintf("out of order: the chain had already gone on to record %d", v.cur.seq)
		r.finding = v.found.add(at, KindReordered, "")
	case h.chained && h.seq == v.cur.seq && h.prev == v.cur.prev && !v.cur.edited:
		r.fork = true
		r.what = fmt.Sprintf("a second record %d: the chain had it on %s", h.seq, v.lineName(v.cur.line))
		r.finding = v.found.add(at, KindInserted, "")
	default:
		r.what = fmt.Sprintf("not the chain's: it had already gone on to record %d, so they were put in here, or something was put in before", v.cur.seq)
		r.finding = v.found.add(at, KindInserted, "")
	}
	if h.chained {
		v.run = r
	} else {
		v.describe(r)
	}
}

// goesOn reports whether h goes on a run of misplaced records.
func (v *verifier) goesOn(h *head) bool {
	r := v.run
	if r == nil || h.prev != r.hash || h.seq != r.seq+1 {
		return false
	}
	switch {
	case r.finding == &v.found.rest:
	case r.fork: // the chain goes on from the second, so the first was put in
		r.Line = v.cur.line
		r.Text = fmt.Sprintf("a second record %d: the chain goes on from that on %s", r.seq, v.lineName(r.to))
		v.run = nil
		v.adopt(h)
		return true
	case r.hole != nil && h.seq > r.hole.to: // the run has the records that the chain went on to
		r.Line, r.Kind = r.hole.line, KindInserted
		r.Text = fmt.Sprintf("what stands from here up to %s does not belong to the chain, which goes on with record %d on %s", v.lineName(r.from-1), r.first, v.lineName(r.from))
		v.run = nil
		v.adopt(h)
		return true
	}
	v.fill(h.seq)
	r.to, r.seq, r.hash = v.rep.Lines, h.seq, h.hash
	return true
}

func (v *verifier) endRun() {
	if v.run != nil {
		v.describe(v.run)
		v.run = nil
	}
}

func (v *verifier) describe(r *run) {
	if r.finding == &v.found.rest {
		return
	}
	if r.from == r.to {
		r.Text = fmt.Sprintf("record %d is %s", r.first, r.what)
		return
	}
	r.Text = fmt.Sprintf("records %d to %d, to %s, are %s", r.first, r.seq, v.lineName(r.to), r.what)
}

// unchained judges a record without a chain: only its number tells anything.
func (v *verifier) unchained(h *head) {
	v.countUnchained(h)
	switch {
	case h.seq == v.cur.seq+1:
	case h.seq > v.cur.seq:
		v.skipped(h)
	default:
		v.misplaced(h)
		return
	}
	v.adopt(h)
}

func (v *verifier) countUnchained(h *head) {
	if h.chained {
		return
	}
	v.rep.Unchained++
	v.noCount++
	if v.noChain == nil {
		v.noChain = v.found.add(v.rep.Lines, KindUnchained, "")
	}
}

// adopt makes h the last record of the chain.
func (v *verifier) adopt(h *head) {
	v.endRun()
	v.cur = place{line: v.rep.Lines, seq: h.seq, prev: h.prev, hash: h.hash, unchained: !h.chained}
	v.good = v.cur
	v.unread = 0
	v.region.reset()
}
