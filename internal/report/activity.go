package report

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Record is what the pack takes of one record of a log. Its texts are hostile.
type Record struct {
	Seq          uint64
	Time         time.Time
	Event        string // tools/call, …, session, pin, config, approval
	Phase        string
	Caller       string
	Policy       string
	PolicyDigest string
	Upstream     string
	Target       string
	Approval     string
	Verdict      string
	Check        string
	Rule         string
	Reason       string
	Outcome      string
	Mode         string
	Detail       string
	Destination  string // of the first piece of evidence
	Origin       string
	Redacted     bool // something in its arguments was redacted
}

// Bounds of what is kept of a log, however many records it has.
const (
	maxKeys    = 2000 // tools, callers, rules and so on, of each kind
	maxSamples = 5    // numbers of records for one count
	maxDenials = 2000 // kinds of denials: tool, check and destination together
	maxColumns = 60   // of the chart over time
)

// Tally is a count and the first records that made it.
type Tally struct {
	N     int64
	First []uint64 // seq numbers, at most 5
	Last  uint64
}

func (t *Tally) add(seq uint64) {
	t.N++
	t.Last = seq
	if len(t.First) < maxSamples {
		t.First = append(t.First, seq)
	}
}

// tallies are counts by a text. What comes after [maxKeys] of them is counted as one.
type tallies struct {
	by   map[string]*Tally
	rest Tally
}

func (t *tallies) add(key string, seq uint64) {
	c := t.by[key]
	if c == nil {
		if len(t.by) >= maxKeys {
			t.rest.add(seq)
			return
		}
		if t.by == nil {
			t.by = map[string]*Tally{}
		}
		c = &Tally{}
		t.by[key] = c
	}
	c.add(seq)
}

// of returns the count of a key; never nil.
func (t *tallies) of(key string) Tally {
	if c := t.by[key]; c != nil {
		return *c
	}
	return Tally{}
}

// keys are the texts, those with the highest counts first.
func (t *tallies) keys() []string {
	l := slices.Collect(maps.Keys(t.by))
	slices.SortFunc(l, func(a, b string) int {
		return cmp.Or(cmp.Compare(t.by[b].N, t.by[a].N), cmp.Compare(a, b))
	})
	return l
}

// toolKey is a tool of an upstream.
type toolKey struct{ upstream, tool string }

// toolCount is what became of the calls of one tool.
type toolCount struct {
	allowed, asked, denied, dry Tally // verdicts; dry are refusals that were not enforced
	errors                      int64 // outcomes
	yes, no                     Tally // answers to questions about it
}

func (c *toolCount) calls() int64 { return c.allowed.N + c.asked.N + c.denied.N + c.dry.N }

// denialKey is one kind of denial.
type denialKey struct {
	upstream, tool, check, destination string
}

type denial struct {
	Tally
	reason, origin string // of the first
	rule           string
}

// Activity is what a log says, counted. The zero Activity is ready; memory does not grow
// with the number of records.
type Activity struct {
	records     int64
	first, last time.Time
	firstSeq    uint64
	lastSeq     uint64

	verdicts  tallies // allow, ask, deny
	checks    tallies // of what was denied or asked
	events    tallies // of all records
	outcomes  tallies // of outcome records
	callers   tallies // verdicts by caller
	rules     tallies // verdicts by policy and rule
	digests   tallies // of policies, over all records
	redacted  Tally
	dry       Tally
	pinned    Tally // pin records that refuse nothing
	unpinned  Tally // pin records that refuse a tool, and denials by the check pin
	asked     Tally
	yes, no   Tally
	lapsed    Tally // approvals that expired or were revoked
	resources Tally // verdicts on what is no tool

	tools    map[toolKey]*toolCount
	moreTool int64
	denials  map[denialKey]*denial
	moreDeny int64
	over     timeline
}

// Add counts one record. Records come in the order of the log.
func (a *Activity) Add(r Record) {
	if a.records++; a.records == 1 {
		a.first, a.firstSeq = r.Time, r.Seq
	}
	a.last, a.lastSeq = r.Time, r.Seq
	a.events.add(r.Event, r.Seq)
	if r.PolicyDigest != "" {
		a.digests.add(r.PolicyDigest, r.Seq)
	}
	switch {
	case r.Event == "approval":
		a.approval(r)
	case r.Event == "pin":
		if r.Outcome == "denied" {
			a.unpinned.add(r.Seq)
		} else {
			a.pinned.add(r.Seq)
		}
	case r.Phase == "verdict":
		a.verdict(r)
	case r.Phase == "outcome":
		a.outcomes.add(r.Outcome, r.Seq)
		if t := a.tool(r); t != nil && r.Outcome == "error" {
			t.errors++
		}
	}
}

