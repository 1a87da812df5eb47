package auditread_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/auditread"
)

func at(sec int) time.Time { return time.Date(2026, 1, 2, 15, 4, sec, 0, time.UTC) }

// writeLog writes records as gateways do.
func writeLog(t testing.TB, path string, opt audit.Options, records ...audit.Record) {
	t.Helper()
	l, err := audit.Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, r := range records {
		if _, err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
}

func verdict(sec int, upstream, tool, outcome string) audit.Record {
	r := audit.Record{
		Time: at(sec), Event: "tools/call", Phase: audit.PhaseVerdict, Session: "s", Caller: "local", Policy: "p", PolicyDigest: "sha256:1",
		Upstream: upstream, Target: tool, Verdict: "allow", Outcome: outcome, Mode: "enforce",
	}
	if outcome == "denied" {
		r.Verdict, r.Check, r.Rule, r.Reason = "deny", "policy", "no-"+tool, "rule no-"+tool+" denies it"
	}
	return r
}

func outcome(sec int, upstream, tool, outcome string) audit.Record {
	r := verdict(sec, upstream, tool, outcome)
	r.Phase, r.Verdict = audit.PhaseOutcome, ""
	r.Check, r.Rule, r.Reason = "", "", ""
	r.Duration = 5 * time.Millisecond
	return r
}

func summarize(t testing.TB, path string, f auditread.Filter) *auditread.Summary {
	t.Helper()
	in, err := audit.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	s, err := auditread.Summarize(t.Context(), in, f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSummaryCountsByEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	approval := func(sec int, phase, outcome, detail string) audit.Record {
		return audit.Record{
			Time: at(sec), Event: "approval", Phase: phase, Approval: "a1", Caller: "local", Upstream: "mail", Target: "send",
			Outcome: outcome, Detail: detail, Duration: 2 * time.Second,
		}
	}
	denied := verdict(5, "mail", "send", "denied")
	denied.Check, denied.Evidence = "flow", []audit.Evidence{{Argument: "to", Destination: "x@evil.example", Origin: "untrusted", Upstream: "mail", Tool: "read", Call: 1, Time: at(1), Place: "content[0].text"}}
	other := verdict(6, "mail", "read", "denied")
	other.Caller = "laptop"
	writeLog(t, path, audit.Options{},
		verdict(1, "mail", "read", "allowed"), outcome(2, "mail", "read", "allowed"),
		verdict(3, "mail", "read", "allowed"), outcome(4, "mail", "read", "error"),
		denied, other,
		approval(7, "asked", "asked", "1 question"), approval(8, "answered", "allowed", "yes, for the session, channel code, by ana"),
		approval(9, "used", "allowed", "it covers this call"), approval(10, "answered", "denied", "no, channel client"),
	)
	s := summarize(t, path, auditread.Filter{})

	read := auditread.Tally{
		Records: 5, Calls: 3, First: at(1), Last: at(6),
		Decided: auditread.Outcomes{Allowed: 2, Denied: 1}, Ended: auditread.Outcomes{Allowed: 1, Error: 1},
	}
	send := auditread.Tally{Records: 1, Calls: 1, First: at(5), Last: at(5), Decided: auditread.Outcomes{Denied: 1}}
	want(t, "tools", s.Tools.Rows, []auditread.ToolRow{{"mail", "read", read}, {"mail", "send", send}})
	want(t, "ran", read.Ran(), 2)
	want(t, "refused", read.Refused(), 1)
	var names []string
	for _, c := range s.Callers.Rows {
		names = append(names, fmt.Sprint(c.Name, c.Calls))
	}
	for _, c := range s.Checks.Rows {
		names = append(names, fmt.Sprint(c.Name, c.Calls))
	}
	for _, r := range s.Rules.Rows {
		names = append(names, fmt.Sprint(r.Policy, "/", r.Rule, r.Calls))
	}
	for _, e := range s.Events.Rows {
		names = append(names, fmt.Sprint(e.Event, e.Records))
	}
	for _, p := range s.Policies.Rows {
		names = append(names, fmt.Sprint(p.Policy, p.Digest, p.Calls))
	}
	want(t, "rows", strings.Join(names, " "), "local3 laptop1 flow1 policy1 p/no-read1 p/no-send1 tools/call6 approval4 psha256:14")
	want(t, "total", s.Total.Calls, 4)
	want(t, "span", []time.Time{s.Total.First, s.Total.Last}, []time.Time{at(1), at(10)})
	want(t, "numbers", []uint64{s.Records, s.Matched, s.FirstSeq, s.LastSeq, s.Broken}, []uint64{10, 10, 1, 10, 0})

	want(t, "denials", len(s.Denials), 2)
	want(t, "evidence", s.Denials[0].Evidence, []auditread.Evidence{
		{"to", "x@evil.example", "untrusted", "mail", "read", 1, at(1), "content[0].text"},
	})
	want(t, "reason", s.Denials[1].Reason, "rule no-read denies it")

	answers := auditread.Answers{Asked: 1, Yes: 1, YesSession: 1, No: 1, Used: 1, Waited: 4 * time.Second, Longest: 2 * time.Second}
	want(t, "approvals", s.Approvals.Answers, answers)
	want(t, "approved tools", s.Approvals.Tools, []auditread.ApprovalRow{{"mail", "send", "", answers}})
	want(t, "channels", []string{s.Approvals.Channels[0].Channel, s.Approvals.Channels[1].Channel}, []string{"client", "code"})
	want(t, "always granted", answers.AlwaysGranted(), false)

	want(t, "days", []any{len(s.Days.Buckets), s.Days.Buckets[0].Start, s.Days.Buckets[0].Calls},
		[]any{1, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), uint64(4)})
	want(t, "hours", s.Hours.Buckets[0].Start, time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC))
}

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: (-want +got)\n%s", what, d)
	}
}

