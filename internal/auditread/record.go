package auditread

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"strconv"
	"time"
)

// Record is one record. The texts are decoded, bounded by [MaxText], and hostile.
type Record struct {
	Seq          uint64
	Time         time.Time
	Event        string
	Phase        string
	Ref          uint64
	Session      string
	Caller       string
	Policy       string
	PolicyDigest string
	Upstream     string
	Target       string
	Call         uint64
	Approval     string
	Verdict      string
	Check        string
	Rule         string
	Outcome      string
	Mode         string

	raw [memberCount][]byte // as it stands in the line
	dec *Decoder
}

// MaxText is how many bytes of a text are kept; the rest is replaced by … and its length.
const MaxText = 4 << 10

// maxSeq is the largest number of a record.
const maxSeq = 1<<53 - 1

// Why a line is no record.
var (
	ErrJSON   = errors.New("it is not valid JSON")
	ErrRecord = errors.New("it is no record")
)

// The members of a record that are read.
const (
	mSeq = iota
	mTime
	mEvent
	mPhase
	mRef
	mSession
	mCaller
	mPolicy
	mPolicyDigest
	mUpstream
	mTarget
	mCall
	mRequest
	mTrace
	mApproval
	mArguments
	mArgumentsLeft
	mVerdict
	mCheck
	mRule
	mReason
	mEvidence
	mEvidenceLeft
	mOutcome
	mMode
	mDuration
	mResultBytes
	mResultDigest
	mDetail
	mSealed
	mBefore
	memberCount
)

// memberOf returns a member by its name as it stands in a line, and the kind that it must have.
func memberOf(name []byte) (at int, kind jsontext.Kind) {
	switch string(name) {
	case `"seq"`:
		return mSeq, '0'
	case `"time"`:
		return mTime, '"'
	case `"event"`:
		return mEvent, '"'
	case `"phase"`:
		return mPhase, '"'
	case `"ref"`:
		return mRef, '0'
	case `"session"`:
		return mSession, '"'
	case `"caller"`:
		return mCaller, '"'
	case `"policy"`:
		return mPolicy, '"'
	case `"policy_digest"`:
		return mPolicyDigest, '"'
	case `"upstream"`:
		return mUpstream, '"'
	case `"target"`:
		return mTarget, '"'
	case `"call"`:
		return mCall, '0'
	case `"request"`:
		return mRequest, '"'
	case `"trace"`:
		return mTrace, '"'
	case `"approval"`:
		return mApproval, '"'
	case `"arguments"`:
		return mArguments, 0
	case `"arguments_left_out"`:
		return mArgumentsLeft, '0'
	case `"verdict"`:
		return mVerdict, '"'
	case `"check"`:
		return mCheck, '"'
	case `"rule"`:
		return mRule, '"'
	case `"reason"`:
		return mReason, '"'
	case `"evidence"`:
		return mEvidence, '['
	case `"evidence_left_out"`:
		return mEvidenceLeft, '0'
	case `"outcome"`:
		return mOutcome, '"'
	case `"mode"`:
		return mMode, '"'
	case `"duration_ms"`:
		return mDuration, '0'
	case `"result_bytes"`:
		return mResultBytes, '0'
	case `"result_digest"`:
		return mResultDigest, '"'
	case `"detail"`:
		return mDetail, '"'
	case `"sealed"`:
		return mSealed, '{'
	case `"before"`:
		return mBefore, '{'
	}
	return -1, 0
}

// Decoder reads lines as records. It keeps texts that come again and again, at most a few
// megabytes of them. The zero Decoder is ready; it is for one goroutine.
type Decoder struct {
	in    bytes.Buffer
	dec   *jsontext.Decoder
	rec   Record
	texts texts
}

// decodeOptions: names that stand twice are looked for among the members that are read only,
// since keeping the names of a hostile line costs many times its length.
var decodeOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true)}

