package cli

import (
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/approval"
)

// approvalStore is where approvals and the user's trust list are kept: beside the default log.
func approvalStore(o own) (*approval.Store, error) {
	if o.noState != nil {
		return nil, errors.New("there is no directory to keep approvals in: set $XDG_STATE_HOME or $HOME to an absolute path (on Windows %LocalAppData%)")
	}
	return approval.NewStore(approval.StoreOptions{Dir: filepath.Dir(o.stateLog)}), nil
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
