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

// With copies a ledger of a megabyte or more holds at most 1.5 bytes for each that was
// recorded, at the sizes too at which everything has just got larger.
func TestMemoryOfMixedText(t *testing.T) {
	c, l, recorded := newCorpus(), NewLedger(LedgerOptions{Key: testKey}), 0
	o := newObserver(l) // the race detector makes the pool lose some, and with them what they recorded lately
	for recorded < 12<<20 {
		out, size := c.output(t, 50<<10)
		o.observe(out)
		if recorded += size; recorded >= 1<<20 && float64(l.Bytes()) > 1.5*float64(recorded) {
			t.Errorf("%d bytes for %d", l.Bytes(), recorded)
		}
	}
}
