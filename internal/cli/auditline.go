package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/auditread"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// maxRecordLine is how long a record's line can be, in characters: two names and a server's,
// a rule's, a reason.
const maxRecordLine = 900

// Colours of a terminal.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	dim    = "2"
)

// recordLine says in one line what a record says. The outcome of a call that ran and was
// answered has none: its verdict has said that it ran.
func recordLine(r *auditread.Record, colour bool) (line string, ok bool) {
	word, hue, text := r.Event, dim, ""
	switch {
	case r.Phase == audit.PhaseVerdict:
		word, hue = outcomeWord(r.Outcome)
		text = shownName(r.Caller) + " " + callText(r)
		if why := whyText(r.Check, r.Rule, r.Reason()); why != "" {
			text += ": " + why
		}
	case r.Phase == audit.PhaseOutcome && r.Outcome == "allowed":
		return "", false
	case r.Phase == audit.PhaseOutcome:
		word, hue = outcomeWord(r.Outcome)
		text = fmt.Sprintf("%s %s, allowed as #%d%s", shownName(r.Caller), callText(r), r.Ref, detailText(r))
	default:
		text = eventText(r)
		if r.Outcome == "denied" || r.Outcome == "error" {
			hue = red
		}
	}
	word = fmt.Sprintf("%-9s", quote.Text(word, 16))
	if colour {
		word = "\x1b[" + hue + "m" + word + "\x1b[0m"
	}
	return fmt.Sprintf("%s %-6s %s %s", r.Time.Format(time.RFC3339), fmt.Sprintf("#%d", r.Seq), word, strings.TrimSpace(quote.Text(text, maxRecordLine))), true
}

// outcomeWord is how an outcome is called, and its colour.
func outcomeWord(outcome string) (word, hue string) {
	switch outcome {
	case "allowed":
		return outcome, green
	case "rate_limited":
		return "too fast", red
	case "dry-run-allowed":
		return "dry run", yellow
	case "asked", "cancelled":
		return outcome, yellow
	case "denied", "error":
		return outcome, red
	default:
		return shownName(outcome), yellow
	}
}

// callText is what was called.
func callText(r *auditread.Record) string {
	if r.Event == "tools/call" {
		return joined(r.Upstream, r.Target)
	}
	if r.Target == "" && r.Upstream == "" {
		return shownName(r.Event)
	}
	return shownName(r.Event) + " " + joined(r.Upstream, r.Target)
}

// eventText is what happened, for events that are no call.
func eventText(r *auditread.Record) string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if r.Caller != "" {
		add(shownName(r.Caller))
	}
	switch {
	case r.Target != "":
		add(joined(r.Upstream, r.Target))
	case r.Upstream != "":
		add(shownName(r.Upstream))
	}
	add(quote.Text(r.Phase, maxShownName))
	if r.Outcome != "" && r.Outcome != r.Phase {
		add(quote.Text(r.Outcome, maxShownName))
	}
	if seq, file := r.Before(); file != "" {
		add("the log goes on from " + quote.Text(file, maxShownName))
	} else if seq > 0 {
		add(fmt.Sprintf("the log was gone; its last known record was #%d", seq))
	}
	return strings.Join(parts, " ") + detailText(r)
}

func detailText(r *auditread.Record) string {
	if d := r.Detail(); d != "" {
		return ": " + quote.Text(d, maxShownReason)
	}
	return ""
}

// brokenLine says in one line why a line is no record.
func brokenLine(path string, b auditread.Broken, colour bool) string {
	word := "no record"
	if colour {
		word = "\x1b[" + red + "m" + word + "\x1b[0m"
	}
	return fmt.Sprintf("%s: %s: %s", brokenPlace(path, b), word, quote.Text(b.Why, maxShownReason))
}
