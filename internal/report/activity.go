package report

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/sallyport-dev/sallyport/internal/auditread"
)

const (
	maxBars    = 15 // tools, checks or callers in a chart
	maxColumns = 60 // spans of time
	maxDenials = 25 // in the list of the newest
)

// checks are those that can refuse or ask, in the order in which they run.
var checks = []string{"pin", "policy", "budget", "path", "pattern", "flow", "rate", "approval"}

var verdictSeries = []series{{"ran", good}, {"asked", caution}, {"refused", bad}}

func verdictValues(t *auditread.Tally) []int64 {
	return []int64{int64(t.Ran()), int64(t.Decided.Asked), int64(t.Calls - t.Ran() - t.Decided.Asked)} //nolint:gosec // counts
}

func (b *builder) showLog() []block {
	if b.in.Log == nil {
		return []block{paragraph(say("No log was read."))}
	}
	total := &b.log.Total
	blocks := []block{
		paragraph(say("Every verdict is recorded before its call is forwarded. Ran is what was allowed, asked what waited for a person, refused what was denied or held back by a rate. A call that is decided again after a question counts each time.")),
		{table: &table{head: []string{"Calls", "Ran", "Asked", "Refused", "Ended in an error", "Cancelled"}, rows: [][]line{{
			num(total.Calls), num(total.Ran()), num(total.Decided.Asked), num(total.Calls - total.Ran() - total.Decided.Asked), num(total.Ended.Error), num(total.Ended.Cancelled),
		}}}},
	}
	if n := b.log.ProbeCount(); n > 0 {
		blocks = append(blocks, paragraph(sayf("Doctor probes: %d. With each, sallyport doctor called a tool that no server has, without arguments, to see that it is refused, and it was. They are not counted as calls.", n)))
	}
	if total.Calls == 0 {
		return blocks
	}
	if c := b.timeChart(); c != nil {
		blocks = append(blocks, block{chart: c})
	}
	blocks = append(blocks, block{chart: b.toolChart()})
	if c := b.checkChart(); c != nil {
		blocks = append(blocks, block{chart: c})
	}
	blocks = append(blocks, b.callerTable()...)
	blocks = append(blocks, b.approvalTable()...)
	return append(blocks, b.denialTable()...)
}

func (b *builder) toolChart() *chart {
	c := &chart{title: "Calls by tool", axis: "Tool", series: verdictSeries}
	rows := b.log.Tools.Rows
	for i := range rows[:min(len(rows), maxBars)] {
		c.bars = append(c.bars, bar{val(rows[i].Tool), verdictValues(&rows[i].Tally)})
	}
	rest := b.log.Tools.Others
	for i := min(len(rows), maxBars); i < len(rows); i++ {
		plus(&rest, &rows[i].Tally)
	}
	if rest.Calls > 0 {
		c.bars = append(c.bars, bar{say("all others"), verdictValues(&rest)})
	}
	return c
}

// plus adds what a chart shows of a tally.
func plus(to, t *auditread.Tally) {
	to.Calls += t.Calls
	to.Decided.Allowed += t.Decided.Allowed
	to.Decided.DryRunAllowed += t.Decided.DryRunAllowed
	to.Decided.Asked += t.Decided.Asked
}

// checkChart shows which checks refused or asked.
func (b *builder) checkChart() *chart {
	c := &chart{title: "What was refused or asked about, by check", axis: "Check", series: verdictSeries[1:]}
	for _, row := range b.log.Checks.Rows[:min(len(b.log.Checks.Rows), maxBars)] {
		v := verdictValues(&row.Tally)
		if v[1]+v[2] > 0 {
			c.bars = append(c.bars, bar{val(row.Name), v[1:]})
		}
	}
	if len(c.bars) == 0 {
		return nil
	}
	return c
}

// timeChart shows hours or days, several in one column where there are too many.
func (b *builder) timeChart() *chart {
	buckets, step, form := b.log.Days.Buckets, 24*time.Hour, "2006-01-02"
	if s := b.log.Hours.Buckets; len(s) > 0 && s[len(s)-1].Start.Sub(s[0].Start) < 3*24*time.Hour {
		buckets, step, form = s, time.Hour, "2006-01-02 15:04"
	}
	if len(buckets) < 2 {
		return nil
	}
	first := buckets[0].Start
	spans := int64(buckets[len(buckets)-1].Start.Sub(first)/step) + 1
	each := (spans + maxColumns - 1) / maxColumns
	c := &chart{title: "Calls over time, by " + stepWords(each, step), axis: "From", series: verdictSeries, time: true}
	for i := int64(0); i*each < spans; i++ {
		c.bars = append(c.bars, bar{say(first.Add(time.Duration(i*each) * step).UTC().Format(form)), make([]int64, len(verdictSeries))})
	}
	for i := range buckets {
		at := int64(buckets[i].Start.Sub(first)/step) / each
		for k, v := range verdictValues(&buckets[i].Tally) {
			c.bars[at].values[k] += v
		}
	}
	return c
}

