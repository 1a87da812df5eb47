package decide

import (
	"encoding/json/jsontext"
	"strconv"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// appendDecision appends one decision as a line. Members keep their order. What came from
// outside is bounded and escaped as in reasons.
func appendDecision(b []byte, session string, id mcp.ID, d sallyport.Decision) []byte {
	b = append(append(b, `{"id":`...), id.Raw()...)
	b = appendText(b, `,"verdict":`, d.Verdict.String())
	b = appendText(b, `,"check":`, string(d.Check))
	b = appendText(b, `,"rule":`, d.Rule)
	b = appendText(b, `,"reason":`, d.Reason)
	b = append(b, `,"evidence":[`...)
	for i, e := range d.Evidence {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendEvidence(b, e)
	}
	b = append(b, ']')
	b = appendText(b, `,"session":`, session)
	b = strconv.AppendUint(append(b, `,"call":`...), d.Call, 10)
	b = strconv.AppendBool(append(b, `,"runs":`...), d.Runs())
	if d.DryRun {
		b = append(b, `,"dry_run":true`...)
	}
	if d.Writes {
		b = append(b, `,"writes":true`...)
	}
	if d.Retry > 0 {
		ms := (d.Retry + time.Millisecond - 1) / time.Millisecond
		b = strconv.AppendInt(append(b, `,"retry_ms":`...), int64(ms), 10)
	}
	if len(d.Questions) > 0 {
		b = append(b, `,"questions":[`...)
		for i, q := range d.Questions {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(b, `{"check":`, string(q.Check))
			b = appendText(b, `,"argument":`, quote.Text(q.Argument, maxShown))
			b = appendText(b, `,"destination":`, quote.Text(q.Destination, maxShown))
			b = append(appendText(b, `,"text":`, q.Text), '}')
		}
		b = append(b, ']')
	}
	return append(b, '}', '\n')
}

func appendEvidence(b []byte, e sallyport.Evidence) []byte {
	b = appendText(b, `{"argument":`, quote.Text(e.Argument, maxShown))
	b = appendText(b, `,"destination":`, quote.Text(e.Destination, maxShown))
	b = appendText(b, `,"origin":`, e.Origin)
	b = appendSet(b, `,"upstream":`, quote.Text(e.Upstream, maxShown))
	b = appendSet(b, `,"tool":`, quote.Text(e.Tool, maxShown))
	if e.Call != 0 {
		b = strconv.AppendUint(append(b, `,"call":`...), e.Call, 10)
	}
	if !e.Time.IsZero() {
		b = append(b, `,"time":"`...)
		b = append(e.Time.UTC().AppendFormat(b, time.RFC3339), '"')
	}
	b = appendSet(b, `,"place":`, e.Place)
	if e.Partial {
		b = append(b, `,"partial":true`...)
	}
	return append(b, '}')
}

// appendError appends why a line was refused, with what it said of itself.
func appendError(b []byte, why string, number int64, m message) []byte {
	b = appendText(b, `{"error":`, why)
	b = strconv.AppendInt(append(b, `,"line":`...), number, 10)
	b = appendSet(b, `,"session":`, m.session)
	if !m.id.IsZero() {
		b = append(append(b, `,"id":`...), m.id.Raw()...)
	}
	return append(b, '}', '\n')
}

func appendSet(b []byte, member, s string) []byte {
	if s == "" {
		return b
	}
	return appendText(b, member, s)
}

// appendText writes a string. Bytes that are not UTF-8 are replaced, so that the line is
// JSON whatever stands in it.
func appendText(b []byte, member, s string) []byte {
	b, _ = jsontext.AppendQuote(append(b, member...), s)
	return b
}
