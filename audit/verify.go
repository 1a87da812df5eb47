package audit

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Verify reads a log, or one file of a rotated log, as a stream, in constant memory. The
// error is one of reading: whatever is wrong with the log itself is in the report.
func Verify(r io.Reader) (Report, error) {
	v := newVerifier()
	err := v.read(r)
	return v.finish(), err
}

func newVerifier() *verifier {
	v := &verifier{sums: newSummer()}
	v.cur.hash, v.good.hash = noPrev, noPrev
	return v
}

func (v *verifier) read(r io.Reader) error {
	in := newLines(r)
	in.overlong = v.region.write
	for {
		ln, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		v.rep.Lines++
		v.line(&ln)
	}
}

// place is a record's place in the chain.
type place struct {
	line       int64 // 0: before the first line
	seq        uint64
	prev, hash sum
	calc       sum  // of an edited record: the hash that its bytes have
	edited     bool // seq is then what it should be
	unchained  bool
}

// verifier follows the chain line by line.
type verifier struct {
	rep   Report
	found findings
	dec   decoder
	sums  *summer

	cur    place  // the last record of the chain
	good   place  // the last one that is intact: repairs follow it
	unread uint64 // lines since cur that are no record
	region region // what stands after good and is no intact record

	files    []setFile // of a set
	keptFrom uint64    // what rotation records say is kept

	run     *run    // records that stand in a wrong place, up to the line before
	gaps    []gap   // numbers that were skipped
	holes   []*hole // the problems of the gaps
	noChain *finding
	noCount int64
}

// region is a stretch of lines that a repair may seal.
type region struct {
	h     hash.Hash
	lines int
	bytes int64
	held  bool // a line feed whose place in the region is not known yet
	torn  []*finding
	more  int // torn lines without a finding of their own
}

func (r *region) write(p []byte) {
	if r.h == nil {
		r.h = sha256.New()
	}
	if len(p) == 0 {
		return
	}
	if r.held {
		r.h.Write([]byte{'\n'})
		r.bytes++
	}
	if r.held = p[len(p)-1] == '\n'; r.held {
		p = p[:len(p)-1]
	}
	r.h.Write(p)
	r.bytes += int64(len(p))
}

// add adds a whole line.
func (r *region) add(text []byte) {
	r.write(text)
	r.write([]byte{'\n'})
	r.lines++
}

func (r *region) reset() {
	if r.lines == 0 {
		return
	}
	r.h.Reset()
	*r = region{h: r.h}
}

func (r *region) is(s *sealed) bool {
	return r.bytes == s.bytes && bytes.Equal(r.h.Sum(nil), s.sha[:])
}

func (v *verifier) line(ln *line) {
	if ln.tooLong {
		v.region.lines++
		v.unread++
		v.found.add(v.rep.Lines, KindUnreadable, "the line is longer than %d MiB", MaxLine>>20)
		return
	}
	h, err := v.dec.decode(ln.text)
	if err != nil {
		v.noRecord(ln)
		return
	}
	v.rep.Records++
	v.rep.Last, v.rep.LastSeq = h.time, h.seq
	if v.rep.Records == 1 {
		v.rep.First, v.rep.FirstSeq = h.time, h.seq
	}
	switch {
	case h.event == eventRotation && v.rotation(&h, ln.text):
	case h.event == eventRepair && v.repair(&h, ln.text):
	case !h.chained:
		v.unchained(&h)
	default:
		v.chained(&h, ln.text)
	}
	if h.event == eventRestart {
		v.restart(&h, ln.text)
	}
	if !ln.ended {
		v.found.add(v.rep.Lines, KindTorn, "the last line lacks its line feed; the next start of a gateway adds it")
	}
}