func stepWords(n int64, step time.Duration) string {
	unit := "day"
	if step == time.Hour {
		unit = "hour"
	}
	if n == 1 {
		return unit
	}
	return strconv.FormatInt(n, 10) + " " + unit + "s"
}

func (b *builder) callerTable() []block {
	t := &table{head: []string{"Caller", "Calls", "Ran", "Asked", "Refused"}}
	for i := range b.log.Callers.Rows {
		row := &b.log.Callers.Rows[i]
		v := verdictValues(&row.Tally)
		t.rows = append(t.rows, []line{val(row.Name), num(row.Calls), num(v[0]), num(v[1]), num(v[2])})
	}
	return []block{{sub: "By caller"}, {table: t.capped(50)}}
}

func (b *builder) approvalTable() []block {
	a := &b.log.Approvals
	if len(a.Tools) == 0 {
		return nil
	}
	t := &table{head: []string{"Tool", "Asked", "Yes", "Of these for the session", "No", "Expired or revoked"}}
	for _, row := range a.Tools {
		t.rows = append(t.rows, []line{val(row.Tool), num(row.Asked), num(row.Yes), num(row.YesSession), num(row.No), num(row.Expired + row.Revoked)})
	}
	return []block{{sub: "What people were asked"}, {table: t.capped(50)}}
}

// denialTable lists the newest refusals, of all checks.
func (b *builder) denialTable() []block {
	l := slices.Clone(b.log.Denials)
	if len(l) == 0 {
		return nil
	}
	slices.SortStableFunc(l, func(x, y auditread.Denial) int { return cmp.Compare(y.Seq, x.Seq) })
	t := &table{head: []string{"Record", "When", "Caller", "What", "Check", "Why"}}
	for i := range l[:min(len(l), maxDenials)] {
		d := &l[i]
		t.rows = append(t.rows, []line{num(d.Seq), say(date(d.Time)), val(d.Caller), val(d.Target), val(d.Check), long(d.Reason)})
	}
	t.more = len(l) - len(t.rows)
	return []block{{sub: "The newest refusals"}, {table: t}}
}

func (b *builder) showIntegrity() []block {
	if b.in.Log == nil {
		return []block{paragraph(say("No log was read."))}
	}
	v := &b.in.Log.Verified
	state, t := "intact", good
	if !v.Intact() {
		state, t = "NOT INTACT", bad
	}
	blocks := []block{{note: &note{t, join(bold(state), say(". "), prose(v.Conclusion()))}}}
	rows := [][]line{
		fact("Records", sayf("%d in %d lines", v.Records, v.Lines)),
		fact("Numbers", sayf("%d to %d", v.FirstSeq, v.LastSeq)),
		fact("Times", say(date(v.First)+" to "+date(v.Last))),
		fact("Files", num(max(v.Files, 1))),
		fact("Last hash", val(v.LastHash)),
		fact("Records without a chain", num(v.Unchained)),
		fact("Lines that are no record", num(b.log.Broken)),
	}
	blocks = append(blocks, facts(rows...))
	problems := &table{head: []string{"File", "Line", "Kind", "What"}, more: int(v.More)}
	for _, p := range v.Problems {
		problems.rows = append(problems.rows, []line{val(p.File), num(p.Line), say(p.Kind), prose(p.Text)})
	}
	if len(problems.rows) > 0 {
		blocks = append(blocks, block{sub: "Problems"}, block{table: problems.capped(50)})
	}
	repairs := &table{head: []string{"File", "Line", "What"}, more: int(v.MoreRepairs)}
	for _, p := range v.Repairs {
		repairs.rows = append(repairs.rows, []line{val(p.File), num(p.Line), prose(p.Text)})
	}
	if len(repairs.rows) > 0 {
		blocks = append(blocks, block{sub: "Repairs of lines that a crash tore"}, block{table: repairs.capped(50)})
	}
	return append(blocks, paragraph(say("The whole log is verified, whatever days are looked at. A chain alone cannot show records cut off the end, or a chain that somebody who can write the file made anew: compare the last hash with one that was kept elsewhere.")))
}
