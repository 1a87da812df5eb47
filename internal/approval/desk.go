package approval

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
)

// DeskOptions say for whom a desk asks.
type DeskOptions struct {
	Caller  string // required
	Session string // what a yes is good for, known to this gateway alone; required
	// Scope is what questions are counted by: sessions of the caller that have the same have
	// MaxQuestions together. "": the session alone.
	Scope string
	Settings
	// Listed says that the user's own list (see [Store.Trusted]) holds for the caller.
	Listed bool
	// Record writes an audit record before what it says is done; an error leaves it undone.
	// It returns nil where the log may fail (audit.on_failure: continue). nil: no log.
	Record func(audit.Record) error
	Log    string // the log's path, for the terminal that answers to write to; "" for none
	// Redaction says what of a call's arguments a person is not shown.
	Redaction audit.Redaction
	// Notify is told of each new question, see [Notifier]; it must not block. nil: nobody is.
	Notify func(Approval)
}

// Desk asks for one session of one caller, and finds what covers its calls. It serves every
// channel alike. Safe for concurrent use.
type Desk struct {
	store    *Store
	opt      DeskOptions
	settings atomic.Pointer[Settings]
	used     atomic.Bool // there may be something to take back

	mu    sync.Mutex
	calls map[Key]raised // calls that were asked about, by what they carry
	order []Key
}

// NewDesk returns the desk of one session. Nothing is read or asked yet.
func NewDesk(s *Store, o DeskOptions) *Desk {
	if o.Caller == "" || o.Session == "" {
		panic("approval: a desk needs a caller and a session")
	}
	d := &Desk{store: s, opt: o, calls: make(map[Key]raised)}
	d.Use(o.Settings)
	return d
}

// Use makes the desk go by other settings.
func (d *Desk) Use(s Settings) {
	s = s.withDefaults()
	d.settings.Store(&s)
}

// Outcome is what became of a request.
type Outcome struct {
	// State is Granted: a yes covers the call and is used up by it, the call may run now;
	// Asked: the question in Approvals is open, and there is no answer yet; Denied: nobody is
	// asked, for Reason.
	State State
	// Approvals are those that were used for the call, or the one that is open or that denied.
	Approvals []Approval
	New       bool   // of Asked: the question was opened by this request, nobody was asked before
	Kept      bool   // of Asked: [Desk.Continues] goes on with this request's decision, and not with an earlier one of the same call
	Reason    string // of Denied: one short text that the agent can act on
}

// Approval is the first of the outcome's approvals, the zero one if there is none.
func (o Outcome) Approval() Approval {
	if len(o.Approvals) == 0 {
		return Approval{}
	}
	return o.Approvals[0]
}

// Lead is what the engine's reason for an ask begins with. It is left out where the text goes
// on to say how the user is asked.
const Lead = "a human has to agree first: "

// Refusal is what the agent is told of a call that nobody has agreed to yet, after reason: what
// is asked, or why nobody is. It is empty for a call that may run.
func (d *Desk) Refusal(o Outcome, reason string) string {
	reason = strings.TrimPrefix(reason, Lead)
	switch {
	case o.State == Granted:
		return ""
	case o.State == Denied && o.Reason != "":
		return reason + "; " + o.Reason
	case o.State == Denied:
		return reason + "; nobody could be asked"
	}
	return reason + ".\nAsk the user to run this in their own terminal, not through the agent: " + d.store.opt.Program + " approve " +
		o.Approval().Code + "\nThen make the same call again: the code is good for one call, and expires soon."
}

// Ask finds what covers a request and uses it up, or opens a question. The same question is
// open once: who asks it again gets the one that is open. It is one step for all processes.
// An error is a refusal.
func (d *Desk) Ask(ctx context.Context, r Request) (Outcome, error) { return d.settle(ctx, r, true) }

