package approval

import (
	"context"
	"time"

	"github.com/sallyport-dev/sallyport"
)

// raised is a decision that can be continued.
type raised struct {
	approval string
	decision sallyport.DecisionID
}

// maxRaised bounds the calls whose decision can be continued; an older one's retry only
// counts as a new call.
const maxRaised = 256

// note remembers which decision a retry of this call continues: the first that was asked about.
func (d *Desk) note(r Request, out Outcome) (kept bool) {
	k := callKey(r.Call)
	d.mu.Lock()
	defer d.mu.Unlock()
	if out.State != Asked {
		delete(d.calls, k)
		return false
	}
	was, known := d.calls[k]
	switch {
	case known && was.approval == out.Approvals[0].ID:
		return false
	case !known:
		d.order = append(d.order, k)
	}
	d.calls[k] = raised{out.Approvals[0].ID, r.Decision.ID}
	for len(d.order) > maxRaised {
		delete(d.calls, d.order[0])
		d.order = d.order[1:]
	}
	return true
}

func callKey(c sallyport.Call) Key {
	args := digestCall(c)
	return keyOf(c.Subject.String(), c.Upstream, c.Name, string(args[:]))
}

// Continues returns the decision that a call continues: it is the very call that was asked
// about, and somebody has said yes since. 0: none, it is a call of its own.
func (d *Desk) Continues(ctx context.Context, c sallyport.Call) sallyport.DecisionID {
	d.mu.Lock()
	waits := len(d.calls) > 0
	d.mu.Unlock()
	if !waits {
		return 0
	}
	k := callKey(c)
	d.mu.Lock()
	was, known := d.calls[k]
	d.mu.Unlock()
	if !known {
		return 0
	}
	var granted bool
	err := d.store.change(ctx, d.expired, func(t *table, _ time.Time) (bool, error) {
		a := t.byID(was.approval)
		granted = a != nil && a.State == Granted
		return false, nil
	})
	if err != nil || !granted {
		return 0
	}
	return was.decision
}
