package audit

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// The kinds of a [Problem].
const (
	KindEdited     = "edited"     // bytes are not those that were written
	KindRemoved    = "removed"    // records that were there are not
	KindInserted   = "inserted"   // a record stands where it has no place
	KindReordered  = "reordered"  // a record stands after one that it precedes
	KindTorn       = "torn"       // a line was written in part and not repaired
	KindForeign    = "foreign"    // a line that no log wrote
	KindUnreadable = "unreadable" // a line longer than MaxLine
	KindUnchained  = "unchained"  // records without a chain: hash_chain was false
	KindTruncated  = "truncated"  // a checkpoint covers records after the last one
	KindForked     = "forked"     // a checkpoint was made of other records than those that are there
	KindCheckpoint = "checkpoint" // something is wrong with a checkpoint itself
)

// Problem is one thing that Verify found. Its text quotes nothing from the log but
// numbers and hashes: it is safe to print.
type Problem struct {
	File string // base name of the file, where a log of several files was verified
	Line int64  // from 1, in that file
	Kind string
	Text string
}

// MaxProblems bounds the problems, and the repairs, that a report lists.
const MaxProblems = 1000

// Report is the result of Verify.
type Report struct {
	Lines             int64
	Records           int64 // lines that are records, whether intact or not
	FirstSeq, LastSeq uint64
	First, Last       time.Time // times of the first and the last record
	LastHash          string    // of the last record; "" if there is none
	Files             int       // of a rotated log; 0: one file, or a stream
	// StartsAfter is the record that the first one follows, where the log begins with the
	// record of a rotation; 0: it begins at its beginning.
	StartsAfter uint64
	Unchained   int64     // records without prev and hash
	Problems    []Problem // in the order of lines; at most MaxProblems
	More        int64     // problems left out
	Repairs     []Problem // torn lines that were repaired: no problems; at most MaxProblems
	MoreRepairs int64
	Checkpoints *CheckpointReport // nil: none were given
}

// Intact reports whether there are no problems, with the log or with the checkpoints.
func (r *Report) Intact() bool { return r.problems() == 0 }

// NotCompared reports whether nothing is wrong with the log itself, but none of the checkpoints
// that were given could be compared with it.
func (r *Report) NotCompared() bool {
	return r.problems() == 1 && r.Checkpoints != nil && r.Checkpoints.NotCompared != ""
}

func (r *Report) problems() int64 {
	n := int64(len(r.Problems)) + r.More
	if c := r.Checkpoints; c != nil {
		n += int64(len(c.Problems)) + c.More
	}
	return n
}

// Conclusion says in a few sentences what follows from the report, and what does not.
func (r *Report) Conclusion() string {
	text := r.conclusion()
	if r.StartsAfter > 0 {
		text += fmt.Sprintf(" Records up to %d stand in older files, of which nothing is known here", r.StartsAfter)
		if r.fits() {
			text += ", but that the checkpoints' trees have them"
		}
		text += "."
	}
	if c := r.Checkpoints; c != nil && !c.Checked && c.Notes > 0 {
		text += " No key was given: the checkpoints' signatures are not checked, and show as much as the place that they come from is trusted."
	}
	return text
}

func (r *Report) fits() bool { return r.Checkpoints != nil && r.Checkpoints.Fit > 0 }

func (r *Report) conclusion() string {
	n := r.problems()
	switch {
	case r.Records == 0 && n == 0:
		return "There are no records. A log that was emptied looks the same."
	case r.NotCompared():
		text := r.Checkpoints.NotCompared + ". "
		if r.Records == 0 {
			return text + "There are no records. A log that was emptied looks the same."
		}
		return text + "By its own chain every record is as it was written, and none is missing before the last one. Records cut off the end, or a chain " +
			"rebuilt from some record on, cannot be seen without " + r.missing() + "."
	case r.Unchained == r.Records && r.Records > 0 && !r.fits():
		return fmt.Sprintf("%s. Without a chain, only missing numbers can be seen: of the rest nothing is known.", counted(n, "problem"))
	case n > 0 && r.fits():
		return fmt.Sprintf("%s. %s %s", counted(n, "problem"), r.covered(), r.unsigned())
	case n > 0:
		return fmt.Sprintf("%s. Chained records between the places named are as they were written, unless the chain was rebuilt from some record on; "+
			"that, and records cut off the end, cannot be seen without %s.", counted(n, "problem"), r.missing())
	case r.fits():
		return "Every record is as it was written, and none is missing before the last one. " +
			r.covered() + " " + r.unsigned()
	default:
		return "Every record is as it was written, and none is missing before the last one. Records cut off the end, or a chain " +
			"rebuilt from some record on, cannot be seen without " + r.missing() + "."
	}
}

// missing is what would show more.
func (r *Report) missing() string {
	if r.Checkpoints != nil {
		return "a checkpoint that can be compared"
	}
	return "a checkpoint or an older hash kept elsewhere"
}

// covered says what the checkpoints show.
func (r *Report) covered() string {
	what := "was signed"
	if !r.Checkpoints.Checked {
		what = "the checkpoint describes"
	}
	return fmt.Sprintf("Up to record %d the log is the one that %s.", r.Checkpoints.UpTo, what)
}

// unsigned says what the checkpoints do not show.
func (r *Report) unsigned() string {
	return "Records after it that were cut off, or a chain rebuilt after it, cannot be seen without a newer checkpoint."
}

func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// findings collects problems that may turn out to be none, or to be another. It holds
// a bounded number and counts the rest.
type findings struct {
	all  []*finding
	rest finding // stands for all that are only counted
	more int64
}

type finding struct {
	Problem
	void bool
}

func (f *findings) add(at int64, kind, format string, args ...any) *finding {
	if len(f.all) == 2*MaxProblems {
		f.all = slices.DeleteFunc(f.all, func(p *finding) bool { return p.void })
	}
	if len(f.all) == 2*MaxProblems {
		f.more++
		return &f.rest
	}
	p := &finding{Problem: Problem{Line: at, Kind: kind, Text: fmt.Sprintf(format, args...)}}
	f.all = append(f.all, p)
	return p
}

// drop takes a problem back. It must be called once.
func (f *findings) drop(p *finding) {
	if p == &f.rest {
		f.more--
		return
	}
	p.void = true
}

func (f *findings) list() (problems []Problem, more int64) {
	for _, p := range f.all {
		if !p.void {
			problems = append(problems, p.Problem)
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	if len(problems) > MaxProblems {
		more = int64(len(problems) - MaxProblems)
		problems = problems[:MaxProblems]
	}
	return problems, more + f.more
}
