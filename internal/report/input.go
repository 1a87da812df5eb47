package report

import (
	"time"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/auditread"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/lint"
	"github.com/sallyport-dev/sallyport/internal/pins"
	"github.com/sallyport-dev/sallyport/policy"
)

// Input is everything that a pack is made from. [Build] changes nothing of it.
type Input struct {
	Made      time.Time // when; shown in UTC
	Program   string    // this program's version
	Go        string    // what it was built with
	Platform  string    // system and processor
	Config    *config.Config
	Policies  []*policy.Policy // in the order in which they are shown; at least one
	Contracts contract.Options // how the configuration's entries are layered
	Tools     []lint.ToolList  // what servers list; nil: not known
	// FromPins says that Tools is what was pinned, because no list was given.
	FromPins bool
	Pins     []*pins.File // of the servers that are meant
	Lint     lint.Report
	Log      *Log // nil: there is none
}

// Log is what was read of an audit log.
type Log struct {
	Path         string
	Since, Until time.Time // of the summary: from, and before; zero: not bounded
	// Verified is the whole log's, whatever Since and Until are.
	Verified audit.Report
	Summary  *auditread.Summary
	Pointers *Pointers
}
