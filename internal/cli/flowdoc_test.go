package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/internal/config"
)

// TestFlowDocRuns loads every example of the page and types what it tells a reader to
// type.
func TestFlowDocRuns(t *testing.T) {
	blocks := docBlocks(t, "../../docs/flow.md")
	t.Chdir(t.TempDir())
	files, commands := 0, ""
	for _, b := range blocks {
		_, name, isFile := strings.Cut(b.info, " file=")
		switch {
		case isFile:
			files++
			if err := os.WriteFile(filepath.Base(name), []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
		case b.info == "yaml":
			if _, err := config.Load("flow.md", []byte(complete(b.text)), config.Options{}); err != nil {
				t.Errorf("flow.md:%d: %v", b.line, err)
			}
		case b.info == "sh":
			commands += b.text
		}
	}
	ran, strict := 0, 0
	for line := range strings.Lines(commands) {
		args, ok := strings.CutPrefix(strings.TrimSpace(line), "sallyport ")
		if !ok {
			t.Fatalf("%q is no command of this program", line)
		}
		ran++
		var out, errs bytes.Buffer
		if got := Main(strings.Fields(args), strings.NewReader(""), &out, &errs); got != 0 {
			t.Errorf("sallyport %s: exit code %d\n%s%s", args, got, &out, &errs)
		}
		// Notes do not count in the exit code. A reader who copies an example gets none.
		if strings.HasPrefix(args, "validate --strict ") {
			strict++
			if strings.Contains(out.String(), " note ") {
				t.Errorf("sallyport %s:\n%s", args, &out)
			}
		}
	}
	if ran != 6 || strict != 3 || files != 6 {
		t.Errorf("%d commands ran, %d of them strict, with %d files; the page has three examples of two files and two commands each", ran, strict, files)
	}
}

// TestFlowDocNamesEverything: the page has a row for every label, origin and setting, and
// says what the profiles set.
func TestFlowDocNamesEverything(t *testing.T) {
	data, err := os.ReadFile("../../docs/flow.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	row := func(cells ...string) {
		t.Helper()
		if want := "| " + strings.Join(cells, " | "); !strings.Contains(doc, want) {
			t.Errorf("there is no row %s", want)
		}
	}
	for _, l := range flow.LabelNames() {
		row("`" + l + "`")
	}
	for o := flow.Untrusted; o <= flow.Trusted; o++ {
		row("`" + o.String() + "`")
	}
	verdicts := func(key string, of func(sallyport.FlowSettings) sallyport.Verdict) {
		cells := []string{"`" + key + "`"}
		for _, name := range sallyport.Profiles() {
			f, _ := sallyport.Profile(name)
			cells = append(cells, of(f).String())
		}
		row(cells...)
	}
	verdicts("untrusted", func(f sallyport.FlowSettings) sallyport.Verdict { return f.Untrusted })
	verdicts("inside", func(f sallyport.FlowSettings) sallyport.Verdict { return f.Inside })
	verdicts("party", func(f sallyport.FlowSettings) sallyport.Verdict { return f.Party })
	verdicts("unknown", func(f sallyport.FlowSettings) sallyport.Verdict { return f.Unknown })
	verdicts("carried", func(f sallyport.FlowSettings) sallyport.Verdict { return f.Carried })
	verdicts("copies", func(f sallyport.FlowSettings) sallyport.Verdict { return f.Copies })
	verdicts("secret", func(f sallyport.FlowSettings) sallyport.Verdict { return f.Secret })
	row("`endorse`", "false", "false", "true")
}
