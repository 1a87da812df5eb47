package report

import (
	"slices"
	"testing"

	"github.com/sallyport-dev/sallyport/audit"
)

// What is kept of a log does not grow with it, and a check that a log invents has no place.
func TestPointersAreBounded(t *testing.T) {
	var l []audit.Record
	for range 100 {
		l = append(l, call("a", "deny", "flow", "denied"), call("a", "deny", "flow "+string(rune('a'+len(l)%26)), "denied"))
	}
	p := readLog(t, writeLog(t, l...), noFilter).Pointers
	got := p.of(refused("flow"))
	if got.n != 100 || !slices.Equal(got.first, []uint64{1, 3, 5, 7, 9}) {
		t.Errorf("%+v, want 100 and the first five", got)
	}
	if len(p.by) != 2 { // all verdicts, and those of flow
		t.Errorf("%d kinds of evidence", len(p.by))
	}
	if both := p.of(refused("flow"), refused("path")); both.n != 100 {
		t.Errorf("%d, want those of flow alone", both.n)
	}
}

func TestPointers(t *testing.T) {
	for _, c := range []struct {
		record audit.Record
		kind   evidence
	}{
		{call("a", "ask", "flow", "asked"), questioned("flow")},
		{call("a", "deny", "policy", "dry-run-allowed"), wasDry},
		{audit.Record{Event: "tools/call", Phase: audit.PhaseOutcome, Outcome: "allowed"}, anOutcome},
		{audit.Record{Event: "pin", Detail: "2 tools pinned"}, pinned},
		{audit.Record{Event: "pin", Outcome: "denied"}, unpinned},
		{audit.Record{Event: "config"}, loaded},
		{audit.Record{Event: "config", Outcome: "error"}, notLoaded},
		{audit.Record{Event: "approval", Phase: "answered", Outcome: "allowed"}, saidYes},
		{audit.Record{Event: "approval", Phase: "answered", Outcome: "denied"}, saidNo},
		{audit.Record{Event: "approval", Phase: "asked", Approval: "a", Outcome: "asked"}, opened},
		{call("a", "ask", "flow", "asked"), opened},
		{audit.Record{Event: "approval", Phase: "expired", Outcome: "cancelled"}, unanswered},
	} {
		p := readLog(t, writeLog(t, c.record), noFilter).Pointers
		if got := p.of(c.kind); got.n != 1 {
			t.Errorf("%s %s %s is no evidence of %q: %v", c.record.Event, c.record.Phase, c.record.Outcome, c.kind, p.by)
		}
	}
}
