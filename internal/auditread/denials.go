package auditread

import (
	"cmp"
	"slices"
	"time"
)

// How many denials a [Summary] keeps, and how much evidence of each. Denials of checks that
// are beyond the bound count as those of one more.
const (
	MaxDenials        = 20 // of each check
	MaxChecks         = 16
	MaxDenialEvidence = 5
)

// Denial is a call that was denied or held back by a rate.
type Denial struct {
	Seq      uint64     `json:"seq"`
	Time     time.Time  `json:"time"`
	Event    string     `json:"event"`
	Outcome  string     `json:"outcome"`
	Session  string     `json:"session,omitempty"`
	Caller   string     `json:"caller,omitempty"`
	Policy   string     `json:"policy,omitempty"`
	Upstream string     `json:"upstream,omitempty"`
	Target   string     `json:"target,omitempty"`
	Call     uint64     `json:"call,omitempty"`
	Check    string     `json:"check,omitempty"`
	Rule     string     `json:"rule,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
	More     uint64     `json:"evidence_left_out,omitempty"`
}

// denials keeps the newest of each check, in rings.
type denials struct {
	rings map[string]*ring
}

type ring struct {
	kept []Denial
	next int
}

// A check's name is one of a few; a longer one is cut as names are.
func (d *denials) add(r *Record) {
	key := name(r.Check)
	g := d.rings[key]
	if g == nil && len(d.rings) >= MaxChecks {
		key = "\x00" // no check has this name
		g = d.rings[key]
	}
	if g == nil {
		if d.rings == nil {
			d.rings = make(map[string]*ring)
		}
		g = new(ring)
		d.rings[key] = g
	}
	if len(g.kept) < MaxDenials {
		g.kept = append(g.kept, Denial{})
	}
	g.kept[g.next%MaxDenials] = denialOf(r)
	g.next++
}

func denialOf(r *Record) Denial {
	n := Denial{
		Seq: r.Seq, Time: r.Time, Event: r.Event, Outcome: r.Outcome, Session: r.Session, Caller: r.Caller, Policy: r.Policy,
		Upstream: r.Upstream, Target: r.Target, Call: r.Call, Check: r.Check, Rule: r.Rule, Reason: r.Reason(),
	}
	n.Evidence, n.More = r.Evidence(MaxDenialEvidence)
	return n
}

// sorted returns them in the order of their numbers.
func (d *denials) sorted() []Denial {
	all := []Denial{}
	for _, g := range d.rings {
		all = append(all, g.kept...)
	}
	slices.SortStableFunc(all, func(a, b Denial) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), a.Time.Compare(b.Time), cmp.Compare(a.Check, b.Check))
	})
	return all
}
