package cli

import (
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/config"
)

// A reload that changes how the log is kept is refused: nothing of the audit section changes while
// a gateway runs.
func TestAuditTextTellsSectionsApart(t *testing.T) {
	seen := map[string]int{}
	for i, a := range []config.Audit{
		{},
		{Path: "/a"},
		{Sync: audit.SyncAlways},
		{Rotate: audit.Rotation{MaxSize: 1 << 20}},
		{Rotate: audit.Rotation{MaxSize: 1 << 20, Keep: 2}},
		{Checkpoints: &config.Checkpoints{Path: "/points", Records: 100}},
		{Checkpoints: &config.Checkpoints{Path: "/points", Records: 100, Key: "/key"}},
		{Checkpoints: &config.Checkpoints{Path: "/points", Records: 100, Interval: time.Minute}},
	} {
		text := auditText(a)
		if other, there := seen[text]; there {
			t.Errorf("sections %d and %d look the same", other, i)
		}
		seen[text] = i
		if again := auditText(a); again != text {
			t.Errorf("section %d: %q and %q", i, text, again)
		}
	}
}
