package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/doc"
)

// testTime is the time of records in tests.
var testTime = time.Date(2026, 1, 2, 15, 4, 5, 678_900_000, time.UTC)

func parse(t testing.TB, s string) doc.Value {
	t.Helper()
	v, err := doc.Parse([]byte(s), doc.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func openLog(t testing.TB, path string, opt Options) *Log {
	t.Helper()
	l, err := Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func add(t testing.TB, l *Log, r Record) uint64 {
	t.Helper()
	if r.Event == "" {
		r.Event = "tools/call"
	}
	seq, err := l.Append(r)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// fullRecord has every field set.
func fullRecord(t testing.TB) Record {
	return Record{
		Time: testTime, Event: "tools/call", Phase: PhaseVerdict, Ref: 7, Session: "s1", Caller: "local",
		Policy: "default", PolicyDigest: "sha256:ab", Upstream: "mail", Target: "send_email", Call: 12,
		Request: `"r\"1"`, Trace: "4bf92f3577b34da6a3ce929d0e0e4736", Approval: "K7Q-F2M", Arguments: parse(t, `{"to":["ana@x.example"],"n":1.50,"password":"hunter22"}`),
		Verdict: "deny", Check: "flow", Rule: "r", Reason: "first seen in read_ticket",
		Evidence: []Evidence{{
			Argument: "to[0]", Destination: "ana@x.example", Origin: "untrusted", Upstream: "desk",
			Tool: "read_ticket", Call: 3, Time: testTime, Place: "content[0].text",
		}},
		Outcome: "denied", Mode: "enforce", Duration: 1234567 * time.Nanosecond, ResultBytes: 99,
		ResultDigest: "hmac-sha256:cd", Detail: "d",
	}
}

// newLog writes n records and returns the file's path and bytes.
func newLog(t testing.TB, n int) (path string, text []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{Redaction: Redaction{Key: []byte("k")}})
	for i := range n {
		add(t, l, Record{Time: testTime.Add(time.Duration(i) * time.Second), Call: uint64(i), Target: "read"})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path, readFile(t, path)
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeFile(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func verify(t testing.TB, text []byte) Report {
	t.Helper()
	rep, err := Verify(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func wantIntact(t testing.TB, path string, records int64) Report {
	t.Helper()
	rep := verify(t, readFile(t, path))
	if !rep.Intact() || rep.Records != records {
		t.Fatalf("%d records, want %d; problems: %v", rep.Records, records, rep.Problems)
	}
	return rep
}

// The format that others read: a change here breaks every log that exists. The digests
// and the hash were computed by another program.
func TestLineIsStable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{Redaction: Redaction{Key: []byte("k")}})
	add(t, l, fullRecord(t))
	const want = `{"seq":1,"time":"2026-01-02T15:04:05.678Z","event":"tools/call","phase":"verdict","ref":7,` +
		`"session":"s1","caller":"local","policy":"default","policy_digest":"sha256:ab","upstream":"mail",` +
		`"target":"send_email","call":12,"request":"\"r\\\"1\"","trace":"4bf92f3577b34da6a3ce929d0e0e4736","approval":"K7Q-F2M","arguments":{"to":["ana@x.example"],"n":1.50,` +
		`"password":{"redacted":"hmac-sha256:56720ef24d4c72fdc238096d3d5dc3ed3d93ead1ee0e91a521d86126a408ba31"}},` +
		`"arguments_digest":"hmac-sha256:aec7e7cf17c31634d242593b11a2c1c4a3049c1fbedfd9c2b14d6c3a8ff2c409",` +
		`"verdict":"deny","check":"flow","rule":"r","reason":"first seen in read_ticket","evidence":[{"argument":"to[0]",` +
		`"destination":"ana@x.example","destination_digest":"hmac-sha256:1712a3ea5c492139d207dcbe8c8f218e9257517a816df817c20df0b4126e4af2","origin":"untrusted","upstream":"desk",` +
		`"tool":"read_ticket","call":3,"time":"2026-01-02T15:04:05.678Z","place":"content[0].text"}],"outcome":"denied",` +
		`"mode":"enforce","duration_ms":1.234,"result_bytes":99,"result_digest":"hmac-sha256:cd","detail":"d",` +
		`"prev":"0000000000000000000000000000000000000000000000000000000000000000",` +
		`"hash":"d632b0c326efea25d3e8876751791bb23ec5d4329b052c8835e76191fd0c5cff"}` + "\n"
	if got := string(readFile(t, path)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAppendNumbersAndChains(t *testing.T) {
	path, text := newLog(t, 5)
	rep := wantIntact(t, path, 5)
	if rep.FirstSeq != 1 || rep.LastSeq != 5 || !rep.First.Equal(testTime.Truncate(time.Millisecond)) {
		t.Errorf("span: %+v", rep)
	}
	last := text[len(text)-digits-3 : len(text)-3]
	if rep.LastHash != string(last) {
		t.Errorf("last hash %s, want %s", rep.LastHash, last)
	}
	l := openLog(t, path, Options{})
	if seq := add(t, l, Record{}); seq != 6 {
		t.Errorf("after opening again: record %d, want 6", seq)
	}
	wantIntact(t, path, 6)
}

func TestAppendRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{})
	for name, r := range map[string]Record{
		"no event":  {},
		"repair":    {Event: "repair"},
		"restart":   {Event: "restart"},
		"year 9999": {Event: "x", Time: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if _, err := l.Append(r); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if len(readFile(t, path)) != 0 {
		t.Error("something was written")
	}
	_ = l.Close()
	if _, err := l.Append(Record{Event: "x"}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestNoChain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{NoChain: true})
	add(t, l, Record{})
	add(t, l, Record{})
	text := readFile(t, path)
	if bytes.Contains(text, []byte("hash")) {
		t.Errorf("there is a hash: %s", text)
	}
	rep := verify(t, text)
	if rep.Records != 2 || rep.Unchained != 2 || len(rep.Problems) != 1 || rep.Problems[0].Kind != KindUnchained {
		t.Errorf("report: %+v", rep)
	}
	// Going over to a chain and back leaves nothing but that problem.
	for i := range 6 {
		l := openLog(t, path, Options{NoChain: i/2%2 == 1})
		add(t, l, Record{})
	}
	rep = verify(t, readFile(t, path))
	if rep.Records != 8 || rep.Unchained != 4 || len(rep.Problems) != 1 || !strings.Contains(rep.Problems[0].Text, "4 records") {
		t.Errorf("report: %+v", rep)
	}
}