func TestFilters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	laptop := verdict(5, "mail", "send", "denied")
	laptop.Caller, laptop.Policy = "laptop", "q"
	writeLog(t, path, audit.Options{},
		verdict(1, "mail", "read", "allowed"), outcome(2, "mail", "read", "error"), verdict(3, "crm", "read", "allowed"), laptop)
	for name, c := range map[string]struct {
		f    auditread.Filter
		want uint64
	}{
		"all":           {auditread.Filter{}, 4},
		"since":         {auditread.Filter{Since: at(2)}, 3},
		"until":         {auditread.Filter{Until: at(2)}, 1},
		"outcome":       {auditread.Filter{Outcome: "error"}, 1},
		"caller":        {auditread.Filter{Caller: "laptop"}, 1},
		"policy":        {auditread.Filter{Policy: "q"}, 1},
		"tool":          {auditread.Filter{Tool: "read"}, 3},
		"upstream/tool": {auditread.Filter{Tool: "crm/read"}, 1},
		"together":      {auditread.Filter{Tool: "mail/read", Outcome: "allowed", Until: at(3)}, 1},
		"none":          {auditread.Filter{Tool: "/read"}, 0},
	} {
		if got := summarize(t, path, c.f).Matched; got != c.want {
			t.Errorf("%s: %d records, want %d", name, got, c.want)
		}
	}
}

func TestRotatedSetIsReadWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var all []audit.Record
	for i := range 3000 {
		r := verdict(i%60, "mail", "read", "allowed")
		r.Detail = strings.Repeat("x", 1000)
		all = append(all, r)
	}
	writeLog(t, path, audit.Options{Rotate: audit.Rotation{MaxSize: 1 << 20, Compress: true}}, all...)
	files, err := filepath.Glob(path + ".*.gz")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d compressed files: %v", len(files), err)
	}
	s := summarize(t, path, auditread.Filter{})
	want(t, "calls", s.Total.Calls, 3000)
	want(t, "broken", s.Broken, 0)

	// A compressed file that is damaged costs its own records only, and is placed.
	packed, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], packed[:len(packed)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	cut := summarize(t, path, auditread.Filter{})
	if cut.Broken < 1 || cut.BrokenLines[len(cut.BrokenLines)-1].File != filepath.Base(files[0]) || cut.Total.Calls < 1000 || cut.Total.Calls >= 3000 {
		t.Errorf("%d calls, broken %+v", cut.Total.Calls, cut.BrokenLines)
	}
}

