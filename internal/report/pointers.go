package report

import (
	"bytes"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/auditread"
)

// maxSamples is how many records one kind of evidence points at.
const maxSamples = 5

// seen is how often something stands in the log, and the numbers of the first records.
type seen struct {
	n     uint64
	first []uint64
}

// Pointers finds, for each kind of evidence, the records of a log that are evidence of it.
// The zero Pointers is ready; its size does not depend on the log.
type Pointers struct {
	by map[evidence]*seen
}

// evidence is a kind of evidence.
type evidence string

const (
	allVerdicts evidence = "verdict"
	anOutcome   evidence = "outcome"
	wasDry      evidence = "dry-run"
	wasRedacted evidence = "redacted"
	pinned      evidence = "pinned"
	unpinned    evidence = "not pinned"
	opened      evidence = "asked" // questions, each once: a call that is made again while one is open asks nothing new
	saidYes     evidence = "yes"
	saidNo      evidence = "no"
	unanswered  evidence = "unanswered"
	loaded      evidence = "config"
	notLoaded   evidence = "config refused"
)

// refused and questioned are verdicts of a check.
func refused(check string) evidence    { return evidence("deny " + check) }
func questioned(check string) evidence { return evidence("ask " + check) }

// known are the checks that have a kind of evidence of their own. Others, which a log can
// invent, have none.
var known = map[string]bool{"pin": true, "policy": true, "budget": true, "path": true, "pattern": true, "flow": true, "rate": true, "approval": true}

// Add looks at one record. Probes of the doctor's are evidence of nothing that an agent did.
func (p *Pointers) Add(r *auditread.Record) {
	switch {
	case r.Probe():
		return
	case r.Phase == audit.PhaseVerdict:
		p.verdict(r)
		return
	case r.Phase == audit.PhaseOutcome:
		p.point(anOutcome, r.Seq)
		return
	}
	ok := r.Outcome != "denied" && r.Outcome != "error"
	switch r.Event {
	case "pin":
		p.either(ok, pinned, unpinned, r.Seq)
	case "config":
		p.either(ok, loaded, notLoaded, r.Seq)
	case "approval":
		switch r.Phase {
		case "answered":
			p.either(r.Outcome == "allowed", saidYes, saidNo, r.Seq)
		case "asked":
			p.point(opened, r.Seq)
		case "expired", "revoked":
			p.point(unanswered, r.Seq)
		}
	}
}

func (p *Pointers) verdict(r *auditread.Record) {
	p.point(allVerdicts, r.Seq)
	if args, left := r.Arguments(); left > 0 || bytes.Contains(args, []byte(`"redacted":"hmac-sha256:`)) || bytes.Contains(args, []byte("[redacted")) {
		p.point(wasRedacted, r.Seq)
	}
	if r.Outcome == "asked" && r.Approval == "" { // by a program that asks in its own way
		p.point(opened, r.Seq)
	}
	switch {
	case r.Outcome == "dry-run-allowed":
		p.point(wasDry, r.Seq)
	case !known[r.Check]:
	case r.Verdict == "deny":
		p.point(refused(r.Check), r.Seq)
	case r.Verdict == "ask":
		p.point(questioned(r.Check), r.Seq)
	}
}

func (p *Pointers) either(ok bool, yes, no evidence, seq uint64) {
	if ok {
		p.point(yes, seq)
	} else {
		p.point(no, seq)
	}
}

func (p *Pointers) point(m evidence, seq uint64) {
	s := p.by[m]
	if s == nil {
		if p.by == nil {
			p.by = map[evidence]*seen{}
		}
		s = &seen{}
		p.by[m] = s
	}
	s.n++
	if len(s.first) < maxSamples {
		s.first = append(s.first, seq)
	}
}

// of joins kinds of evidence.
func (p *Pointers) of(marks ...evidence) seen {
	var all seen
	for _, m := range marks {
		if s := p.by[m]; s != nil {
			all.n += s.n
			all.first = append(all.first, s.first...)
		}
	}
	return all
}
