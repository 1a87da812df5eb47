package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/internal/auditread"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// What the text of a summary shows; --json has the rest.
const (
	maxShownRows    = 20
	maxShownDenials = 10
	maxShownBroken  = 10
	maxShownName    = 80  // characters
	maxShownReason  = 300 // characters
)

// summaryText shows a summary; verify is how to verify the log.
func summaryText(path, verify string, s *auditread.Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "log: %s\n", quote.Text(path, maxErrorLine))
	fmt.Fprintf(&b, "records: %d", s.Records)
	if s.Matched != s.Records {
		fmt.Fprintf(&b, ", %d chosen", s.Matched)
	}
	if s.Matched > 0 {
		fmt.Fprintf(&b, ", from number %d to number %d, %s to %s", s.FirstSeq, s.LastSeq,
			s.Total.First.Format(time.RFC3339), s.Total.Last.Format(time.RFC3339))
	}
	b.WriteByte('\n')
	fmt.Fprintf(&b, "calls: %d%s\n", s.Total.Calls, outcomesText(": ", &s.Total.Decided, "allowed"))
	if ran, ended := s.Total.Ran(), s.Total.Ended.Sum(); ended > 0 {
		fmt.Fprintf(&b, "of those that ran: %s", outcomesText("", &s.Total.Ended, "answered"))
		if s.Matched == s.Records && ran > ended { // a filter can choose one of a call's two records
			fmt.Fprintf(&b, ", %d without a recorded outcome", ran-ended)
		}
		b.WriteByte('\n')
	}
	if n := s.ProbeCount(); n > 0 {
		fmt.Fprintf(&b, "doctor probes: %d, refused, and counted nowhere else\n", n)
	}

	section(&b, "tools", s.Tools, func(r auditread.ToolRow) (string, *auditread.Tally) { return joined(r.Upstream, r.Tool), &r.Tally })
	section(&b, "callers", s.Callers, func(r auditread.NameRow) (string, *auditread.Tally) { return shownName(r.Name), &r.Tally })
	section(&b, "checks", s.Checks, func(r auditread.NameRow) (string, *auditread.Tally) { return shownName(r.Name), &r.Tally })
	section(&b, "rules", s.Rules, func(r auditread.RuleRow) (string, *auditread.Tally) { return joined(r.Policy, r.Rule), &r.Tally })
	eventsText(&b, s.Events)
	daysText(&b, s.Days)
	approvalsText(&b, &s.Approvals)
	denialsText(&b, s.Denials)
	if s.Broken > 0 {
		fmt.Fprintf(&b, "\nlines that are no records: %d\n", s.Broken)
		for _, l := range s.BrokenLines[:min(len(s.BrokenLines), maxShownBroken)] {
			fmt.Fprintf(&b, "  %s: %s\n", brokenPlace(path, l), quote.Text(l.Why, maxShownReason))
		}
		leftOut(&b, s.Broken, maxShownBroken, "line")
	}
	fmt.Fprintf(&b, "\nThis is what the log says. Whether it is as it was written: %s\n", verify)
	return b.String()
}

// brokenPlace is where a line stands: FILE:line.
func brokenPlace(path string, l auditread.Broken) string {
	file := l.File
	if file == "" {
		file = path
	}
	if l.Line == 0 {
		return quote.Text(file, maxShownName)
	}
	return fmt.Sprintf("%s:%d", quote.Text(file, maxShownName), l.Line)
}

