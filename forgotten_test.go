package sallyport

import (
	"testing"

	"github.com/sallyport-dev/sallyport/flow"
)

// Evidence that the ledger had no memory for names no tool and no time.
func TestForgottenEvidenceSaysSo(t *testing.T) {
	if got, want := where("", flow.Evidence{Forgotten: true}), "an earlier output of this session; which one is no longer known"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
