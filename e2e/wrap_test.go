package e2e

import (
	"os/exec"
	"testing"
)

// needWrap ends a test while the gateway command is not there yet.
func needWrap(t testing.TB) {
	t.Helper()
	p := programs["sallyport"]
	p.once.Do(func() { p.build("sallyport") })
	if p.err != nil || exec.Command(p.path, "wrap", "--help").Run() != nil {
		lacking(t, "sallyport wrap does not run")
	}
}
