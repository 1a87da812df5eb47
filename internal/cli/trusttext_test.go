package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/approval"
)

func TestTrustListSaysWhichEntriesHoldNowhere(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for tool, nowhere := range map[string]bool{"": false, "mail/send_email": false, "send_email": true} {
		var b strings.Builder
		trustText(&b, approval.Trusted{Destination: "bob@partner.example", Tool: tool, Because: "b", Added: now}, now)
		if strings.Contains(b.String(), "nowhere") != nowhere {
			t.Errorf("%q: %s", tool, b.String())
		}
	}
}