func (a *Activity) tool(r Record) *toolCount {
	if r.Event != "tools/call" && r.Event != "approval" {
		return nil
	}
	key := toolKey{r.Upstream, r.Target}
	t := a.tools[key]
	if t == nil {
		if len(a.tools) >= maxKeys {
			a.moreTool++
			return nil
		}
		if a.tools == nil {
			a.tools = map[toolKey]*toolCount{}
		}
		t = &toolCount{}
		a.tools[key] = t
	}
	return t
}

func (a *Activity) verdict(r Record) {
	a.verdicts.add(r.Verdict, r.Seq)
	a.callers.add(r.Caller, r.Seq)
	if r.Redacted {
		a.redacted.add(r.Seq)
	}
	if r.Event != "tools/call" {
		a.resources.add(r.Seq)
	}
	if r.Rule != "" || r.Check == "policy" || r.Verdict == "allow" {
		a.rules.add(r.Policy+"\x00"+r.Rule, r.Seq)
	}
	if r.Check != "" {
		a.checks.add(r.Check, r.Seq)
	}
	if r.Check == "pin" {
		a.unpinned.add(r.Seq)
	}
	a.over.add(r.Time, r.Verdict)
	t := a.tool(r)
	if r.Outcome == "dry-run-allowed" {
		a.dry.add(r.Seq)
		if t != nil {
			t.dry.add(r.Seq)
		}
		return
	}
	switch r.Verdict {
	case "allow":
		if t != nil {
			t.allowed.add(r.Seq)
		}
	case "ask":
		a.asked.add(r.Seq)
		if t != nil {
			t.asked.add(r.Seq)
		}
	default:
		if t != nil {
			t.denied.add(r.Seq)
		}
		a.denied(r)
	}
}

func (a *Activity) denied(r Record) {
	key := denialKey{r.Upstream, r.Target, r.Check, r.Destination}
	d := a.denials[key]
	if d == nil {
		if len(a.denials) >= maxDenials {
			a.moreDeny++
			return
		}
		if a.denials == nil {
			a.denials = map[denialKey]*denial{}
		}
		d = &denial{reason: r.Reason, origin: r.Origin, rule: r.Rule}
		a.denials[key] = d
	}
	d.add(r.Seq)
}

func (a *Activity) approval(r Record) {
	t := a.tool(r)
	switch r.Phase {
	case "answered":
		if r.Outcome == "allowed" {
			a.yes.add(r.Seq)
			if t != nil {
				t.yes.add(r.Seq)
			}
			return
		}
		a.no.add(r.Seq)
		if t != nil {
			t.no.add(r.Seq)
		}
	case "expired", "revoked":
		a.lapsed.add(r.Seq)
	}
}

// timeline counts verdicts in equal spans of time, which grow so that there are never more
// than [maxColumns], but for times that lie centuries apart.
type timeline struct {
	span    time.Duration
	from    int64 // the first and the last span, counted since 1970
	to      int64
	columns map[int64]*[3]int64 // allow, ask, deny
}

var spans = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour,
	24 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour, 364 * 24 * time.Hour, 3640 * 24 * time.Hour,
}

func (t *timeline) add(when time.Time, verdict string) {
	if t.columns == nil {
		t.span, t.columns = spans[0], map[int64]*[3]int64{}
	}
	t.column(when.Unix())[verdictIndex(verdict)]++
	for t.to-t.from >= maxColumns && t.span < spans[len(spans)-1] {
		t.widen()
	}
}

// column is the one that a second lies in. It rounds down, before 1970 too.
func (t *timeline) column(second int64) *[3]int64 {
	span := int64(t.span / time.Second)
	i := second / span
	if second%span < 0 {
		i--
	}
	if len(t.columns) == 0 {
		t.from, t.to = i, i
	}
	t.from, t.to = min(t.from, i), max(t.to, i)
	c := t.columns[i]
	if c == nil {
		c = &[3]int64{}
		t.columns[i] = c
	}
	return c
}

func (t *timeline) widen() {
	old, was := t.columns, int64(t.span/time.Second)
	t.span, t.columns = spans[slices.Index(spans, t.span)+1], map[int64]*[3]int64{}
	for i, c := range old {
		to := t.column(i * was)
		for k, n := range c {
			to[k] += n
		}
	}
}

// start is when a column begins.
func (t *timeline) start(i int64) time.Time {
	return time.Unix(i*int64(t.span/time.Second), 0).UTC()
}

func verdictIndex(verdict string) int {
	switch verdict {
	case "allow":
		return 0
	case "ask":
		return 1
	}
	return 2
}
