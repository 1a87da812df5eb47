package auditread_test

import (
	"path/filepath"
	"testing"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/auditread"
)

// TestOnlyProbesCountAsProbes: what looks like a call of the doctor's and is more stays visible.
func TestOnlyProbesCountAsProbes(t *testing.T) {
	const name = "sallyport_doctor_0123456789abcdef"
	args := func(text string) doc.Value {
		v, err := doc.Parse([]byte(text), doc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	none, some := args(`{}`), args(`{"to":"x@y.example"}`)
	probe := func(change func(*audit.Record)) audit.Record {
		r := verdict(1, "mail", name, "denied")
		r.Check, r.Rule, r.Reason, r.Arguments = "pin", "", "the server lists no tool '"+name+"'", none
		change(&r)
		return r
	}
	named := func(s string) audit.Record {
		return probe(func(r *audit.Record) { r.Target, r.Reason = s, "the server lists no tool '"+s+"'" })
	}
	for what, c := range map[string]struct {
		r    audit.Record
		want uint64
	}{
		"a probe":             {probe(func(*audit.Record) {}), 1},
		"allowed":             {probe(func(r *audit.Record) { r.Verdict, r.Outcome, r.Check, r.Reason = "allow", "allowed", "", "" }), 0},
		"run by a dry run":    {probe(func(r *audit.Record) { r.Outcome = "dry-run-allowed" }), 0},
		"asked about":         {probe(func(r *audit.Record) { r.Verdict, r.Outcome = "ask", "asked" }), 0},
		"after a question":    {probe(func(r *audit.Record) { r.Approval = "a1" }), 0},
		"its outcome":         {probe(func(r *audit.Record) { r.Phase = audit.PhaseOutcome }), 0},
		"a prompt":            {probe(func(r *audit.Record) { r.Event = "prompts/get" }), 0},
		"by another check":    {probe(func(r *audit.Record) { r.Check = "flow" }), 0},
		"a changed tool":      {probe(func(r *audit.Record) { r.Reason = "tool '" + name + "' is refused: its definition changed" }), 0},
		"with arguments":      {probe(func(r *audit.Record) { r.Arguments = some }), 0},
		"with none recorded":  {probe(func(r *audit.Record) { r.Arguments = doc.Value{} }), 0},
		"capital digits":      {named("sallyport_doctor_0123456789ABCDEF"), 0},
		"too few digits":      {named("sallyport_doctor_0123456789abcde"), 0},
		"too many digits":     {named("sallyport_doctor_0123456789abcdef0"), 0},
		"of another server's": {named("mail__sallyport_doctor_0123456789abcdef"), 0},
	} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		writeLog(t, path, audit.Options{}, c.r)
		s := summarize(t, path, auditread.Filter{})
		if s.ProbeCount() != c.want || s.Records != 1 || s.Matched != 1 {
			t.Errorf("%s: %d probes in %d records, want %d", what, s.ProbeCount(), s.Matched, c.want)
		}
		rows := len(s.Tools.Rows) + len(s.Callers.Rows) + len(s.Policies.Rows) + len(s.Events.Rows) + len(s.Days.Buckets) + len(s.Hours.Buckets)
		if (rows == 0) != (c.want == 1) || (s.Total.Calls+s.Total.Ended.Sum() == 0) != (c.want == 1) || c.want == 1 && len(s.Denials)+len(s.Checks.Rows) > 0 {
			t.Errorf("%s: %d rows, %d calls, %d denials", what, rows, s.Total.Calls, len(s.Denials))
		}
		if s.Total.First != at(1) {
			t.Errorf("%s: the log begins at %v", what, s.Total.First)
		}
	}
}
