package audit

import (
	"fmt"
	"slices"
)

// CheckpointReport is what came of comparing a log with checkpoints.
type CheckpointReport struct {
	Files   int
	Notes   int64  // whole notes that were read
	Checked bool   // keys were given: only what they signed counts
	Fit     int    // checkpoints that the log's records fit
	UpTo    uint64 // records that the largest of these covers
	At      string // where that stands, as FILE:line
	// Unchecked are checkpoints that the log says nothing about, and Why the reason.
	Unchecked int
	Why       string
	// NotCompared says why none could be compared, where that is the only problem with them.
	NotCompared string
	Problems    []Problem // of the checkpoints themselves; File is as it was given; at most MaxProblems
	More        int64
	Unused      []Problem // what was read and is no checkpoint of these keys: no problems
	// MoreUnused counts those that are not listed.
	MoreUnused int64
}

func (r *CheckpointReport) problem(p Problem) {
	if len(r.Problems) == MaxProblems {
		r.More++
		return
	}
	r.Problems = append(r.Problems, p)
}

// marks are the checkpoints that a verifier compares with, in order of size. A nil *marks has
// none.
type marks struct {
	of    *Noted
	all   []noted
	next  int // the first that was not reached
	rep   *CheckpointReport
	alone bool // one older file of a rotated log is verified without the others

	tree  edge
	start uint64 // records before the first one; their tree was carried on
	kept  uint64 // the first record that is kept, as records say that a fitting checkpoint covers
	noWay bool   // they are not here, and no tree was carried on
	lost  bool   // the tree is not that of what was written: records are changed or missing

	fitLine int64 // of the last record that the largest fitting checkpoint covers
	misses  []missed
	more    int // misses that are only counted
}

// missed is a checkpoint that the records do not fit.
type missed struct {
	noted
	last int64 // the line of its last record
}

// lose notes that the tree has what the chain has not.
func (m *marks) lose() {
	if m != nil {
		m.lost = true
	}
}

// mark adds a record of the chain to the tree and compares the checkpoints of that size.
func (v *verifier) mark(h *head) {
	m := v.marks
	if m == nil || m.lost || m.noWay {
		return
	}
	if h.seq != uint64(m.tree.n)+1 {
		// Records are missing, or one is changed: a repair may still stand in its place.
		m.lost = h.seq > uint64(m.tree.n)+1
		return
	}
	if m.tree.add(recordHash(v.text, h)) != nil {
		m.lost = true
		return
	}
	if m.compare(v.rep.Lines) {
		m.kept = v.keptFrom
	}
}

// compare reports whether one of them fits.
func (m *marks) compare(line int64) (fits bool) {
	for m.next < len(m.all) && m.all[m.next].size <= m.tree.n {
		p := &m.all[m.next]
		m.next++
		switch root, err := m.tree.root(); {
		case p.size < m.tree.n || err != nil:
			m.rep.Unchecked++
		case root == p.root:
			m.rep.Fit++
			m.rep.UpTo, m.rep.At, m.fitLine, fits = uint64(p.size), m.of.at(p), line, true
		case len(m.misses) == MaxProblems:
			m.more++
		default:
			m.misses = append(m.misses, missed{*p, line})
		}
	}
	return fits
}

// startMarks begins with the tree that the first record, of a rotation, carries on.
func (v *verifier) startMarks(b *before) {
	m := v.marks
	if m == nil {
		return
	}
	m.start = b.seq
	var err error
	if m.tree, err = edgeOf(b.seq, b.tree); err != nil {
		m.noWay = true
		m.tree = edge{}
		return
	}
	m.compare(1)
}

// carried compares the tree that a rotation record carries with that of the records before it.
func (v *verifier) carried(b *before) {
	m := v.marks
	if m == nil || m.lost || m.noWay || b.tree == nil || uint64(m.tree.n) != b.seq {
		return
	}
	if e, err := edgeOf(b.seq, b.tree); err != nil || !e.is(&m.tree) {
		v.found.add(v.rep.Lines, KindEdited, "the rotation record carries on another tree than that of the records before it")
	}
}

