package auditread_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/auditread"
)

// BenchmarkSummarize reads a log of verdicts with arguments and evidence, of about 1 KB, and outcomes
// half as long; one in ten was denied. ns/record is what a million records are counted from.
func BenchmarkSummarize(b *testing.B) {
	const calls = 20_000
	path := filepath.Join(b.TempDir(), "audit.jsonl")
	args, err := doc.Parse([]byte(`{"to":["ana@x.example"],"subject":"Quarterly \"numbers\"","body":"`+strings.Repeat("some text ", 25)+`","retries":3}`), doc.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	var all []audit.Record
	for i := range calls {
		v := verdict(0, "mail", fmt.Sprintf("tool_%d", i%40), "allowed")
		if i%10 == 0 {
			v = verdict(0, "mail", fmt.Sprintf("tool_%d", i%40), "denied")
		}
		v.Time = at(0).Add(time.Duration(i) * time.Minute)
		v.Arguments, v.Call, v.Session = args, uint64(i+1), fmt.Sprintf("session-%d", i/100)
		v.Evidence = []audit.Evidence{{Argument: "to[0]", Destination: "ana@x.example", Origin: "untrusted", Upstream: "mail", Tool: "read", Call: 3, Time: at(1), Place: "content[0].text"}}
		o := outcome(0, v.Upstream, v.Target, "allowed")
		o.Time, o.Ref, o.Session = v.Time, uint64(2*i+1), v.Session
		all = append(all, v, o)
	}
	writeLog(b, path, audit.Options{Sync: audit.SyncNone}, all...)
	b.ReportAllocs()
	records, bytes := 0, int64(0)
	for b.Loop() {
		in, err := audit.OpenReader(path)
		if err != nil {
			b.Fatal(err)
		}
		s, err := auditread.Summarize(b.Context(), in, auditread.Filter{})
		if err != nil || s.Records != 2*calls {
			b.Fatal(s, err)
		}
		records += 2 * calls
		_, bytes = in.Progress()
		_ = in.Close()
	}
	b.SetBytes(bytes)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(records), "ns/record")
}
