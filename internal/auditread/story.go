package auditread

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
)

// Bounds of a [Story].
const (
	MaxStory         = 64      // records that belong together
	MaxStoryEvidence = 20      // destinations
	MaxStoryRecord   = 1 << 20 // bytes of a record; gateways write shorter ones
)

// Entry is a record with its place.
type Entry struct {
	File string         `json:"file,omitempty"`
	Line int64          `json:"line"`
	Raw  jsontext.Value `json:"record"` // as it stands in the log: hostile
}

// Record reads the entry.
func (e *Entry) Record() (*Record, error) { return new(Decoder).Record(e.Raw) }

// Source is where a destination of the call was first seen, and the call whose output that was.
type Source struct {
	Evidence
	// Verdict and Outcome are that call's records, nil if the log does not hold them.
	Verdict *Entry `json:"first_seen,omitempty"`
	Outcome *Entry `json:"first_seen_outcome,omitempty"`
}

// Story is everything that a log says of one call, or of one approval.
type Story struct {
	Subject Entry `json:"subject"` // the record, or the verdict of the call whose outcome it is
	// Same is how many records have the subject's number. More than one is not the work of gateways.
	Same int `json:"same_number"`
	// Records are the call's verdicts and outcomes and the steps of its approval, the subject
	// among them, in the order of the log.
	Records []Entry  `json:"records"`
	More    int      `json:"records_left_out,omitempty"`
	Sources []Source `json:"evidence"`
	// MoreSources is how many destinations there are besides.
	MoreSources uint64 `json:"evidence_left_out,omitempty"`
}

// ErrNoSuchRecord is the error of a number that no record has.
var ErrNoSuchRecord = errors.New("no record has this number")

// Tell reads the log that open opens, up to three times, and tells the story of the record with number
// seq. The error is [ErrNoSuchRecord], or one of reading.
func Tell(ctx context.Context, open func() (*audit.Reader, error), seq uint64) (*Story, error) {
	s := &Story{Sources: []Source{}}
	var err error
	if s.Subject, s.Same, err = find(ctx, open, seq); err != nil {
		return nil, err
	}
	subject, err := s.Subject.Record()
	if err != nil {
		return nil, err
	}
	if subject.Phase == audit.PhaseOutcome && subject.Ref > 0 && subject.Ref < subject.Seq {
		if e, n, err := find(ctx, open, subject.Ref); err == nil {
			s.Subject, s.Same = e, n
			if subject, err = e.Record(); err != nil {
				return nil, err
			}
		} else if !errors.Is(err, ErrNoSuchRecord) {
			return nil, err
		}
	}
	var evidence []Evidence
	evidence, s.MoreSources = subject.Evidence(MaxStoryEvidence)
	for _, e := range evidence {
		s.Sources = append(s.Sources, Source{Evidence: e})
	}
	t := teller{Story: s, subject: subject, verdicts: map[uint64]bool{}, sources: make([]source, len(s.Sources))}
	return s, each(ctx, open, func(ln audit.Line) {
		if len(ln.Text) <= MaxStoryRecord {
			if r, err := t.dec.Record(ln.Text); err == nil {
				t.record(r, ln)
			}
		}
	})
}

// each reads the lines of a log that are whole.
func each(ctx context.Context, open func() (*audit.Reader, error), do func(audit.Line)) error {
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		ln, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if ln.Err == nil {
			do(ln)
		}
	}
}

// find returns the first record with a number, and how many have it. One that is too long to be told
// is none.
func find(ctx context.Context, open func() (*audit.Reader, error), seq uint64) (found Entry, n int, err error) {
	start := fmt.Appendf(nil, `{"seq":%d,`, seq)
	var d Decoder
	err = each(ctx, open, func(ln audit.Line) {
		if !bytes.HasPrefix(ln.Text, start) || len(ln.Text) > MaxStoryRecord {
			return
		}
		if _, err := d.Record(ln.Text); err != nil {
			return
		}
		if n++; n == 1 {
			found = entry(ln)
		}
	})
	if err == nil && n == 0 {
		err = ErrNoSuchRecord
	}
	return found, n, err
}

func entry(ln audit.Line) Entry { return Entry{ln.File, ln.Number, bytes.Clone(ln.Text)} }

// teller finds what belongs to its subject.
type teller struct {
	*Story
	dec      Decoder
	subject  *Record
	verdicts map[uint64]bool // of the story, by their numbers
	sources  []source        // beside those of the story
}

// source is what is known of the best candidate for a source.
type source struct {
	seq  uint64
	same bool // of the subject's own session
	when time.Time
}

func (t *teller) record(r *Record, ln audit.Line) {
	if t.belongs(r) {
		if len(t.Records) < MaxStory {
			t.Records = append(t.Records, entry(ln))
			if r.Phase == audit.PhaseVerdict {
				t.verdicts[r.Seq] = true
			}
		} else {
			t.More++
		}
	}
	if r.Seq < t.subject.Seq {
		for i := range t.Sources {
			t.source(i, r, ln)
		}
	}
}

func (t *teller) belongs(r *Record) bool {
	s := t.subject
	sameCall := s.Call > 0 && r.Call == s.Call && r.Session == s.Session
	switch {
	case r.Seq == s.Seq:
		return true
	case r.Phase == audit.PhaseOutcome:
		return t.verdicts[r.Ref]
	case s.Approval != "" && r.Approval == s.Approval:
		if s.Phase != audit.PhaseVerdict || s.Outcome == "asked" {
			return true
		}
		// A yes for a session covers other calls too, which are no part of this one.
		return sameCall || r.Outcome == "asked" || r.Event == "approval" && r.Phase != "used"
	case r.Phase == audit.PhaseVerdict:
		return s.Phase == audit.PhaseVerdict && sameCall && r.Event == s.Event && r.Upstream == s.Upstream && r.Target == s.Target
	}
	return false
}

// source looks whether r is of the call in whose output a destination was first seen. Calls
// are numbered in their session, and the evidence does not name it where it is another
// process's: then it is the last call before that moment.
func (t *teller) source(i int, r *Record, ln audit.Line) {
	e, known := &t.Sources[i], &t.sources[i]
	if r.Phase == audit.PhaseOutcome {
		if known.seq > 0 && r.Ref == known.seq {
			o := entry(ln)
			e.Outcome = &o
		}
		return
	}
	if r.Phase != audit.PhaseVerdict || e.Call == 0 || r.Call != e.Call || r.Upstream != e.Upstream ||
		r.Target != e.Tool && r.Event != e.Tool || !e.Time.IsZero() && r.Time.After(e.Time) {
		return
	}
	if same := r.Session == t.subject.Session; known.seq == 0 || same && !known.same || same == known.same && !r.Time.Before(known.when) {
		v := entry(ln)
		e.Verdict, e.Outcome = &v, nil
		*known = source{r.Seq, same, r.Time}
	}
}
