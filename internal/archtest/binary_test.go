package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// reflectMarks are functions whose presence means that the linker has given up
// removing what is never called: the program can reach any method by its name.
// text/template does that as soon as its evaluator is linked in.
var reflectMarks = []string{
	"reflect.Value.Method", "reflect.Value.MethodByName",
	"text/template.(*state).evalField", "text/template.(*Template).Execute",
	"html/template.(*Template).Execute",
}

// cobra imports text/template for templates that this program does not use, and the
// linker drops the evaluator. Nobody else may import it, and it must stay dropped.
func TestNoTemplatesInTheProgram(t *testing.T) {
	root := moduleRoot(t)
	for _, line := range output(t, root, "go", "list", "-deps", "-f", "{{.ImportPath}}: {{join .Imports \" \"}}", "./cmd/sallyport") {
		pkg, imports, _ := strings.Cut(line, ": ")
		for _, i := range strings.Fields(imports) {
			if i == "html/template" || i == "text/template" && pkg != "github.com/spf13/cobra" {
				t.Errorf("%s imports %s", pkg, i)
			}
		}
	}

	bin := filepath.Join(t.TempDir(), "sallyport")
	output(t, root, "go", "build", "-o", bin, "./cmd/sallyport")
	linked := map[string]bool{}
	for _, line := range output(t, root, "go", "tool", "nm", bin) {
		if f := strings.Fields(line); len(f) >= 3 && (f[1] == "T" || f[1] == "t") {
			linked[strings.Join(f[2:], " ")] = true
		}
	}
	if !linked["main.main"] || !linked["reflect.Value.Call"] {
		t.Fatal("the binary's symbols could not be read, so their absence proves nothing")
	}
	for _, mark := range reflectMarks {
		if linked[mark] {
			t.Errorf("%s is linked in: the linker no longer drops what is never called", mark)
		}
	}
}

// output runs a command without cgo and returns its output as lines.
func output(t *testing.T, dir, name string, args ...string) []string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(os.Environ()), "CGO_ENABLED=0", "GOFLAGS=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
