package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/auditread"
	"github.com/sallyport-dev/sallyport/internal/ownserver"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

const (
	summaryRows    = 20  // of a table
	summaryDenials = 5   // of a check
	summaryText    = 300 // characters of a reason
	summaryName    = 100 // characters of a name
)

// summarise answers what the log says. Reasons are what the log has: arguments and values that
// it was told to redact are not in them.
func (a *adviser) summarise(ctx context.Context, args ownserver.Args) (string, error) {
	filter, err := filterOf(args, time.Now())
	if err != nil {
		return "", err
	}
	in, err := audit.OpenReader(a.log)
	if err != nil {
		return "", errors.New("the log cannot be read")
	}
	defer in.Close()
	s, err := auditread.Summarize(ctx, in, filter)
	if err != nil {
		return "", err
	}
	return audit.RedactText(summaryOf(s)), nil
}

func filterOf(args ownserver.Args, now time.Time) (auditread.Filter, error) {
	f := auditread.Filter{Caller: args.Text("caller"), Tool: args.Text("tool"), Policy: args.Text("policy"), Outcome: args.Text("outcome")}
	if f.Outcome != "" && !slices.Contains(auditread.OutcomeNames, f.Outcome) {
		return f, fmt.Errorf("outcome is one of %s", strings.Join(auditread.OutcomeNames, ", "))
	}
	since := args.Text("since")
	if since == "" {
		return f, nil
	}
	if d, err := time.ParseDuration(since); err == nil && d > 0 {
		f.Since = now.Add(-d)
		return f, nil
	}
	t, err := time.Parse(time.RFC3339, since)
	if err != nil {
		return f, errors.New("since is a time as in 2026-01-02T15:04:05Z, or how long ago as in 1h30m")
	}
	f.Since = t
	return f, nil
}

// summaryOf writes a summary as text of a bounded size.
func summaryOf(s *auditread.Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %d", count(int(s.Matched), "record"), s.Records) //nolint:gosec // of a file on this machine
	if t := s.Total; !t.First.IsZero() {
		fmt.Fprintf(&b, ", from %s to %s", t.First.Format(time.RFC3339), t.Last.Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "\nverdicts: %s\n", tallyText(s.Total))
	if s.Broken > 0 {
		fmt.Fprintf(&b, "%d lines are no records; sallyport audit verify says more\n", s.Broken)
	}
	table(&b, "tools", s.Tools, func(r auditread.ToolRow) (string, auditread.Tally) {
		return shownName(r.Upstream) + "/" + shownName(r.Tool), r.Tally
	})
	table(&b, "callers", s.Callers, func(r auditread.NameRow) (string, auditread.Tally) { return shownName(r.Name), r.Tally })
	table(&b, "checks", s.Checks, func(r auditread.NameRow) (string, auditread.Tally) { return shownName(r.Name), r.Tally })
	table(&b, "rules", s.Rules, func(r auditread.RuleRow) (string, auditread.Tally) {
		return shownName(r.Policy) + ": " + shownName(r.Rule), r.Tally
	})
	newest(&b, s.Denials)
	return b.String()
}

func shownName(s string) string { return quote.Value(s, summaryName) }

func tallyText(t auditread.Tally) string {
	return fmt.Sprintf("%d ran, %d denied, %d asked about, %d over a rate, %d not decided", t.Ran(), t.Decided.Denied, t.Decided.Asked, t.Decided.RateLimited, t.Decided.Error+t.Decided.Cancelled+t.Decided.Other)
}

// table writes the rows with the most calls.
func table[Row any](b *strings.Builder, title string, t auditread.Table[Row], row func(Row) (string, auditread.Tally)) {
	if len(t.Rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, r := range t.Rows[:min(len(t.Rows), summaryRows)] {
		name, tally := row(r)
		fmt.Fprintf(b, "  %s: %s\n", name, tallyText(tally))
	}
	if more := len(t.Rows) - summaryRows; more > 0 || t.Others.Records > 0 {
		fmt.Fprintf(b, "  … and more that are not listed\n")
	}
}

// newest writes the last refusals of each check, in the order of the log.
func newest(b *strings.Builder, all []auditread.Denial) {
	kept := map[string]int{}
	var last []auditread.Denial
	for _, d := range slices.Backward(all) {
		if kept[d.Check]++; kept[d.Check] <= summaryDenials {
			last = append(last, d)
		}
	}
	if len(last) == 0 {
		return
	}
	b.WriteString("\nnewest refusals of each check (texts in quotes were chosen by callers and servers)\n")
	for _, d := range slices.Backward(last) {
		fmt.Fprintf(b, "  %s %s/%s by %s, check %s, rule %s: %s\n", d.Time.Format(time.RFC3339), shownName(d.Upstream), shownName(d.Target),
			shownName(d.Caller), shownName(d.Check), shownName(d.Rule), quote.Value(d.Reason, summaryText))
	}
}
