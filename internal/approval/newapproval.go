package approval

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/sallyport-dev/sallyport/doc"
)

func (d *Desk) newApproval(t *table, r Request, b bound, now time.Time) Approval {
	set := d.settings.Load()
	c := r.Call
	a := Approval{
		ID: newID(), State: Asked, Caller: d.opt.Caller, Session: d.opt.Session, Upstream: c.Upstream,
		Subject: c.Subject.String(), Tool: c.Name, Shown: c.Shown, Call: r.Decision.Call, Questions: b.questions,
		ArgumentsDigest: b.arguments, Policy: r.Policy, BindCall: b.all, Listed: d.opt.Listed, Asked: now, Expires: now.Add(set.TTL), Log: d.opt.Log,
	}
	a.Bound, _ = b.key(nil)
	a.Arguments, a.LeftOut = d.show(c.Args)
	for a.Code == "" || t.find(func(o *Approval) bool { return o.Code == a.Code }) != nil {
		a.Code = newCode()
	}
	return a
}

// show returns the arguments that a person is shown.
func (d *Desk) show(args doc.Value) ([]byte, int) {
	if args.Len() == 0 {
		return nil, 0
	}
	shown, left := d.opt.Redaction.Show(args)
	if len(shown) > maxShown {
		short := d.opt.Redaction
		short.MaxValue = 64
		if shown, left = short.Show(args); len(shown) > maxShown {
			return nil, args.Len()
		}
	}
	return shown, left
}

func newID() string {
	var b [idSize]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
