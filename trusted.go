package sallyport

import (
	"time"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/flow"
)

// TrustedDestination is an entry of a list that the user keeps beside the contracts: it
// trusts for tools that send what a contract's trusted_destinations would.
type TrustedDestination struct {
	Pattern  flow.Pattern
	Upstream string    // "": every upstream
	Tool     string    // as the upstream knows it; "": every tool
	Expires  time.Time // not trusted from then on; zero: never
	Name     string    // the entry in evidence
}

func (t TrustedDestination) covers(c Call, now time.Time) bool {
	return (t.Upstream == "" || t.Upstream == c.Upstream) && (t.Tool == "" || t.Tool == c.Name) &&
		(t.Expires.IsZero() || now.Before(t.Expires))
}

// trusts reports that the contract names a destination, or the user's own list does.
func (e *evaluation) trusts(c *contract.Contract, d flow.Destination) bool {
	return trusts(c, d) || e.onList(d) != nil
}

// onList returns the entry of the user's list that covers a destination of this call.
func (e *evaluation) onList(d flow.Destination) *TrustedDestination {
	if e.by.opt.Trusted == nil {
		return nil
	}
	if !e.listed {
		e.list, e.listed = e.by.opt.Trusted(), true
	}
	var now time.Time
	for i := range e.list {
		t := &e.list[i]
		if !t.Pattern.Matches(d) {
			continue
		}
		if now.IsZero() {
			now = e.by.opt.Now()
		}
		if t.covers(e.p.call, now) {
			return t
		}
	}
	return nil
}

// listEvidence says that a destination is let through because it is on the user's list.
func (e *evaluation) listEvidence(c *contract.Contract, d flow.Destination) {
	if trusts(c, d) || d.Malformed != "" {
		return
	}
	if t := e.onList(d); t != nil {
		e.d.Evidence = append(e.d.Evidence, Evidence{
			Argument: d.Place, Destination: d.Canonical, Origin: flow.Trusted.String(), Place: t.Name,
		})
	}
}

// Origin says where the question's destination was known from when it was asked: unknown,
// party, inside, untrusted; or what else the question is about: carried, copied, secret,
// not typed. "" where the call as a whole is meant.
func (q Question) Origin() string { return q.origin }
