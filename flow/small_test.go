package flow

import (
	"fmt"
	"testing"
)

// A table that one batch fills, and so without a look at how full it is, grows no more by
// much when its evidence is gone; and what an observer keeps holds no text.
func TestSmallTableGrowsByLittle(t *testing.T) {
	l := NewLedger(LedgerOptions{Key: testKey, MaxBytes: 300 << 10})
	l.facts.goBlind()
	if l.facts.pairs.roomy || l.facts.runs.roomy {
		t.Error("sets of a table without evidence grow by more than they need")
	}
	o := newObserver(l)
	o.observe(output(t, "read", 1, result(fmt.Sprintf(`{"name of a member %d": ["x", {"another": 1}]}`, 1))))
	for _, h := range o.path[:cap(o.path)] {
		if h.name != "" {
			t.Errorf("the name %q is kept", h.name)
		}
	}
}
