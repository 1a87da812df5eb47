package cli

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/auditread"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/demo"
	"github.com/sallyport-dev/sallyport/internal/lint"
	"github.com/sallyport-dev/sallyport/internal/pins"
	"github.com/sallyport-dev/sallyport/internal/report"
)

var update = flag.Bool("update", false, "write examples/review-pack, to be read before it is committed")

const samplePack = "../../examples/review-pack"

// sampleStart is when the sample's first record was written, as it were.
var sampleStart = time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)

// sampleHome is where the story takes place, as it were.
const sampleHome = "/srv/helpdesk-demo"

// TestReviewPackSample plays the demo and makes the sample pack from its log.
//
// What happened is the demo's: every call, verdict, reason and piece of evidence. What
// differs from run to run is replaced: times (a second for each record), the temporary
// directory, the session, the approval, how long calls took, and the key of digests. An outcome follows
// its verdict, where the two run beside each other. Sizes and digests of results are left
// out. The records are written anew, so that the sample's own chain is whole.
func TestReviewPackSample(t *testing.T) {
	run := playDemo(t)
	dir := t.TempDir()
	conf := run.plain(string(read(t, filepath.Join(run.gate, "demo.yaml"))))
	keep(t, dir, "demo.yaml", []byte(conf))
	keep(t, dir, "audit.jsonl", run.rewrite(t))

	opt := loadOptions()
	opt.Contracts.Style = confine.POSIX // the sample's paths are
	cfg, err := config.Load("demo.yaml", []byte(conf), opt)
	if err != nil {
		t.Fatal(err)
	}
	log, err := readLog(t.Context(), filepath.Join(dir, "audit.jsonl"), auditread.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if !log.Verified.Intact() || log.Summary.Total.Calls == 0 {
		t.Fatalf("the sample's log: %+v", log.Verified)
	}
	log.Path = "audit.jsonl"
	in := report.Input{
		Made: sampleStart.Add(time.Hour), Program: "(sample)", Go: "(sample)", Platform: "(sample)",
		Config: cfg, Contracts: contract.Options{Style: confine.POSIX, Packs: cfg.Packs}, Log: log, Pins: run.pins(t), FromPins: true,
	}
	if in.Policies, err = reportPolicies(cfg, ""); err != nil {
		t.Fatal(err)
	}
	for _, name := range meantUpstreams(&in) {
		in.Tools = append(in.Tools, pinnedTools(in.Pins[0], name))
	}
	in.Lint = lint.Check(cfg, lint.Options{Tools: in.Tools, Now: in.Made})
	pack, err := report.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	var md, html bytes.Buffer
	if err := errors.Join(pack.WriteMarkdown(&md), pack.WriteHTML(&html)); err != nil {
		t.Fatal(err)
	}
	keep(t, dir, "report.md", md.Bytes())
	keep(t, dir, "report.html", html.Bytes())
	for _, want := range []string{"export@ledger-audit.example", "in part", "intact"} {
		if !strings.Contains(md.String(), want) {
			t.Errorf("the sample does not speak of %q", want)
		}
	}
}

// keep writes a file of the sample into dir, and holds it against the one that is
// committed.
func keep(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(samplePack, name)
	if *update {
		if err := errors.Join(os.MkdirAll(samplePack, 0o755), os.WriteFile(kept, data, 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old := read(t, kept); !bytes.Equal(old, data) {
		t.Errorf("%s is not what the demo gives today: %s; make it anew with\n\tgo test ./internal/cli -run TestReviewPackSample -update", kept, firstDifference(old, data))
	}
}

func firstDifference(old, now []byte) string {
	a, b := strings.Split(string(old), "\n"), strings.Split(string(now), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "line " + strconv.Itoa(i+1) + ":\n\t" + a[i] + "\n\t" + b[i]
		}
	}
	return "one is longer"
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// demoRun is what a run of the demo left.
type demoRun struct{ base, gate, exe string }

func playDemo(t *testing.T) demoRun {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	exe, err := exec.LookPath("sallyport") // a command of the scripts, see TestMain
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := demo.Run(t.Context(), demo.Options{Exe: exe, Story: "helpdesk", Keep: true, In: strings.NewReader(""), Out: &out}); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	_, base, ok := strings.Cut(out.String(), "Kept: ")
	if !ok {
		t.Fatal("the demo does not say where it was")
	}
	base, _, _ = strings.Cut(base, "\n")
	base = filepath.Join(base, "helpdesk")
	return demoRun{base, filepath.Join(base, "gateway"), exe}
}

// plain replaces what differs from run to run in a text.
func (r demoRun) plain(s string) string {
	s = strings.ReplaceAll(s, r.base+"/with/", sampleHome+"/")
	s = strings.ReplaceAll(s, r.base+"/with", sampleHome)
	s = strings.ReplaceAll(s, r.base, sampleHome)
	return strings.ReplaceAll(s, r.exe, "sallyport")
}

func (r demoRun) pins(t *testing.T) []*pins.File {
	t.Helper()
	store, err := pins.Open(filepath.Join(r.gate, "state", "sallyport", "pins"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := store.All()
	if err != nil || len(all) != 1 {
		t.Fatalf("%d files of pins: %v", len(all), err)
	}
	all[0].Shown = r.plain(all[0].Shown)
	for _, s := range all[0].Sets {
		s.First = sampleStart
	}
	return all
}

// demoRecord is a record of the run, and the outcome that follows it.
type demoRecord struct {
	audit.Record
	outcome *audit.Record
}

// rewrite writes the records of the run anew.
func (r demoRun) rewrite(t *testing.T) []byte {
	t.Helper()
	all := r.records(t)
	ended := map[uint64]time.Time{} // by number of the call
	now := sampleStart
	for i := range all {
		all[i].Time = now
		now = now.Add(time.Second)
		if o := all[i].outcome; o != nil {
			o.Time, o.Duration = now, 2*time.Millisecond
			ended[o.Call] = now
			now = now.Add(time.Second)
		}
	}
	var out bytes.Buffer
	log := audit.Stream(&out, audit.Options{Redaction: audit.Redaction{Key: []byte("the key of the sample")}})
	for i := range all {
		rec := all[i].Record
		rec.Detail = openUntil.ReplaceAllString(rec.Detail, "open until "+all[i].Time.Add(5*time.Minute).Format(time.RFC3339))
		rec.Reason = seenAt.ReplaceAllStringFunc(rec.Reason, func(s string) string {
			call := evidenceCall(rec.Evidence)
			return "(call " + strconv.FormatUint(call, 10) + ", " + ended[call].Format(time.TimeOnly) + ")"
		})
		for k := range rec.Evidence {
			rec.Evidence[k].Time = ended[rec.Evidence[k].Call]
		}
		seq, err := log.Append(rec)
		if err == nil && all[i].outcome != nil {
			all[i].outcome.Ref = seq
			_, err = log.Append(*all[i].outcome)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

var seenAt = regexp.MustCompile(`\(call [0-9]+, [0-9:]{8}\)`)

var openUntil = regexp.MustCompile(`open until [-0-9T:]+Z`)

func evidenceCall(l []audit.Evidence) uint64 {
	if len(l) == 0 {
		return 0
	}
	return l[0].Call
}

// records are those of the run, each verdict with its outcome.
func (r demoRun) records(t *testing.T) []demoRecord {
	t.Helper()
	f, err := os.Open(filepath.Join(r.gate, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []demoRecord
	at := map[uint64]int{}
	for lines := auditread.NewLines(audit.NewReader(f)); ; {
		l, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil || l.Record == nil {
			t.Fatalf("%v %+v", err, l.Broken)
		}
		rec := r.record(t, l.Record)
		if i, ok := at[l.Record.Ref]; ok && rec.Phase == audit.PhaseOutcome {
			all[i].outcome = &rec
			continue
		}
		at[l.Record.Seq] = len(all)
		all = append(all, demoRecord{Record: rec})
	}
}

func (r demoRun) record(t *testing.T, from *auditread.Record) audit.Record {
	t.Helper()
	rec := audit.Record{
		Event: from.Event, Phase: from.Phase, Session: "sample", Caller: from.Caller, Policy: from.Policy, PolicyDigest: from.PolicyDigest,
		Upstream: from.Upstream, Target: from.Target, Call: from.Call, Request: from.Request(), Approval: from.Approval, Verdict: from.Verdict,
		Check: from.Check, Rule: from.Rule, Reason: r.plain(from.Reason()), Outcome: from.Outcome, Mode: from.Mode, Detail: r.plain(from.Detail()),
	}
	if rec.Approval != "" {
		rec.Approval = "sample" // there is one
	}
	if rec.Event == "approval" {
		rec.PolicyDigest = "" // with that of the contracts, which name the temporary directory
	}
	if args, _ := from.Arguments(); args != nil {
		v, err := doc.Parse([]byte(r.plain(string(args))), doc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		rec.Arguments = v
	}
	found, _ := from.Evidence(audit.MaxEvidence)
	for _, e := range found {
		rec.Evidence = append(rec.Evidence, audit.Evidence{Argument: e.Argument, Destination: r.plain(e.Destination), Origin: e.Origin, Upstream: e.Upstream, Tool: e.Tool, Call: e.Call, Place: e.Place})
	}
	return rec
}

// The rewritten log must say what the demo's own says, or the sample would be a story.
func TestReviewPackSampleIsTheDemos(t *testing.T) {
	run := playDemo(t)
	type fact struct{ target, verdict, check, outcome string }
	facts := func(path string) (l []fact) {
		in, err := audit.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		for lines := auditread.NewLines(in); ; {
			r, err := lines.Next()
			if err != nil {
				return l
			}
			if r.Record.Phase == audit.PhaseVerdict {
				l = append(l, fact{r.Record.Target, r.Record.Verdict, r.Record.Check, r.Record.Outcome})
			}
		}
	}
	own, sample := facts(filepath.Join(run.gate, "audit.jsonl")), facts(filepath.Join(samplePack, "audit.jsonl"))
	if len(own) == 0 || !slices.Equal(own, sample) {
		t.Errorf("the demo decided\n%v\nand the sample has\n%v", own, sample)
	}
}
