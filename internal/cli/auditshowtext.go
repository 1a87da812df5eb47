package cli

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/auditread"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

const (
	maxShownArguments = 40
	maxShownValue     = 400 // characters
	maxShownDetail    = 5000
	millis            = "2006-01-02T15:04:05.000Z"
)

func storyText(path string, s *auditread.Story) string {
	var b strings.Builder
	r, err := s.Subject.Record()
	if err != nil {
		return err.Error() + "\n" // it was read before
	}
	fmt.Fprintf(&b, "#%d of %s\n", r.Seq, quote.Text(path, maxErrorLine))
	if s.Same > 1 {
		fmt.Fprintf(&b, "%s have this number, which gateways never write; this is the first. See sallyport audit verify.\n", count(s.Same, "record"))
	}
	b.WriteByte('\n')
	subjectText(&b, r)

	b.WriteString("\nwhat happened\n")
	for i := range s.Records {
		if r, err := s.Records[i].Record(); err == nil {
			fmt.Fprintf(&b, "  %s #%d %s\n", r.Time.Format(millis), r.Seq, stepText(r))
		}
	}
	if s.More > 0 {
		fmt.Fprintf(&b, "  and %s\n", count(s.More, "more record"))
	}
	if len(s.Sources) == 0 {
		return b.String()
	}
	b.WriteString("\nits destinations, and where they were first seen\n")
	for i := range s.Sources {
		sourceText(&b, &s.Sources[i])
	}
	if s.MoreSources > 0 {
		fmt.Fprintf(&b, "  and %s\n", count(int(min(s.MoreSources, 1<<30)), "more destination"))
	}
	return b.String()
}

// subjectText says who asked for what, and what was decided.
func subjectText(b *strings.Builder, r *auditread.Record) {
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "%-10s %s\n", name, value)
		}
	}
	plain := func(name, value string) { field(name, quote.Text(value, maxShownDetail)) }
	plain("event", r.Event)
	plain("time", r.Time.Format(millis))
	plain("caller", r.Caller)
	plain("session", r.Session)
	plain("policy", r.Policy)
	plain("server", r.Upstream)
	if r.Event == "tools/call" || r.Event == "approval" {
		plain("tool", r.Target)
	} else {
		plain("target", r.Target)
	}
	if r.Call > 0 {
		field("call", fmt.Sprintf("%d in its session", r.Call))
	}
	plain("request", r.Request())
	plain("trace", r.Trace())
	plain("approval", r.Approval)
	argumentsText(b, r)
	plain("verdict", r.Verdict)
	plain("check", r.Check)
	plain("rule", r.Rule)
	plain("reason", r.Reason())
	plain("outcome", r.Outcome)
	plain("mode", r.Mode)
	plain("detail", r.Detail())
}

func argumentsText(b *strings.Builder, r *auditread.Record) {
	args, leftOut := r.Arguments()
	if args == nil {
		return
	}
	b.WriteString("arguments\n")
	dec := jsontext.NewDecoder(strings.NewReader(string(args)))
	if args.Kind() != '{' {
		fmt.Fprintf(b, "  %s\n", quote.Text(string(args), maxShownValue))
		return
	}
	_, _ = dec.ReadToken()
	n := 0
	for ; dec.PeekKind() == '"'; n++ {
		name, err := dec.ReadValue()
		if err != nil {
			break
		}
		name = name.Clone()
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		if n < maxShownArguments {
			fmt.Fprintf(b, "  %s: %s\n", quote.Text(string(name), maxShownName), quote.Text(string(value), maxShownValue))
		}
	}
	if n > maxShownArguments {
		fmt.Fprintf(b, "  and %s (--json has them)\n", count(n-maxShownArguments, "more argument"))
	}
	if leftOut > 0 {
		fmt.Fprintf(b, "  the log left out %s\n", count(int(min(leftOut, 1<<30)), "value"))
	}
}

// stepText is one record of a story.
func stepText(r *auditread.Record) string {
	switch {
	case r.Phase == audit.PhaseVerdict:
		word, _ := outcomeWord(r.Outcome)
		if r.Outcome == "asked" {
			word = "asked: a person has to agree"
		}
		return word
	case r.Phase == audit.PhaseOutcome:
		return endText(r)
	case r.Event == "approval":
		return "approval " + quote.Text(r.Phase, maxShownName) + detailText(r) + tookText(r)
	default:
		return strings.TrimSpace(quote.Text(r.Event, maxShownName) + " " + eventText(r))
	}
}

// endText is how a call ended that ran.
func endText(r *auditread.Record) string {
	text := "answered"
	if r.Outcome != "allowed" {
		text, _ = outcomeWord(r.Outcome)
	}
	text += tookText(r)
	if n := r.ResultBytes(); n > 0 {
		text += fmt.Sprintf(", %d bytes", n)
	}
	if d := r.ResultDigest(); d != "" {
		text += ", digest " + quote.Text(d, maxShownName)
	}
	return text + detailText(r)
}

func tookText(r *auditread.Record) string {
	if d := r.Duration(); d > 0 {
		return " after " + d.Round(10*time.Microsecond).String()
	}
	return ""
}

func sourceText(b *strings.Builder, s *auditread.Source) {
	fmt.Fprintf(b, "  %s = %s: %s\n", quote.Text(s.Argument, maxShownName), quote.Value(s.Destination, maxShownReason), shownName(s.Origin))
	if s.Tool == "" && s.Upstream == "" {
		return // never seen, or known from elsewhere
	}
	fmt.Fprintf(b, "    in the output of %s", joined(s.Upstream, s.Tool))
	if s.Call > 0 {
		fmt.Fprintf(b, " (call %d)", s.Call)
	}
	if !s.Time.IsZero() {
		fmt.Fprintf(b, ", %s", s.Time.Format(millis))
	}
	if s.Place != "" {
		fmt.Fprintf(b, ", at %s", quote.Text(s.Place, maxShownName))
	}
	b.WriteByte('\n')
	switch {
	case s.Call == 0:
		return // no call, so no record
	case s.Verdict == nil:
		b.WriteString("    this log does not hold that call\n")
		return
	}
	r, err := s.Verdict.Record()
	if err != nil {
		return
	}
	word, _ := outcomeWord(r.Outcome)
	fmt.Fprintf(b, "    that is #%d, %s, %s", r.Seq, r.Time.Format(millis), word)
	if s.Outcome != nil {
		if o, err := s.Outcome.Record(); err == nil {
			fmt.Fprintf(b, "; #%d %s", o.Seq, endText(o))
		}
	}
	b.WriteByte('\n')
}
