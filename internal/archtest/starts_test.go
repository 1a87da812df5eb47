package archtest

import (
	"slices"
	"testing"
)

// mayStart lists the packages of the program that may start processes.
var mayStart = []string{
	"internal/stdio",    // servers
	"internal/demo",     // this program itself
	"internal/approval", // the command of approvals.notify
}

// B067: the program starts servers, itself, and what the user names under approvals.notify, and
// nothing else: no browser, and so nothing
// that a server's metadata or an elicitation could name.
func TestB067NothingElseIsStarted(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || len(s.dir) >= 3 && s.dir[:3] == "e2e" || slices.Contains(mayStart, s.dir) {
			continue
		}
		if slices.Contains(s.imports, "os/exec") {
			t.Errorf("%s imports os/exec; mayStart says who may", s.path)
		}
	}
}
