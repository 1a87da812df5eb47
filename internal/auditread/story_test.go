package auditread_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/auditread"
)

func tell(t testing.TB, path string, seq uint64) *auditread.Story {
	t.Helper()
	s, err := auditread.Tell(t.Context(), func() (*audit.Reader, error) { return audit.OpenReader(path) }, seq)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// numbers are those of a story's records, and for each destination the call that first showed it.
func numbers(t testing.TB, s *auditread.Story) string {
	t.Helper()
	number := func(e *auditread.Entry) string {
		if e == nil {
			return "-"
		}
		r, err := e.Record()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(r.Seq)
	}
	out := number(&s.Subject) + ":"
	for i := range s.Records {
		out += " " + number(&s.Records[i])
	}
	for _, e := range s.Sources {
		out += " from " + number(e.Verdict) + "/" + number(e.Outcome)
	}
	return out
}

// call returns a verdict and an outcome of a session's call.
func call(sec int, session, tool string, n uint64) (v, o audit.Record) {
	v, o = verdict(sec, "mail", tool, "allowed"), outcome(sec+1, "mail", tool, "allowed")
	v.Session, o.Session, v.Call, o.Call = session, session, n, n
	return v, o
}

func TestStory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	early, earlyEnd := call(1, "other", "read", 1) // another process's call 1
	read, readEnd := call(5, "s", "read", 1)
	readEnd.Ref, earlyEnd.Ref = 2, 1
	send := verdict(20, "mail", "send", "asked")
	send.Call, send.Approval, send.Check = 2, "a1", "flow"
	evidence := func(argument string, call uint64, sec int, tool string) audit.Evidence {
		return audit.Evidence{Argument: argument, Destination: "x@evil.example", Origin: "unknown", Upstream: "mail", Tool: tool, Call: call, Time: at(sec)}
	}
	send.Evidence = []audit.Evidence{
		evidence("to[0]", 1, 6, "read"),
		evidence("to[1]", 7, 6, "read"),       // a call that the log does not hold
		evidence("to[2]", 0, 6, "tools/list"), // no call
		evidence("to[3]", 3, 19, "fetch"),     // only other processes have it: the last before that moment
		evidence("to[4]", 3, 10, "fetch"),     // as long as it was before
	}
	fetch, fetchEnd := call(8, "other", "fetch", 3)
	later, laterEnd := call(12, "third", "fetch", 3) // nearer to the moment
	fetchEnd.Ref, laterEnd.Ref = 5, 7
	step := func(sec int, phase string, n uint64) audit.Record {
		return audit.Record{Time: at(sec), Event: "approval", Phase: phase, Approval: "a1", Session: "s", Upstream: "mail", Target: "send", Call: n}
	}
	again, end := call(30, "s", "send", 3)
	again.Approval, end.Ref = "a1", 12
	unrelated, unrelatedEnd := call(33, "s", "send", 4)
	unrelatedEnd.Ref = 15
	writeLog(t, path, audit.Options{},
		early, read, earlyEnd, readEnd, fetch, fetchEnd, later, laterEnd, // 1 to 8
		send, step(21, "asked", 2), step(25, "answered", 2), again, step(30, "used", 3), end, // 9 to 14
		unrelated, unrelatedEnd)
	told := "9: 9 10 11 12 13 14 from 2/4 from -/- from -/- from 7/8 from 5/6"
	want(t, "of the verdict", numbers(t, tell(t, path, 9)), told)
	want(t, "of the call that the answer was for", numbers(t, tell(t, path, 12)), "12: 9 10 11 12 13 14")
	want(t, "of its outcome", numbers(t, tell(t, path, 14)), "12: 9 10 11 12 13 14")
	want(t, "of the answer", numbers(t, tell(t, path, 11)), "11: 9 10 11 12 13 14")
	want(t, "of a simple call", numbers(t, tell(t, path, 16)), "15: 15 16")

	_, err := auditread.Tell(t.Context(), func() (*audit.Reader, error) { return audit.OpenReader(path) }, 17)
	if !errors.Is(err, auditread.ErrNoSuchRecord) {
		t.Errorf("a number that is not there: %v", err)
	}
}

