package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// examples are the directories of ../../examples.
func examples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../examples/*/sallyport.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d examples are found (%v), at least 5 have to be there", len(files), err)
	}
	for i := range files {
		files[i] = filepath.Dir(files[i])
	}
	return files
}

// exampleScript is what a reader of an example would type.
const exampleScript = `
exec sallyport validate -c sallyport.yaml --strict
! stdout 'error|warning'
! stderr .
exec sallyport validate -c sallyport.yaml --strict --tools tools.json
! stdout 'error|warning'
exec sallyport test -c sallyport.yaml --coverage
stdout '^ok\s.*\t[1-9][0-9]+ tests'
! stdout 'never decided'
`

// TestExamples holds every example to: nothing is found that is not accepted with a
// reason, the tests pass, there are at least ten, and every rule decides in one.
func TestExamples(t *testing.T) {
	dirs, scripts := map[string]string{}, t.TempDir()
	var files []string
	for _, dir := range examples(t) {
		name := filepath.Base(dir)
		script := filepath.Join(scripts, name+".txtar")
		if err := os.WriteFile(script, []byte(exampleScript), 0o600); err != nil {
			t.Fatal(err)
		}
		dirs[name], files = dir, append(files, script)
	}
	testscript.Run(t, testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir+"/home")
			// The directory of a script is called script-NAME.
			dir := dirs[filepath.Base(e.WorkDir)[len("script-"):]]
			return os.CopyFS(e.WorkDir, os.DirFS(dir))
		},
	})
}
