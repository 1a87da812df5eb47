package gateway

import (
	"cmp"
	"context"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/approval"
)

// Asking says how people are asked. A reload changes all but the Store.
type Asking struct {
	Store    *approval.Store
	Settings approval.Settings
	// Redaction says what of a call's arguments a person is not shown.
	Redaction audit.Redaction
	Notify    func(approval.Approval) // is told of each new question and does not block; nil: nobody is
}

// newDesk makes the desk of a session; nil where nobody is asked.
func (s *session) newDesk(u *setup) *approval.Desk {
	if u.Asking == nil {
		return nil
	}
	o := approval.DeskOptions{
		Caller: s.name, Session: s.id, Scope: s.questionScope(), Listed: s.caller.Listed, Settings: u.Asking.Settings, Redaction: u.Asking.Redaction, Record: s.recordApproval,
		Notify: func(a approval.Approval) {
			if now := s.setup().Asking; now != nil && now.Notify != nil {
				now.Notify(a)
			}
		},
	}
	if u.Audit != nil {
		o.Log = u.Audit.Path()
	}
	return approval.NewDesk(u.Asking.Store, o)
}

// questionScope is what the caller's questions are counted by: what its doubt spans, so that a
// client that connects anew is not asked anew. One that no other process shares is this gateway's.
func (s *session) questionScope() string {
	doubt := cmp.Or(s.caller.Session.Doubt, s.name)
	if s.caller.Session.Shared {
		return doubt
	}
	return s.g.id + " " + doubt
}

func (s *session) recordApproval(rec audit.Record) error {
	u := s.setup()
	if u.Audit == nil {
		return nil
	}
	_, err := u.Audit.Append(rec)
	if err != nil && u.AuditContinue {
		s.log.Error("a step of an approval could not be recorded", "log", u.Audit.Path(), "error", err)
		return nil
	}
	return err
}

// closeDesk takes back what is open or granted in the session.
func (s *session) closeDesk() {
	defer s.g.desks.Done()
	if s.desk == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.desk.Close(ctx); err != nil {
		s.log.Warn("approvals could not be taken back, and end when their time is over", "error", err)
	}
}

// reaskBy makes a session ask by the settings of another configuration.
func (s *session) reaskBy(u *setup) {
	if s.desk != nil && u.Asking != nil {
		s.desk.Use(u.Asking.Settings)
	}
}