// A yes for the session covers several calls, each of which has a story of its own.
func TestStoryOfOneOfTheCallsOfAnApproval(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	ask := verdict(1, "mail", "send", "asked")
	ask.Session, ask.Call, ask.Approval = "s", 1, "a1"
	step := func(phase string, n uint64) audit.Record {
		return audit.Record{Time: at(2), Event: "approval", Phase: phase, Approval: "a1", Session: "s", Call: n}
	}
	first, firstEnd := call(3, "s", "send", 2)
	second, secondEnd := call(5, "s", "send", 3)
	first.Approval, second.Approval, firstEnd.Ref, secondEnd.Ref = "a1", "a1", 3, 6
	writeLog(t, path, audit.Options{}, ask, step("answered", 1), first, step("used", 2), firstEnd, second, step("used", 3), secondEnd)
	want(t, "of the first", numbers(t, tell(t, path, 3)), "3: 1 2 3 4 5")
	want(t, "of the second", numbers(t, tell(t, path, 6)), "6: 1 2 6 7 8")
	want(t, "of the question", numbers(t, tell(t, path, 1)), "1: 1 2 3 4 5 6 7 8")
	want(t, "of the answer", numbers(t, tell(t, path, 2)), "2: 1 2 3 4 5 6 7 8")
}

func TestStoryOfHostileRecords(t *testing.T) {
	head := func(seq int) string {
		return fmt.Sprintf(`{"seq":%d,"time":"2026-01-02T15:04:05.000Z","event":"tools/call","phase":"verdict","session":"s","call":1,"upstream":"u","target":"t"`, seq)
	}
	var b strings.Builder
	b.WriteString(head(1) + `,"evidence":[1,{}]}` + "\n")
	b.WriteString(head(2) + `,"evidence":[{"call":"x","tool":1,"call":2,"tool":"t","tool":"u","time":"now","destination":"d"},{"a":[[]]},[]]}` + "\n")
	for range 200 {
		b.WriteString(head(3) + "}\n")
	}
	b.WriteString(head(4) + `,"reason":"` + strings.Repeat("x", auditread.MaxStoryRecord) + `"}` + "\n")
	// Deep nesting is as deep as the reader goes, and so it must be written again.
	b.WriteString(head(5) + `,"arguments":` + strings.Repeat("[", 9990) + strings.Repeat("]", 9990) + "}\n")
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, "evidence that is none", len(tell(t, path, 1).Sources), 0)
	s := tell(t, path, 2)
	want(t, "evidence", s.Sources[0].Evidence, auditread.Evidence{Call: 2, Tool: "t", Destination: "d"})
	want(t, "pieces", len(s.Sources), 2)
	s = tell(t, path, 3)
	want(t, "records", []int{s.Same, len(s.Records), s.More}, []int{200, auditread.MaxStory, 203 - auditread.MaxStory})
	if _, err := auditread.Tell(t.Context(), func() (*audit.Reader, error) { return audit.OpenReader(path) }, 4); !errors.Is(err, auditread.ErrNoSuchRecord) {
		t.Errorf("a record that is too long: %v", err)
	}
	if text, err := json.Marshal(tell(t, path, 5)); err != nil || len(text) > 3_000_000 {
		t.Errorf("a deep record: %d bytes, %v", len(text), err)
	}
}

func TestParseTime(t *testing.T) {
	for _, c := range []struct {
		text string
		end  bool
		want time.Time
	}{
		{"2026-01-31", false, time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)},
		{"2026-01-31", true, time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)},
		{"2026-01-31T10:00:00+02:00", true, time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)},
	} {
		got, err := auditread.ParseTime(c.text, c.end)
		if err != nil || got != c.want {
			t.Errorf("%s, end %v: %v, %v", c.text, c.end, got, err)
		}
	}
	for _, text := range []string{"", "yesterday", "2026-02-30", "2026-1-2", "2026-01-31 10:00"} {
		if got, err := auditread.ParseTime(text, false); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestPrintableMeansTheSame(t *testing.T) {
	for _, s := range []string{"plain", "é", "a\u202eb", "\u200b", "\x7f", "\x1b[2J", "\U000e0041", "\ufeff", "\u2028", "<b>"} {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		got := auditread.Printable(text)
		var back string
		if err := json.Unmarshal(got, &back); err != nil || back != s {
			t.Errorf("%q became %q: %v", s, back, err)
		}
		if strings.ContainsAny(string(got), "\u202e\u200b\x7f\x1b\U000e0041\ufeff\u2028") {
			t.Errorf("%q is shown as it is: %s", s, got)
		}
	}
}