// Claim is Ask for a request whose question was just answered: it opens none, and what is not
// covered is Denied.
func (d *Desk) Claim(ctx context.Context, r Request) (Outcome, error) { return d.settle(ctx, r, false) }

func (d *Desk) settle(ctx context.Context, r Request, ask bool) (out Outcome, err error) {
	set := d.settings.Load()
	b, why := bind(d.opt.Caller, d.opt.Session, r, set.BindCall)
	if why != nil {
		return Outcome{State: Denied, Reason: why.Error()}, nil
	}
	d.used.Store(true)
	err = d.store.change(ctx, d.expired, func(t *table, now time.Time) (bool, error) {
		if used := t.cover(b); len(used) > 0 {
			out, err = d.use(used, r, now)
			return err == nil, err
		}
		a := t.open(b)
		no := t.refused(b)
		open, own := t.waiting(d.opt.Caller)
		switch {
		case !ask:
			out = Outcome{State: Denied, Reason: "nobody said yes to this call as it is now"}
		case a != nil:
			out = Outcome{State: Asked, Approvals: []Approval{*a}}
		case no != nil && !set.Reask:
			out = Outcome{State: Denied, Approvals: []Approval{*no}, Reason: "the user was asked in this session and said no; it is not asked again"}
		case open >= MaxOpen || own >= MaxOpenOfOne || !t.room():
			out = Outcome{State: Denied, Reason: fmt.Sprintf("%d questions wait for an answer already; nothing more is asked until some are answered or have expired", open)}
		case t.full(d.scope()):
			out = Outcome{State: Denied, Reason: fmt.Sprintf("questions of %d sessions are counted already, and those of no more; nothing is asked until some have ended", maxSessions)}
		case !t.count(d.scope(), set.MaxQuestions, now):
			out = Outcome{State: Denied, Reason: fmt.Sprintf("the user was asked %d questions in this session, which is the most (approvals.max_questions)", set.MaxQuestions)}
		default:
			a := d.newApproval(t, r, b, now)
			if err := d.record(&a, PhaseAsked, 0, now); err != nil {
				return false, err
			}
			t.Approvals = append(t.Approvals, &a)
			out = Outcome{State: Asked, Approvals: []Approval{a}, New: true}
			return true, nil
		}
		return false, nil
	})
	if err != nil {
		return Outcome{State: Denied}, err
	}
	out.Kept = d.note(r, out)
	if out.New && d.opt.Notify != nil {
		d.opt.Notify(out.Approvals[0])
	}
	return out, nil
}

// use uses up what covers a call. If one use cannot be recorded, none is given.
func (d *Desk) use(used []*Approval, r Request, now time.Time) (Outcome, error) {
	out := Outcome{State: Granted}
	for _, a := range used {
		if err := d.record(a, PhaseUsed, r.Decision.Call, now); err != nil {
			return Outcome{State: Denied}, err
		}
	}
	for _, a := range used {
		if !a.Lasting {
			a.end(Used, "", now)
		}
		out.Approvals = append(out.Approvals, *a)
	}
	return out, nil
}

// Answer brings the answer of the client's own prompt to a question of this desk. The call
// does not run by it: [Desk.Claim] comes next.
func (d *Desk) Answer(ctx context.Context, id string, ans Answer) (Approval, error) {
	return d.store.Answer(ctx, id, ans, d.settings.Load().TTL, func(a Approval) error {
		if a.Caller != d.opt.Caller || a.Session != d.opt.Session {
			return ErrNotOpen
		}
		return d.record(&a, PhaseAnswered, 0, a.Answered)
	}, func(a Approval) error { d.expired(a); return nil })
}

func (d *Desk) expired(a Approval) { _ = d.record(&a, PhaseExpired, 0, a.Ended) }

func (d *Desk) record(a *Approval, phase string, call uint64, now time.Time) error {
	if d.opt.Record == nil {
		return nil
	}
	return d.opt.Record(a.Record(phase, call, now))
}
