package cli

import (
	"path/filepath"
	"testing"

	"github.com/sallyport-dev/sallyport/audit"
)

func TestMetricsCountTheLog(t *testing.T) {
	log, err := audit.Open(filepath.Join(t.TempDir(), "audit.jsonl"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{record: log}
	for _, v := range []string{"allow", "deny", "deny"} {
		if _, err := log.Append(audit.Record{Event: "tools/call", Phase: audit.PhaseVerdict, Verdict: v}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.Append(audit.Record{Event: "tools/call", Phase: audit.PhaseOutcome, Outcome: "ok"}); err != nil {
		t.Fatal(err)
	}
	value := func(name, label string) uint64 {
		for _, m := range r.metrics() {
			if m.Name == name && m.Label == label {
				return m.Value
			}
		}
		t.Fatalf("there is no %s{%s}", name, label)
		return 0
	}
	want := func(name, label string, n uint64) {
		t.Helper()
		if got := value(name, label); got != n {
			t.Errorf("%s{%s} is %d, want %d", name, label, got, n)
		}
	}
	want("sallyport_audit_records_total", "", 4)
	want("sallyport_verdicts_total", `verdict="allow"`, 1)
	want("sallyport_verdicts_total", `verdict="deny"`, 2)
	want("sallyport_audit_failing", "", 0)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(audit.Record{Event: "tools/call", Phase: audit.PhaseVerdict, Verdict: "deny"}); err == nil {
		t.Fatal("a closed log took a record")
	}
	want("sallyport_audit_failing", "", 1)
	want("sallyport_audit_failures_total", "", 1)
	want("sallyport_verdicts_total", `verdict="deny"`, 2)
}
