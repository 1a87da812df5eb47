package cli

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/approval"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Bounds of what is shown of a call's arguments.
const (
	shownArguments = 24
	shownValue     = 400 // characters
)

// showApproval shows what a person is asked about. Nothing of it but the words of this
// program is printed as it is, and what the yes is about stands last, where no long argument
// can scroll it away.
func showApproval(out io.Writer, a *approval.Approval, now time.Time) error {
	w := bufio.NewWriter(out)
	fmt.Fprintln(w, "A call waits for your answer.")
	folded(w, "  caller  ", quote.Value(a.Caller, 120))
	folded(w, "  server  ", quote.Value(a.Upstream, 120))
	folded(w, fmt.Sprintf("  %-8s", a.Subject), quote.Value(a.Name(), 240))
	fmt.Fprintf(w, "  asked   %s, %s ago; open until %s\n", a.Asked.Local().Format(time.TimeOnly), ago(now.Sub(a.Asked)), a.Expires.Local().Format(time.TimeOnly))
	showArguments(w, a)
	for _, q := range a.Questions {
		fmt.Fprintln(w)
		if q.Argument != "" {
			folded(w, "  argument     ", quote.Value(q.Argument, 0))
		}
		if q.Destination != "" {
			folded(w, "  destination  ", quote.Value(q.Destination, 0))
		}
		if q.Origin != "" {
			folded(w, "  origin       ", approval.OriginText(q.Origin))
		}
		for _, e := range q.Evidence {
			if text := approval.EvidenceText(e); text != "" {
				folded(w, "  evidence     ", text)
			}
		}
		folded(w, "  question     ", quote.Text(q.Text, 1000))
	}
	fmt.Fprintln(w)
	if a.CanLast() {
		fmt.Fprintln(w, "A yes is for this caller, server, tool, argument and destination. The other")
		fmt.Fprintln(w, "arguments may be others when the agent calls again.")
	} else {
		fmt.Fprintln(w, "A yes is for exactly this call.")
	}
	return w.Flush()
}

func showArguments(w io.Writer, a *approval.Approval) {
	v, err := doc.Parse(a.Arguments, doc.Limits{})
	if err != nil || v.Kind() != doc.Object {
		if a.LeftOut > 0 || len(a.Arguments) > 0 {
			fmt.Fprintln(w, "  with    arguments that cannot be shown")
		}
		return
	}
	fmt.Fprintln(w, "  with")
	shown := 0
	for m := range v.Members() {
		if shown++; shown > shownArguments {
			break
		}
		text := string(m.Value.AppendJSON(nil))
		switch {
		case m.Value.Kind() == doc.String:
			text = quote.Value(m.Value.String(), shownValue)
		case m.Value.Kind() == doc.Object && m.Value.Len() == 1 && m.Value.Get("redacted").Kind() == doc.String:
			text = "[redacted]"
		default:
			text = quote.Text(text, shownValue)
		}
		folded(w, "    ", quote.Value(m.Name, 120)+": "+text)
	}
	if more := v.Len() - shownArguments + a.LeftOut; v.Len() > shownArguments || a.LeftOut > 0 {
		fmt.Fprintf(w, "    and %s that are not shown\n", count(max(more, a.LeftOut), "value"))
	}
}

// ago shows how long ago something was.
func ago(d time.Duration) string {
	d = max(0, d)
	if d < time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}