// noRecord judges a line that cannot be read as a record.
func (v *verifier) noRecord(ln *line) {
	begins, ends := beginsAsRecord(ln.text), endsAsRecord(bytes.TrimRight(ln.text, " \t\r"))
	if ln.ended {
		v.region.add(ln.text)
		v.unread++
	}
	at := v.rep.Lines
	switch {
	case ends:
		v.found.add(at, KindEdited, "the line is no longer a valid record, but ends as one")
	case begins && !ln.ended:
		v.found.add(at, KindTorn, "the last line ends in its middle: a crash tore it, or it was cut; the next start of a gateway seals it")
	case begins:
		p := v.found.add(at, KindTorn, "the line ends in its middle, and no repair record seals it")
		if p == &v.found.rest {
			v.region.more++
		} else {
			v.region.torn = append(v.region.torn, p)
		}
	default:
		v.found.add(at, KindForeign, "the line is no record of a log")
	}
}

// beginsAsRecord reports whether text can be what a crash left of a record: its
// beginning, or zeros where a disk had room but no text yet.
func beginsAsRecord(text []byte) bool {
	n := min(len(text), len(seqStart))
	return n > 0 && string(text[:n]) == seqStart[:n] || n > 0 && len(bytes.Trim(text, "\x00")) == 0
}

// endsAsRecord reports whether text ends as a whole record does, but for one byte.
func endsAsRecord(text []byte) bool {
	cut := len(text) - hashMember
	if cut < 0 {
		return false
	}
	wrong := 0
	for i := range len(hashStart) {
		if text[cut+i] != hashStart[i] {
			wrong++
		}
	}
	if text[len(text)-2] != '"' {
		wrong++
	}
	if text[len(text)-1] != '}' {
		wrong++
	}
	return wrong <= 1
}

// repair takes a repair record that seals the lines before it. It returns false if the
// record is to be judged like any other.
func (v *verifier) repair(h *head, text []byte) bool {
	at := v.rep.Lines
	if h.chained && !h.intact(v.sums) {
		return false
	}
	s, ok := h.readSealed(text)
	switch {
	case !ok:
		v.found.add(at, KindEdited, "the repair record does not say what it seals")
		return false
	case v.region.lines == 0 && s.bytes == 0:
		v.repaired(at, "the line feed of the record before was missing")
		return false
	case v.region.lines == 0:
		v.found.add(at, KindRemoved, "the %d bytes that this repair record seals are gone", s.bytes)
		return false
	case h.prev != v.good.hash || h.seq != v.good.seq+1:
		return false
	case !v.region.is(&s):
		v.found.add(at, KindEdited, "this repair record seals other bytes than those that stand before it")
	default:
		for _, p := range v.region.torn {
			v.found.drop(p)
		}
		v.found.more -= int64(v.region.more)
		v.repaired(at, fmt.Sprintf("%d bytes before this line were no record and are sealed", s.bytes))
	}
	v.countUnchained(h)
	v.adopt(h)
	return true
}

func (v *verifier) repaired(at int64, text string) {
	if len(v.rep.Repairs) == MaxProblems {
		v.rep.MoreRepairs++
		return
	}
	v.rep.Repairs = append(v.rep.Repairs, Problem{Line: at, Kind: eventRepair, Text: text})
}

func (v *verifier) restart(h *head, text []byte) {
	b, ok := h.readBefore(text)
	if !ok {
		v.found.add(v.rep.Lines, KindEdited, "the restart record does not say what was before it")
		return
	}
	last := ""
	if b.hash != "" {
		last = ", hash " + b.hash
	}
	v.found.add(v.rep.Lines, KindRemoved, "a gateway found its log deleted, replaced, cut or overwritten here; the last record it had known was %d%s", b.seq, last)
}

func (v *verifier) finish() Report {
	v.endRun()
	for _, o := range v.holes {
		o.describe()
	}
	if v.noChain != nil {
		v.noChain.Text = fmt.Sprintf("%s without a chain (hash_chain: false): changes to them cannot be seen", counted(v.noCount, "record"))
	}
	v.rep.Problems, v.rep.More = v.found.list()
	v.place(v.rep.Problems)
	v.place(v.rep.Repairs)
	if v.cur.line > 0 && !v.cur.unchained {
		v.rep.LastHash = string(v.cur.hash[:])
	}
	return v.rep
}