// endMarks says what the checkpoints show, once the whole log was read.
func (v *verifier) endMarks() {
	m := v.marks
	if m == nil {
		return
	}
	v.rep.Checkpoints = m.rep
	last := v.cur.seq
	at := max(v.rep.Lines, 1)
	v.forked(at)
	carriedOnly := m.start > 0 && m.rep.UpTo == m.start
	if carriedOnly { // it is the first record that says so, and who could write it could copy the tree
		m.rep.Unchecked += m.rep.Fit
		m.rep.Fit, m.rep.UpTo, m.rep.At = 0, 0, ""
	}

	rest := m.all[m.next:]
	cut := slices.IndexFunc(rest, func(p noted) bool { return uint64(p.size) > last })
	if cut < 0 {
		cut = len(rest)
	}
	m.rep.Unchecked += cut // of records that are there, and whose tree is not known
	compared := m.rep.Fit > 0 || len(m.misses) > 0
	switch beyond := rest[cut:]; {
	case len(beyond) == 0:
	case m.alone:
		m.rep.Unchecked += len(beyond)
	default:
		compared = true
		p := &beyond[len(beyond)-1]
		doubt := ""
		if m.rep.Fit == 0 {
			doubt = ", or the checkpoint is of another log"
		}
		v.found.add(at, KindTruncated, "%s missing after this line: the checkpoint at %s was made of %d records%s",
			wereCut(last+1, uint64(p.size)), m.of.at(p), p.size, doubt)
	}
	m.rep.Why = m.why(cut, rest)
	if carriedOnly && m.rep.Why == m.why(0, nil) {
		m.rep.Why = fmt.Sprintf("no checkpoint covers a record that is here, and who wrote the first one can have copied the tree of the %d before it", m.start)
	}
	if !compared && len(m.rep.Problems) == 0 {
		text := "no checkpoint could be compared with the log: "
		switch {
		case m.rep.Why != "":
			text += m.rep.Why
		case m.of.foreign > 0 && m.of.foreign == m.rep.Notes && m.of.several:
			text = "no checkpoint is signed by a given key"
		case m.of.foreign > 0 && m.of.foreign == m.rep.Notes:
			text = "no checkpoint is signed by the given key"
		default:
			text += "none was found that could be used"
		}
		m.rep.NotCompared = text
		m.rep.problem(Problem{File: m.of.name(), Line: 1, Kind: KindCheckpoint, Text: text})
	}
}

func (n *Noted) name() string {
	if len(n.files) == 0 {
		return "-"
	}
	return n.files[0]
}

func wereCut(from, to uint64) string {
	if from == to {
		return fmt.Sprintf("record %d is", from)
	}
	return fmt.Sprintf("records %d to %d are", from, to)
}

// why says why checkpoints could not be compared.
func (m *marks) why(cut int, rest []noted) string {
	switch {
	case m.rep.Unchecked == 0:
		return ""
	case m.noWay:
		return fmt.Sprintf("records up to %d are not here, and the rotation record carries no tree of them", m.start)
	case cut > 0:
		return fmt.Sprintf("what is changed or missing after record %d is part of every larger tree", m.tree.n)
	case m.alone && len(rest) > 0:
		return fmt.Sprintf("the log goes on in other files after record %d", m.tree.n)
	default:
		return fmt.Sprintf("they are older than the first record that is here, number %d", m.start+1)
	}
}

// forked reports the checkpoints that the records do not fit.
func (v *verifier) forked(at int64) {
	m := v.marks
	first := -1
	for i := range m.misses {
		p := &m.misses[i]
		if uint64(p.size) < m.rep.UpTo || uint64(p.size) == m.rep.UpTo && m.rep.Fit > 0 {
			m.rep.problem(Problem{File: m.of.files[p.file], Line: p.line, Kind: KindForked, Text: fmt.Sprintf(
				"the log does not fit this checkpoint of %d records, but one of %d at %s: it was made of another log", p.size, m.rep.UpTo, m.rep.At)})
			continue
		}
		if first < 0 {
			first = i
		}
	}
	if first < 0 {
		return
	}
	p := &m.misses[first]
	text := fmt.Sprintf("records %d to %d are not those that the checkpoint at %s was made of: one was changed or put in, and the chain rebuilt from there on",
		max(m.rep.UpTo, m.start)+1, p.size, m.of.at(&p.noted))
	if m.rep.Fit == 0 {
		text += ", or the checkpoint is of another log"
		if m.start > 0 {
			text += ", or the tree that the first record carries on was changed"
		}
	}
	if n := len(m.misses) - first - 1 + m.more; n > 0 {
		text += fmt.Sprintf("; %s of more records neither fit", counted(int64(n), "checkpoint"))
	}
	v.found.add(min(m.fitLine+1, at), KindForked, "%s", text)
}
