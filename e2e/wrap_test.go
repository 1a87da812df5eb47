package e2e

import (
	"os/exec"
	"testing"
)

// needWrap ends a test if there is no gateway to test, and says why.
func needWrap(t testing.TB) {
	t.Helper()
	if out, err := exec.Command(binary(t, "sallyport"), "wrap", "--help").CombinedOutput(); err != nil {
		t.Fatalf("sallyport wrap does not run: %v\n%s", err, out)
	}
}
