package cli

import (
	"maps"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes sallyport a command of the scripts: each runs as its own process, as
// a user types it.
func TestMain(m *testing.M) {
	// A child that a test starts is guarded by this very program: without this line the
	// guard would run all tests, which start children.
	if len(os.Args) > 1 && os.Args[1] == "__guard" {
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == hostileArg {
		hostileserver()
		os.Exit(0)
	}
	commands := map[string]func(){
		"sallyport": func() {
			// The scripts' terminal types before anything is asked; TestTypedAhead is about that.
			discardTyped = func(*os.File) error { return nil }
			os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
		"callers":    callers,
		"converse":   converse,
		"followtail": followtail,
		"listserver": listserver,
		"startentry": startentry,
		"asker":      asker,
		"twoservers": twoservers,
	}
	maps.Copy(commands, systemCommands)
	testscript.Main(m, commands)
}

// systemCommands are those that only some systems have.
var systemCommands = map[string]func(){}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               ownHome,
	})
}

// ownHome keeps a script away from the configuration and log of the person who runs the tests.
func ownHome(e *testscript.Env) error {
	e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/config")
	e.Setenv("XDG_STATE_HOME", e.WorkDir+"/state")
	e.Setenv("HOME", e.WorkDir+"/home")
	return nil
}
