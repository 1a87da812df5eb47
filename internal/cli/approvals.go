package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/approval"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/gateway"
	"github.com/sallyport-dev/sallyport/policy"
)

// approvalStore is where approvals and the user's trust list are kept: beside the default log.
func approvalStore(o own) (*approval.Store, error) {
	if o.noState != nil {
		return nil, errors.New("there is no directory to keep approvals in: set $XDG_STATE_HOME or $HOME to an absolute path (on Windows %LocalAppData%)")
	}
	return approval.NewStore(approval.StoreOptions{Dir: filepath.Dir(o.stateLog), Program: typedName()}), nil
}

// trustList is the user's own list of destinations, for an engine; nil where there is no
// place for one. log is told of a list that cannot be used.
func trustList(o own, log *slog.Logger) func() []sallyport.TrustedDestination {
	s, err := approvalStore(o)
	if err != nil {
		return nil
	}
	return s.Trusted(func(err error) { log.Warn("your trust list is not used", "error", err) })
}

// recorder writes records to a log; nil: none is kept.
func recorder(log *audit.Log) func(audit.Record) error {
	return func(r audit.Record) error {
		if log == nil {
			return nil
		}
		_, err := log.Append(r)
		return err
	}
}

// askSettings are what a configuration says of asking a person.
func askSettings(a config.Approvals) approval.Settings {
	return approval.Settings{BindCall: a.BindCall, MaxQuestions: a.MaxQuestions, TTL: a.TTL, Reask: a.Reask}
}

// askNotifier is what runs the user's own command for each new question; nil: none.
func askNotifier(a config.Approvals, log *slog.Logger) func(approval.Approval) {
	n := approval.NewNotifier(a.Notify, typedName(), func(err error) { log.Warn("the command of approvals.notify failed", "error", err) })
	if n == nil {
		return nil
	}
	return n.Notify
}

// decides is a digest of all that decides about a caller: the files with its policy, the
// contracts and the flow settings, and this program with its packs. A yes holds under one. A
// change of anything else in the files ends it as well.
func decides(cfg *config.Config, pol *policy.Policy) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", cfg.Digest, pol.Name(), pol.Digest(), programVersion()))
	return hex.EncodeToString(h[:])
}

// addAsking says how people are asked.
func (f *fleet) addAsking(o fleetOptions) error {
	store, err := approvalStore(f.own)
	if err != nil {
		return err
	}
	f.options.Asking = &gateway.Asking{
		Store: store, Settings: askSettings(f.cfg.Approvals), Redaction: auditOptions(f.cfg.Audit).Redaction,
		Notify: askNotifier(f.cfg.Approvals, o.log),
	}
	return nil
}

// wrapDesk is where wrap asks about the calls of its one session, which is one of a scope.
func wrapDesk(own own, cfg *config.Config, session, scope string, record *audit.Log, log *slog.Logger) (*approval.Desk, error) {
	store, err := approvalStore(own)
	if err != nil {
		return nil, err
	}
	o := approval.DeskOptions{
		Caller: localCaller, Session: session, Scope: scope, Listed: true, Settings: askSettings(cfg.Approvals), Redaction: auditOptions(cfg.Audit).Redaction,
		Notify: askNotifier(cfg.Approvals, log), Record: recorder(record),
	}
	if record != nil {
		o.Log = record.Path()
	}
	if cfg.Audit.ContinueOnFailed {
		write := o.Record
		o.Record = func(r audit.Record) error {
			if err := write(r); err != nil {
				log.Error("a step of an approval could not be recorded", "log", o.Log, "error", err)
			}
			return nil
		}
	}
	return approval.NewDesk(store, o), nil
}

// closeDesk takes back what is open or granted in a session that ends.
func closeDesk(d *approval.Desk, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := d.Close(ctx); err != nil {
		log.Warn("approvals could not be taken back, and end when their time is over", "error", err)
	}
}
