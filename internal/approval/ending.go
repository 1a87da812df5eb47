package approval

import (
	"cmp"
	"context"
	"time"
)

// Withdraw takes a question back that nobody will answer any more: the client went away, gave
// the call up, or its prompt failed. A yes that comes later is none.
func (d *Desk) Withdraw(ctx context.Context, id, why string) error {
	return d.revoke(ctx, why, func(a *Approval) bool { return a.ID == id && a.State == Asked })
}

// TakeBack takes back a yes that nobody has used: the same person said no elsewhere.
func (d *Desk) TakeBack(ctx context.Context, id, why string) error {
	return d.revoke(ctx, why, func(a *Approval) bool { return a.ID == id })
}

// Open reports that a question of this desk still waits for its answer.
func (d *Desk) Open(ctx context.Context, id string) (open bool, err error) {
	err = d.store.change(ctx, d.expired, func(t *table, _ time.Time) (bool, error) {
		a := t.byID(id)
		open = a != nil && a.State == Asked && a.Caller == d.opt.Caller && a.Session == d.opt.Session
		return false, nil
	})
	return open, err
}

// Close ends the session if anything was asked by this desk; else nothing is looked at.
func (d *Desk) Close(ctx context.Context) error {
	if !d.used.Load() {
		return nil
	}
	return d.End(ctx)
}

// End takes back everything that is open or granted in the session. Its questions go on being
// counted, for sessions of the same scope that come after it.
func (d *Desk) End(ctx context.Context) error {
	return d.store.change(ctx, d.expired, func(t *table, now time.Time) (changed bool, err error) {
		scope := d.scope()
		switch c := t.Sessions[scope]; {
		case c == nil || c.Ended:
		case d.opt.Scope == "" || d.opt.Scope == d.opt.Session: // nobody comes after it
			delete(t.Sessions, scope)
			changed = true
		default:
			c.Ended, changed = true, true
		}
		return d.revokeIn(t, now, "the session ended", func(*Approval) bool { return true }) || changed, nil
	})
}

// scope is what the questions of the desk's session are counted by.
func (d *Desk) scope() Key {
	return keyOf("session", d.opt.Caller, cmp.Or(d.opt.Scope, d.opt.Session))
}

func (d *Desk) revoke(ctx context.Context, why string, which func(*Approval) bool) error {
	return d.store.change(ctx, d.expired, func(t *table, now time.Time) (changed bool, err error) {
		return d.revokeIn(t, now, why, which), nil
	})
}

func (d *Desk) revokeIn(t *table, now time.Time, why string, which func(*Approval) bool) (changed bool) {
	for _, a := range t.Approvals {
		if a.over() || a.Caller != d.opt.Caller || a.Session != d.opt.Session || !which(a) {
			continue
		}
		a.end(Revoked, why, now)
		_ = d.record(a, PhaseRevoked, 0, now) // it is over whether or not that can be said
		changed = true
	}
	return changed
}