// outcomesText lists what is not 0, each after a comma.
func outcomesText(start string, o *auditread.Outcomes, allowed string) string {
	var parts []string
	for _, p := range []struct {
		n    uint64
		word string
	}{
		{o.Allowed, allowed},
		{o.Denied, "denied"},
		{o.Asked, "asked about"},
		{o.RateLimited, "rate limited"},
		{o.DryRunAllowed, "run by a dry run"},
		{o.Error, "with an error"},
		{o.Cancelled, "cancelled"},
		{o.Other, "otherwise"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return start + strings.Join(parts, ", ")
}

func section[Row any](b *strings.Builder, title string, t auditread.Table[Row], of func(Row) (string, *auditread.Tally)) {
	if len(t.Rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n%9s %9s %9s %9s\n", title, "calls", "ran", "denied", "asked")
	row := func(label string, t *auditread.Tally) {
		fmt.Fprintf(b, "%9d %9d %9d %9d  %s\n", t.Calls, t.Ran(), t.Decided.Denied+t.Decided.RateLimited, t.Decided.Asked, label)
	}
	for _, r := range t.Rows[:min(len(t.Rows), maxShownRows)] {
		row(of(r))
	}
	leftOut(b, uint64(len(t.Rows)), maxShownRows, "row")
	if t.Others.Records > 0 {
		row("(others: more than are counted one by one)", &t.Others)
	}
}

func leftOut(b *strings.Builder, n uint64, shown int, what string) {
	if n > uint64(shown) {
		fmt.Fprintf(b, "  and %s (--json shows more)\n", count(int(min(n, 1<<30))-shown, "more "+what))
	}
}

// eventsText lists the events that are no calls.
func eventsText(b *strings.Builder, t auditread.Table[auditread.EventRow]) {
	title := "\nother records\n"
	for _, r := range t.Rows[:min(len(t.Rows), 2*maxShownRows)] {
		if n := r.Records - r.Calls - r.Ended.Sum(); n > 0 {
			fmt.Fprintf(b, "%s%9d  %s\n", title, n, shownName(r.Event))
			title = ""
		}
	}
}

func daysText(b *strings.Builder, days auditread.Series) {
	n := len(days.Buckets)
	if n < 2 {
		return
	}
	fmt.Fprintf(b, "\ndays\n%9s %9s %9s %9s\n", "calls", "ran", "denied", "asked")
	if n > maxShownRows {
		fmt.Fprintf(b, "  %s before these (--json has them)\n", count(n-maxShownRows, "day"))
	}
	for _, d := range days.Buckets[max(0, n-maxShownRows):] {
		fmt.Fprintf(b, "%9d %9d %9d %9d  %s\n", d.Calls, d.Ran(), d.Decided.Denied+d.Decided.RateLimited, d.Decided.Asked, d.Start.Format(time.DateOnly))
	}
}

func approvalsText(b *strings.Builder, a *auditread.Approvals) {
	if a.Answers == (auditread.Answers{}) {
		return
	}
	fmt.Fprintf(b, "\napprovals: %d asked, %d yes, %d no, %d used, %d expired, %d revoked\n", a.Asked, a.Yes, a.No, a.Used, a.Expired, a.Revoked)
	for _, c := range a.Channels[:min(len(a.Channels), maxShownRows)] {
		fmt.Fprintf(b, "  by %s: %d yes, %d no\n", shownName(c.Channel), c.Yes, c.No)
	}
	for _, r := range a.Tools[:min(len(a.Tools), maxShownRows)] {
		always := ""
		if r.AlwaysGranted() {
			always = ", always granted"
		}
		fmt.Fprintf(b, "  %s: %d asked, %d yes, %d no%s\n", joined(r.Upstream, r.Tool), r.Asked, r.Yes, r.No, always)
	}
}

func denialsText(b *strings.Builder, all []auditread.Denial) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\nnewest denials\n")
	for _, d := range all[max(0, len(all)-maxShownDenials):] {
		fmt.Fprintf(b, "  #%d %s %s %s: %s\n", d.Seq, d.Time.Format(time.RFC3339), shownName(d.Caller), joined(d.Upstream, d.Target), whyText(d.Check, d.Rule, d.Reason))
	}
}

// whyText is what decided, and the reason. A rule is named where it decided: other checks
// refuse what a rule has allowed.
func whyText(check, rule, reason string) string {
	text := ""
	if check != "" {
		text = quote.Text(check, maxShownName)
	}
	if rule != "" && (check == "" || check == "policy" || check == "rate") {
		if text != "" {
			text += " "
		}
		text += "rule " + quote.Text(rule, maxShownName)
	}
	if reason == "" {
		return text
	}
	if text != "" {
		text += ": "
	}
	return text + quote.Text(reason, maxShownReason)
}

// shownName is a name of the log.
func shownName(s string) string {
	if s == "" {
		return "(none)"
	}
	return quote.Text(s, maxShownName)
}

// joined is a name within another.
func joined(group, name string) string {
	if group == "" {
		return shownName(name)
	}
	return quote.Text(group, maxShownName) + "/" + quote.Text(name, maxShownName)
}
