package audit

import (
	"errors"
	"strconv"
	"time"

	"github.com/sallyport-dev/sallyport/doc"
)

// Record is one line. Zero fields are left out. Text fields may hold hostile text:
// it is escaped when written, and longer values than the Max constants say are cut.
// The doc comment of the package says which member each field becomes.
type Record struct {
	Time         time.Time // zero: now. Written in UTC with milliseconds
	Event        string    // tools/call, resources/read, prompts/get, session, pin, config, …; must be set
	Phase        string    // "verdict" before forwarding, "outcome" after
	Ref          uint64    // an outcome's verdict record: its seq
	Session      string
	Caller       string
	Policy       string
	PolicyDigest string
	Upstream     string
	Target       string     // tool, prompt or URI
	Call         uint64     // the session's call number
	Request      string     // the JSON-RPC id, as its JSON text
	Trace        string     // the trace that the request belongs to (W3C Trace Context): 32 hexadecimal digits
	Approval     string     // the approval that was asked for, given or used
	Arguments    doc.Value  // redacted by the log when written; a keyed digest of the whole goes beside
	Verdict      string     // allow, ask, deny
	Check        string     // the check that decided
	Rule         string     // the rule that decided
	Reason       string     // redacted values of Arguments in it are replaced
	Evidence     []Evidence // at most MaxEvidence
	Outcome      string     // allowed, denied, asked, rate_limited, error, cancelled, dry-run-allowed
	Mode         string     // enforce, dry-run
	Duration     time.Duration
	ResultBytes  int64
	ResultDigest string // keyed: see [Log.Digest]
	Detail       string // for session, pin and config events; redacted like Reason
}

// Evidence is where a destination was first seen.
type Evidence struct {
	Argument    string // place in the arguments: to[1], or to#2 in a string that holds several
	Destination string // redacted as arguments are; its keyed digest is recorded whole
	Origin      string
	Upstream    string
	Tool        string
	Call        uint64
	Time        time.Time
	Place       string // position in the output
}

// Bounds of what one record holds. Bytes are those of the text before escaping.
const (
	MaxText         = 4 << 10  // bytes of reason and detail, and of target
	MaxName         = 1 << 10  // bytes of every other text
	MaxEvidence     = 100      // entries
	MaxArguments    = 64 << 10 // bytes of arguments as written; values after that are left out
	DefaultMaxValue = 512      // bytes of one string in arguments, and of a destination
)

// The events that only the log itself writes.
const (
	eventRepair   = "repair"
	eventRestart  = "restart"
	eventRotation = "rotation"
)

// The phases of a call's records.
const (
	PhaseVerdict = "verdict" // before the call is forwarded
	PhaseOutcome = "outcome" // when it has ended
)

// timeLayout is RFC 3339 in UTC with milliseconds; always of the same length.
const timeLayout = "2006-01-02T15:04:05.000Z"

const (
	seqStart   = `{"seq":`
	timeStart  = `,"time":"`
	eventStart = `","event":"`
)

var errEvent = errors.New("audit: repair, restart and rotation records are the log's own")

// headroom is kept free before a record for its seq, which is known only when the log
// is locked: a line feed, the member, 20 digits.
const headroom = 1 + len(seqStart) + 20

func (r *Record) check() error {
	if r.Event == "" {
		return errors.New("audit: a record needs an event")
	}
	if r.Event == eventRepair || r.Event == eventRestart || r.Event == eventRotation {
		return errEvent
	}
	if y := r.Time.UTC().Year(); y < 0 || y > 9999 {
		return errors.New("audit: a record's time lies outside the years 0 to 9999")
	}
	return nil
}

