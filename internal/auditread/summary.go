package auditread

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
)

// Summary is what a log says over a span of time. It has the same size however long the log
// is: besides its tables and series, of which each says its bound, it keeps at most
// [MaxDenials] denials of each of [MaxChecks] checks and the places of [MaxBroken] lines.
// All texts are hostile.
type Summary struct {
	Lines    int64  `json:"lines"`   // lines of the log
	Records  uint64 `json:"records"` // lines that are records
	Matched  uint64 `json:"matched"` // records that the filter chose; all below counts only these
	FirstSeq uint64 `json:"first_seq,omitempty"`
	LastSeq  uint64 `json:"last_seq,omitempty"` // of the last in the order of the log
	// First and Last are the earliest and the latest time of a record; Total counts all but probes.
	Total Tally `json:"total"`
	// Probes are the calls with which sallyport doctor looked whether calls are refused, by upstream;
	// they count in nothing else. See [Record.Probe].
	Probes Table[NameRow] `json:"doctor_probes"`

	Tools    Table[ToolRow]   `json:"tools"`   // tools/call by upstream and tool
	Callers  Table[NameRow]   `json:"callers"` // calls by caller
	Checks   Table[NameRow]   `json:"checks"`  // verdicts by the check that decided
	Rules    Table[RuleRow]   `json:"rules"`   // verdicts by the rule that decided
	Policies Table[PolicyRow] `json:"policies"`
	Events   Table[EventRow]  `json:"events"` // all records but probes
	Days     Series           `json:"days"`
	Hours    Series           `json:"hours"`

	// Denials are the newest refusals, questions apart, of each check: in the order of the log.
	Denials   []Denial  `json:"denials"`
	Approvals Approvals `json:"approvals"`

	// Broken is how many lines are no records, whatever the filter; BrokenLines are the first.
	Broken      uint64   `json:"broken"`
	BrokenLines []Broken `json:"broken_lines"`
}

// MaxBroken is how many lines that are no records are placed.
const MaxBroken = 100

// Broken is a line that is no record.
type Broken struct {
	File string `json:"file,omitempty"` // "" for a stream
	Line int64  `json:"line"`           // in its file, from 1; 0 if it is not known
	Why  string `json:"why"`
}

// Line is a line as it was read: a record, or why it is none.
type Line struct {
	Record *Record // nil: Broken says why. It stays as it is until the next line is read
	Broken Broken
}

// Lines reads the records of a log.
type Lines struct {
	in  *audit.Reader
	dec Decoder
}

// NewLines reads records from in, which stays the caller's.
func NewLines(in *audit.Reader) *Lines { return &Lines{in: in} }

// Next reads a line. The error is [io.EOF] at the end, else one of reading.
func (l *Lines) Next() (Line, error) {
	ln, err := l.in.Next()
	if err != nil {
		return Line{}, err
	}
	why := ln.Err
	if why == nil {
		var r *Record
		if r, why = l.dec.Record(ln.Text); why == nil {
			return Line{Record: r}, nil
		}
	}
	return Line{Broken: Broken{ln.File, ln.Number, why.Error()}}, nil
}

// checkEvery is after how many lines a context is looked at.
const checkEvery = 512

// Summarize reads a log to its end, in constant memory; in stays the caller's. The error is one of
// reading, or that of ctx; whatever is wrong with lines is in the summary.
func Summarize(ctx context.Context, in *audit.Reader, f Filter) (*Summary, error) {
	s := summarizer{out: Summary{BrokenLines: []Broken{}}, days: series{step: 24 * time.Hour, max: MaxDays}, hours: series{step: time.Hour, max: MaxHours}}
	lines := NewLines(in)
	for {
		if s.out.Lines%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ln, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return s.finish(), nil
		}
		if err != nil {
			return nil, err
		}
		s.out.Lines++
		if ln.Record == nil {
			s.broken(ln.Broken)
			continue
		}
		s.out.Records++
		if f.Match(ln.Record) {
			s.add(ln.Record)
		}
	}
}

type summarizer struct {
	out                                                     Summary
	tools, callers, checks, rules, policies, events, probes counter
	days, hours                                             series
	denials                                                 denials
	approvals                                               approvals
}

func (s *summarizer) broken(b Broken) {
	s.out.Broken++
	if len(s.out.BrokenLines) < MaxBroken {
		s.out.BrokenLines = append(s.out.BrokenLines, b)
	}
}

func (s *summarizer) add(r *Record) {
	s.out.Matched++
	if s.out.FirstSeq == 0 {
		s.out.FirstSeq = r.Seq
	}
	s.out.LastSeq = r.Seq
	if r.Probe() {
		s.probes.add("", r.Upstream, r)
		s.out.Total.span(r.Time)
		return
	}
	s.out.Total.add(r)
	s.events.add("", r.Event, r)
	s.days.add(r)
	s.hours.add(r)
	if r.Event == "approval" {
		s.approvals.add(r)
	}
	if r.Phase != audit.PhaseVerdict && r.Phase != audit.PhaseOutcome {
		return
	}
	if r.Event == "tools/call" {
		s.tools.add(r.Upstream, r.Target, r)
	}
	s.callers.add("", r.Caller, r)
	if r.Policy != "" {
		s.policies.add(r.Policy, r.PolicyDigest, r)
	}
	if r.Phase == audit.PhaseOutcome {
		return
	}
	if r.Check != "" {
		s.checks.add("", r.Check, r)
	}
	if r.Rule != "" {
		s.rules.add(r.Policy, r.Rule, r)
	}
	if r.Outcome == "denied" || r.Outcome == "rate_limited" {
		s.denials.add(r)
	}
}

func (s *summarizer) finish() *Summary {
	out := &s.out
	out.Probes = table(&s.probes, nameRow)
	out.Tools = table(&s.tools, func(p pair, t Tally) ToolRow { return ToolRow{p.group, p.name, t} })
	out.Callers = table(&s.callers, nameRow)
	out.Checks = table(&s.checks, nameRow)
	out.Rules = table(&s.rules, func(p pair, t Tally) RuleRow { return RuleRow{p.group, p.name, t} })
	out.Policies = table(&s.policies, func(p pair, t Tally) PolicyRow { return PolicyRow{p.group, p.name, t} })
	out.Events = table(&s.events, func(p pair, t Tally) EventRow { return EventRow{p.name, t} })
	out.Days, out.Hours = s.days.sorted(), s.hours.sorted()
	out.Denials = s.denials.sorted()
	out.Approvals = s.approvals.sorted()
	return out
}