func TestSummaryOfHostileLog(t *testing.T) {
	record := func(seq int, members string) string {
		return fmt.Sprintf(`{"seq":%d,"time":"2026-01-02T15:04:05.000Z","event":"tools/call"%s}`, seq, members)
	}
	lines := []string{
		record(1, `,"phase":"verdict","target":"<script>\u001b[2J","outcome":"denied"`),
		strings.Repeat("x", audit.MaxLine+10),
		record(2, `,"arguments":`+strings.Repeat("[", 20000)+strings.Repeat("]", 20000)),
		`<script>alert(1)</script>`,
		record(3, `,"outcome":"allowed","outcome":"denied"`),
		record(4, `,"outcome":{}`),
		record(0, ``),
		record(9007199254740992, ``),
		`{"seq":1,"time":"2026-13-02T15:04:05.000Z","event":"x"}`,
		`[]`, ``, "\x00\x1b", `{"seq":1}`,
		record(5, `,"phase":"verdict","arguments":{"a":"`+strings.Repeat("y", 1<<20)+`"}`),
		record(6, ``)[:40],
	}
	in := audit.NewReader(strings.NewReader(strings.Join(lines, "\n")))
	s, err := auditread.Summarize(context.Background(), in, auditread.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "lines", s.Lines, int64(len(lines)))
	want(t, "records", s.Records, 2)
	want(t, "tool", s.Tools.Rows[1].Tool, "<script>\x1b[2J")
	var broken []string
	for _, b := range s.BrokenLines {
		broken = append(broken, fmt.Sprintf("%d: %s", b.Line, b.Why))
	}
	want(t, "broken", broken, []string{
		"2: the line is longer than 16 MiB", "3: it is not valid JSON", "4: it is not valid JSON", "5: it is no record", "6: it is no record",
		"7: it is no record", "8: it is no record", "9: it is no record", "10: it is no record", "11: it is not valid JSON",
		"12: it is not valid JSON", "13: it is no record", "15: the line has no end",
	})
}

func TestBoundsOfASummary(t *testing.T) {
	var b strings.Builder
	day := time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC)
	const records = 12_000
	for i := range records {
		fmt.Fprintf(&b, `{"seq":%d,"time":%q,"event":"tools/call","phase":"verdict","caller":"c%d","target":"t%d","check":"k%d","outcome":"denied"}`+"\n",
			i+1, day.Add(time.Duration(i)*24*time.Hour).Format("2006-01-02T15:04:05.000Z"), i, i, i)
		b.WriteString("broken\n")
	}
	s, err := auditread.Summarize(t.Context(), audit.NewReader(strings.NewReader(b.String())), auditread.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "tools", []uint64{uint64(len(s.Tools.Rows)), s.Tools.Others.Calls}, []uint64{auditread.MaxRows, records - auditread.MaxRows})
	want(t, "callers", len(s.Callers.Rows), auditread.MaxRows)
	want(t, "days", []uint64{uint64(len(s.Days.Buckets)), s.Days.Others.Calls}, []uint64{auditread.MaxDays, records - auditread.MaxDays})
	want(t, "hours", []uint64{uint64(len(s.Hours.Buckets)), s.Hours.Others.Calls}, []uint64{auditread.MaxHours, records - auditread.MaxHours})
	want(t, "denials", len(s.Denials), auditread.MaxChecks+auditread.MaxDenials)
	want(t, "broken", []uint64{s.Broken, uint64(len(s.BrokenLines))}, []uint64{records, auditread.MaxBroken})
	for i, d := range s.Denials[len(s.Denials)-auditread.MaxDenials:] {
		want(t, "newest denials", d.Seq, uint64(records-auditread.MaxDenials+i+1))
	}
}

func TestSummaryEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := auditread.Summarize(ctx, audit.NewReader(strings.NewReader("")), auditread.Filter{}); err == nil {
		t.Error("it went on")
	}
}
