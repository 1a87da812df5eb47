package sallyport

import (
	"context"
	"fmt"
	"time"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
)

// rateLook is the check before anything is debited. What starts debits at once, and what
// continues another call was debited already.
func (e *evaluation) rateLook(ctx context.Context) bool {
	return e.again && e.steps == nil || e.p.rated || e.rate(ctx, false)
}

// rate looks at the limits of the rule that allows, or debits them all or none.
func (e *evaluation) rate(ctx context.Context, debit bool) bool {
	if len(e.p.limits) == 0 {
		return true
	}
	buckets := make([]Bucket, 0, len(e.p.limits))
	for _, name := range e.p.limits {
		l, ok := e.by.opt.RateLimits[name]
		if !ok {
			return e.deny(CheckRate, "rule %s names the rate limit %s, which does not exist", quoted(e.d.Rule), quoted(name))
		}
		owner := e.s.opt.Caller
		if l.Global {
			owner = ""
		}
		buckets = append(buckets, Bucket{Name: fmt.Sprintf("rate %q %q", name, owner), Rate: l.Rate, Burst: l.Burst})
	}
	ok, retry, err := e.by.opt.Store.Take(ctx, buckets, debit)
	switch {
	case err != nil:
		return e.deny(CheckRate, "the rate limits of rule %s could not be read", quoted(e.d.Rule))
	case ok:
		return true
	}
	e.d.Retry = retry
	runs := e.denyRule(CheckRate, "rule %s allows no more calls for now: retry in %s", quoted(e.d.Rule), seconds(retry))
	if e.would != nil {
		e.d.Retry, e.would.Retry = 0, retry
	}
	return runs
}

// seconds writes a wait as a person reads it: 2.3s, 1m30s.
func seconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", max(d, 100*time.Millisecond).Seconds())
	}
	return d.Round(time.Second).String()
}

func (e *evaluation) destructive() bool {
	if e.p.contract != nil && e.p.contract.Destructive {
		e.ask(Question{Check: CheckApproval, Text: fmt.Sprintf("%s is destructive, as its contract says", quoted(e.p.call.shown()))})
	}
	return true
}

// origins are those of the destinations in a value, for rules. A value without one has
// none that is known.
func (e *evaluation) origins(place string, v doc.Value) (all []flow.Origin, ok bool) {
	for _, d := range flow.Flatten(place, v) {
		all = append(all, e.originOf(d))
	}
	return all, len(all) > 0
}

func (e *evaluation) originOf(d flow.Destination) flow.Origin {
	if d.Malformed != "" {
		return flow.Malformed
	}
	if e.p.contract != nil && e.trusts(e.p.contract, d) {
		return flow.Trusted
	}
	d.Upstream = e.p.call.Upstream
	o := e.s.ledger.Lookup(d).Origin
	if o == flow.Unknown && e.s.ledger.Full() {
		return flow.Untrusted
	}
	return o
}
