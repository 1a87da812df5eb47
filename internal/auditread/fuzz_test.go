package auditread_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/auditread"
)

// FuzzRecord reads a line in all ways in which commands do. What is read is valid text of bounded
// length, and a line that is read twice says the same.
func FuzzRecord(f *testing.F) {
	const head = `{"seq":7,"time":"2026-01-02T15:04:05.000Z","event":"tools/call"`
	for _, s := range []string{
		head + `}`,
		head + `,"phase":"verdict","session":"s","caller":"local","policy":"p","policy_digest":"d","upstream":"u","target":"t","call":3,"request":"1","arguments":{"to":["a"]},"arguments_left_out":2,"verdict":"deny","check":"flow","rule":"r","reason":"why","evidence":[{"argument":"to[0]","destination":"a","origin":"untrusted","upstream":"u","tool":"t","call":1,"time":"2026-01-02T15:04:05.000Z","place":"p"}],"evidence_left_out":1,"outcome":"denied","mode":"enforce","prev":"0","hash":"0"}`,
		head + `,"phase":"outcome","ref":6,"outcome":"error","duration_ms":1.234,"result_bytes":9,"result_digest":"d","detail":"x"}`,
		`{"seq":1,"time":"2026-01-02T15:04:05.000Z","event":"approval","phase":"answered","approval":"a","outcome":"allowed","detail":"yes, once, channel code, by ana"}`,
		head + `,"outcome":"a","outcome":"b"}`, head + `,"evidence":[{"call":1e9}]}`, head + `,"before":{"seq":1,"file":"a.000001","file":2}}`, head + `,"duration_ms":1e400}`,
		head + `,"target":"\u001b[2J\ud800\u202e"}`, head + `,"arguments":[[[[[]]]]]}`, `{`, `[]`, "\xff", head + `} x`,
		`{"event":"x","time":"2026-02-30T25:61:61.000Z","seq":18446744073709551616}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		kept := bytes.Clone(line)
		var d auditread.Decoder
		r, err := d.Record(line)
		if !bytes.Equal(line, kept) {
			t.Fatal("the line was changed")
		}
		if err != nil {
			return
		}
		evidence, _ := r.Evidence(3)
		if len(evidence) > 3 {
			t.Fatalf("%d pieces of evidence", len(evidence))
		}
		all := []string{
			r.Event, r.Phase, r.Session, r.Caller, r.Policy, r.PolicyDigest, r.Upstream, r.Target, r.Approval, r.Verdict, r.Check,
			r.Rule, r.Outcome, r.Mode, r.Reason(), r.Detail(), r.Request(), r.Trace(), r.ResultDigest(),
		}
		_, file := r.Before()
		all = append(all, file)
		for _, e := range evidence {
			all = append(all, e.Argument, e.Destination, e.Origin, e.Upstream, e.Tool, e.Place)
		}
		for _, s := range all {
			if !utf8.ValidString(s) || len(s) > auditread.MaxText+30 {
				t.Fatalf("a text of %d bytes, valid %v", len(s), utf8.ValidString(s))
			}
		}
		if r.Seq == 0 || r.Duration() < 0 || r.Time.Year() < 0 || r.Time.Year() > 9999 {
			t.Fatalf("number %d, duration %v, time %v", r.Seq, r.Duration(), r.Time)
		}
		if args, _ := r.Arguments(); args != nil && !args.IsValid() {
			t.Fatal("arguments are no JSON")
		}
		if bytes.IndexByte(line, '\n') >= 0 {
			return // no line of a log
		}
		in := audit.NewReader(strings.NewReader(string(line) + "\n" + string(line) + "\n"))
		s, err := auditread.Summarize(t.Context(), in, auditread.Filter{})
		if err != nil || s.Records != 2 || s.Broken != 0 {
			t.Fatalf("in a log: %+v, %v", s, err)
		}
		text, err := json.Marshal(s)
		if err != nil || !json.Valid(auditread.Printable(text)) {
			t.Fatalf("as JSON: %v", err)
		}
	})
}