// record writes r from time to detail, behind the headroom.
func (e *encoder) record(r *Record) {
	when := r.Time
	if when.IsZero() {
		when = time.Now()
	}
	e.buf = append(e.buf, timeStart...)
	e.buf = when.UTC().AppendFormat(e.buf, timeLayout)
	e.buf = append(e.buf, `","event":`...)
	e.write(r.Event, MaxName)
	e.name(`,"phase":`, r.Phase)
	e.count(`,"ref":`, r.Ref)
	e.name(`,"session":`, r.Session)
	e.name(`,"caller":`, r.Caller)
	e.name(`,"policy":`, r.Policy)
	e.name(`,"policy_digest":`, r.PolicyDigest)
	e.name(`,"upstream":`, r.Upstream)
	e.text(`,"target":`, r.Target)
	e.count(`,"call":`, r.Call)
	e.name(`,"request":`, r.Request)
	e.name(`,"trace":`, r.Trace)
	e.name(`,"approval":`, r.Approval)
	e.arguments(r.Arguments)
	e.name(`,"verdict":`, r.Verdict)
	e.name(`,"check":`, r.Check)
	e.name(`,"rule":`, r.Rule)
	e.text(`,"reason":`, e.scrub(r.Reason))
	e.evidence(r.Evidence)
	e.name(`,"outcome":`, r.Outcome)
	e.name(`,"mode":`, r.Mode)
	e.duration(r.Duration)
	e.count(`,"result_bytes":`, uint64(max(r.ResultBytes, 0)))
	e.name(`,"result_digest":`, r.ResultDigest)
	e.text(`,"detail":`, e.scrub(r.Detail))
}

func (e *encoder) name(member, value string) { e.member(member, value, MaxName) }

func (e *encoder) text(member, value string) { e.member(member, value, MaxText) }

func (e *encoder) member(member, value string, limit int) {
	if value != "" {
		e.buf = append(e.buf, member...)
		e.write(value, limit)
	}
}

func (e *encoder) count(member string, n uint64) {
	if n != 0 {
		e.buf = strconv.AppendUint(append(e.buf, member...), n, 10)
	}
}

func (e *encoder) duration(d time.Duration) {
	if d <= 0 {
		return
	}
	micros := d.Microseconds()
	e.buf = strconv.AppendInt(append(e.buf, `,"duration_ms":`...), micros/1000, 10)
	if micros%1000 != 0 {
		f := micros % 1000
		e.buf = append(e.buf, '.', '0'+byte(f/100), '0'+byte(f/10%10), '0'+byte(f%10))
	}
}

func (e *encoder) evidence(all []Evidence) {
	if len(all) == 0 {
		return
	}
	left := max(len(all)-MaxEvidence, 0)
	e.buf = append(e.buf, `,"evidence":[`...)
	for i := range all[:len(all)-left] {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.piece(&all[i])
	}
	e.buf = append(e.buf, ']')
	e.count(`,"evidence_left_out":`, uint64(left))
}

// piece writes one evidence. Each member is written with a comma before it; the first
// comma then becomes the opening brace.
func (e *encoder) piece(ev *Evidence) {
	start := len(e.buf)
	e.name(`,"argument":`, e.argument(ev.Argument))
	if ev.Destination != "" {
		e.member(`,"destination":`, e.destination(ev), e.red.maxValue)
		e.buf = append(e.buf, `,"destination_digest":"`...)
		e.buf = append(e.red.digestString(e.buf, ev.Destination), '"')
	}
	e.name(`,"origin":`, ev.Origin)
	e.name(`,"upstream":`, ev.Upstream)
	e.name(`,"tool":`, ev.Tool)
	e.count(`,"call":`, ev.Call)
	if y := ev.Time.UTC().Year(); !ev.Time.IsZero() && y >= 0 && y <= 9999 {
		e.buf = append(e.buf, timeStart...)
		e.buf = append(ev.Time.UTC().AppendFormat(e.buf, timeLayout), '"')
	}
	e.name(`,"place":`, ev.Place)
	if len(e.buf) == start {
		e.buf = append(e.buf, '{')
	}
	e.buf[start] = '{'
	e.buf = append(e.buf, '}')
}