// Record reads a line, without its line feed. Record and line stay as they are until
// the next call; line must not be changed until then. The error is [ErrJSON] or [ErrRecord].
func (d *Decoder) Record(line []byte) (*Record, error) {
	r := &d.rec
	*r = Record{dec: d}
	if err := d.members(line, &r.raw); err != nil {
		return nil, err
	}
	if r.raw[mSeq] == nil || r.raw[mTime] == nil || r.raw[mEvent] == nil {
		return nil, ErrRecord
	}
	var ok bool
	if r.Seq, ok = count(r.raw[mSeq]); !ok || r.Seq == 0 || r.Seq > maxSeq {
		return nil, ErrRecord
	}
	if r.Time, ok = parseTime(r.raw[mTime]); !ok {
		return nil, ErrRecord
	}
	for _, n := range []struct {
		to *uint64
		at int
	}{{&r.Ref, mRef}, {&r.Call, mCall}} {
		if *n.to, ok = count(r.raw[n.at]); !ok {
			return nil, ErrRecord
		}
	}
	t := &d.texts
	r.Event, r.Phase, r.Session, r.Caller = t.of(r.raw[mEvent]), t.of(r.raw[mPhase]), t.of(r.raw[mSession]), t.of(r.raw[mCaller])
	r.Policy, r.PolicyDigest = t.of(r.raw[mPolicy]), t.of(r.raw[mPolicyDigest])
	r.Upstream, r.Target, r.Approval = t.of(r.raw[mUpstream]), t.of(r.raw[mTarget]), t.of(r.raw[mApproval])
	r.Verdict, r.Check, r.Rule = t.of(r.raw[mVerdict]), t.of(r.raw[mCheck]), t.of(r.raw[mRule])
	r.Outcome, r.Mode = t.of(r.raw[mOutcome]), t.of(r.raw[mMode])
	return r, nil
}

func (d *Decoder) reset(text []byte) {
	d.in = *bytes.NewBuffer(text)
	if d.dec == nil {
		d.dec = jsontext.NewDecoder(&d.in, decodeOptions...)
	} else {
		d.dec.Reset(&d.in, decodeOptions...)
	}
}

// members finds the members of a line that are read.
func (d *Decoder) members(line []byte, raw *[memberCount][]byte) error {
	d.reset(line)
	if t, err := d.dec.ReadToken(); err != nil {
		return ErrJSON
	} else if t.Kind() != '{' {
		return ErrRecord
	}
	for d.dec.PeekKind() == '"' {
		name, err := d.dec.ReadValue()
		if err != nil {
			return ErrJSON
		}
		at, kind := memberOf(name)
		if at < 0 {
			if err := d.dec.SkipValue(); err != nil {
				return ErrJSON
			}
			continue
		}
		if k := d.dec.PeekKind(); kind != 0 && k != kind || raw[at] != nil {
			return ErrRecord
		}
		v, err := d.dec.ReadValue()
		if err != nil {
			return ErrJSON
		}
		end := d.dec.InputOffset()
		raw[at] = line[end-int64(len(v)) : end]
	}
	if t, err := d.dec.ReadToken(); err != nil || t.Kind() != '}' || d.dec.InputOffset() != int64(len(line)) {
		return ErrJSON
	}
	return nil
}

// count reads a whole number; nil is 0.
func count(raw []byte) (uint64, bool) {
	if raw == nil {
		return 0, true
	}
	n, err := strconv.ParseUint(string(raw), 10, 64)
	return n, err == nil
}

// parseTime reads a time as records have it, within quotes.
func parseTime(raw []byte) (time.Time, bool) {
	const form = `"0000-00-00T00:00:00.000Z"`
	if len(raw) != len(form) {
		return time.Time{}, false
	}
	for i := range form {
		if c := raw[i]; form[i] == '0' && (c < '0' || c > '9') || form[i] != '0' && c != form[i] {
			return time.Time{}, false
		}
	}
	n := func(from, to int) (v int) {
		for _, c := range raw[from:to] {
			v = 10*v + int(c-'0')
		}
		return v
	}
	year, month, day := n(1, 5), time.Month(n(6, 8)), n(9, 11)
	hour, minute, sec, ms := n(12, 14), n(15, 17), n(18, 20), n(21, 24)
	t := time.Date(year, month, day, hour, minute, sec, ms*1e6, time.UTC)
	return t, t.Month() == month && t.Day() == day && hour < 24 && minute < 60 && sec < 60
}
