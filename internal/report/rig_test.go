package report

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/auditread"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/lint"
	"github.com/sallyport-dev/sallyport/policy"
)

var made = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// input makes an input from texts: a configuration, lists of tools by upstream, a log.
func input(t testing.TB, conf string, tools map[string]string, log []byte) Input {
	t.Helper()
	opt := config.Options{Contracts: contract.Options{Style: confine.POSIX}, Lookup: func(string) (string, bool) { return "0123456789012345678901234567890123456789", true }}
	cfg, err := config.Load("sallyport.yaml", []byte(conf), opt)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{
		Made: made, Program: "v1.2.3", Go: "go1.99", Platform: "linux/test", Config: cfg,
		Contracts: contract.Options{Style: confine.POSIX, Packs: cfg.Packs},
	}
	in.Policies = policiesOf(t, cfg)
	for _, name := range sortedKeys(tools) {
		v, err := doc.Parse([]byte(tools[name]), doc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		l := lint.ToolList{Upstream: name}
		for _, d := range v.Elements() {
			l.Tools = append(l.Tools, contract.Tool{Upstream: name, Name: d.Get("name").String(), Definition: d})
		}
		in.Tools = append(in.Tools, l)
	}
	in.Lint = lint.Check(cfg, lint.Options{Tools: in.Tools, Now: made})
	if log != nil {
		in.Log = readLog(t, log, auditread.Filter{})
	}
	return in
}

func policiesOf(t testing.TB, cfg *config.Config) (all []*policy.Policy) {
	t.Helper()
	if len(cfg.Policies) == 0 {
		p, err := cfg.Policy("")
		if err != nil {
			t.Fatal(err)
		}
		return []*policy.Policy{p}
	}
	for _, name := range sortedKeys(cfg.Policies) {
		all = append(all, cfg.Policies[name])
	}
	return all
}

func readLog(t testing.TB, data []byte, f auditread.Filter) *Log {
	t.Helper()
	l := &Log{Path: "audit.jsonl", Pointers: &Pointers{}}
	var err error
	if l.Summary, err = auditread.Summarize(t.Context(), audit.NewReader(bytes.NewReader(data)), f); err != nil {
		t.Fatal(err)
	}
	for lines := auditread.NewLines(audit.NewReader(bytes.NewReader(data))); ; {
		ln, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if ln.Record != nil && f.Match(ln.Record) {
			l.Pointers.Add(ln.Record)
		}
	}
	if l.Verified, err = audit.Verify(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	return l
}

// writeLog writes records a minute apart, from 2026-03-01 on.
func writeLog(t testing.TB, records ...audit.Record) []byte {
	t.Helper()
	var out bytes.Buffer
	log := audit.Stream(&out, audit.Options{Redaction: audit.Redaction{Key: []byte("test")}})
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	for _, r := range records {
		if r.Time.IsZero() {
			r.Time = at
		}
		at = at.Add(time.Minute)
		if _, err := log.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// call is the verdict on a call.
func call(tool, verdict, check, outcome string) audit.Record {
	return audit.Record{
		Event: "tools/call", Phase: audit.PhaseVerdict, Session: "s", Caller: "local", Policy: "main", PolicyDigest: "d",
		Upstream: "desk", Target: tool, Verdict: verdict, Check: check, Rule: "read", Outcome: outcome, Mode: "enforce",
	}
}

func build(t testing.TB, in Input) *Pack {
	t.Helper()
	p, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func markdownOf(t testing.TB, p *Pack) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func htmlOf(t testing.TB, p *Pack) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
