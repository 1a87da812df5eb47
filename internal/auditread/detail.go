package auditread

import (
	"encoding/json/jsontext"
	"strconv"
	"time"
)

// Reason is why, for a person.
func (r *Record) Reason() string { return r.dec.texts.once(r.raw[mReason]) }

// Detail is what happened, for events that are no call.
func (r *Record) Detail() string { return r.dec.texts.once(r.raw[mDetail]) }

// Request is the JSON-RPC id as its JSON text.
func (r *Record) Request() string { return r.dec.texts.once(r.raw[mRequest]) }

// Trace is the trace that the request belongs to.
func (r *Record) Trace() string { return r.dec.texts.once(r.raw[mTrace]) }

// Arguments are the call's arguments as the log holds them, redacted, and how many values
// the log left out; nil if there are none. They stay as they are until the next record is read.
func (r *Record) Arguments() (args jsontext.Value, leftOut uint64) {
	leftOut, _ = count(r.raw[mArgumentsLeft])
	return jsontext.Value(r.raw[mArguments]), leftOut
}

// ResultBytes is the size of the result in bytes, 0 if none is recorded.
func (r *Record) ResultBytes() uint64 {
	n, _ := count(r.raw[mResultBytes])
	return n
}

// ResultDigest is the keyed digest of the result.
func (r *Record) ResultDigest() string { return r.dec.texts.once(r.raw[mResultDigest]) }

// Before is what a restart says of the log that is gone, and a rotation of the file that it goes on
// from: its last record, and its name, which restarts do not have.
func (r *Record) Before() (seq uint64, file string) {
	d := r.dec
	raw := r.raw[mBefore]
	if raw == nil {
		return 0, ""
	}
	d.reset(raw)
	if _, err := d.dec.ReadToken(); err != nil {
		return 0, ""
	}
	for d.dec.PeekKind() == '"' {
		name, err := d.dec.ReadValue()
		if err != nil {
			break
		}
		at := string(name)
		v, err := d.dec.ReadValue()
		switch {
		case err != nil:
			return seq, file
		case at == `"seq"` && v.Kind() == '0':
			seq, _ = count(v)
		case at == `"file"` && v.Kind() == '"':
			file = d.texts.once(v)
		}
	}
	return seq, file
}

// maxDuration is longer than anything takes.
const maxDuration = 1e12 // milliseconds

// Duration is how long it took, 0 if that is not recorded.
func (r *Record) Duration() time.Duration {
	ms, err := strconv.ParseFloat(string(r.raw[mDuration]), 64)
	if err != nil || !(ms > 0 && ms < maxDuration) {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond)).Round(time.Microsecond)
}

// Evidence is where a destination was first seen. Texts are bounded as those of a record.
type Evidence struct {
	Argument    string    `json:"argument,omitempty"`
	Destination string    `json:"destination,omitempty"`
	Origin      string    `json:"origin,omitempty"`
	Upstream    string    `json:"upstream,omitempty"`
	Tool        string    `json:"tool,omitempty"`
	Call        uint64    `json:"call,omitempty"`
	Time        time.Time `json:"time,omitzero"`
	Place       string    `json:"place,omitempty"`
}

// Evidence returns at most max pieces of evidence, and how many more there are. Pieces that
// are none are left out and not counted.
func (r *Record) Evidence(max int) (found []Evidence, more uint64) {
	more, _ = count(r.raw[mEvidenceLeft])
	raw := r.raw[mEvidence]
	if raw == nil {
		return nil, more
	}
	d := r.dec
	d.reset(raw)
	if _, err := d.dec.ReadToken(); err != nil {
		return nil, more
	}
	for d.dec.PeekKind() == '{' {
		if len(found) >= max {
			if d.dec.SkipValue() != nil {
				break
			}
			more++
			continue
		}
		e, ok := d.piece()
		if !ok {
			break
		}
		found = append(found, e)
	}
	return found, more
}

// piece reads one piece of evidence. Of a name that stands twice the first counts, as a
// member of another kind than it should have does not.
func (d *Decoder) piece() (e Evidence, ok bool) {
	if _, err := d.dec.ReadToken(); err != nil {
		return e, false
	}
	for d.dec.PeekKind() == '"' {
		name, err := d.dec.ReadValue()
		if err != nil {
			return e, false
		}
		var text *string
		number := false
		switch string(name) {
		case `"argument"`:
			text = &e.Argument
		case `"destination"`:
			text = &e.Destination
		case `"origin"`:
			text = &e.Origin
		case `"upstream"`:
			text = &e.Upstream
		case `"tool"`:
			text = &e.Tool
		case `"place"`:
			text = &e.Place
		case `"call"`:
			number = true
		case `"time"`:
			text = new(string)
		}
		when := string(name) == `"time"`
		kind := d.dec.PeekKind()
		v, err := d.dec.ReadValue()
		switch {
		case err != nil:
			return e, false
		case number && kind == '0' && e.Call == 0:
			e.Call, _ = count(v)
		case when && e.Time.IsZero():
			if t, ok := parseTime(v); ok {
				e.Time = t
			}
		case text != nil && kind == '"' && *text == "":
			*text = d.texts.once(v)
		}
	}
	_, err := d.dec.ReadToken()
	return e, err == nil
}
