package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

func TestErrorsAreEscaped(t *testing.T) {
	var out, errs bytes.Buffer
	code := Main([]string{"vali\x1b[2J\u202edate"}, strings.NewReader(""), &out, &errs)
	if code != 2 || out.Len() != 0 {
		t.Errorf("code %d, stdout %q", code, out.String())
	}
	// The flag parser quotes in Go's way before this program escapes.
	if got := errs.String(); strings.ContainsAny(got, "\x1b\u202e") || !strings.HasPrefix(got, `sallyport: unknown command "vali\x1b[2J\u202edate"`) {
		t.Errorf("stderr %q", got)
	}
}

func TestPrintProblemsCounts(t *testing.T) {
	var p, q strictyaml.Problems
	p.AddFile("a", "x")
	p.AddFile("a", "y")
	q.AddFile("b", "z")
	for _, tt := range []struct {
		err  error
		n    int
		want string
	}{
		{errors.New("one\x1b"), 1, "one\\u{001b}\n"},
		{p.Err(), 2, "a: x\na: y\n"},
		{errors.Join(p.Err(), q.Err(), errors.New("c")), 4, "a: x\na: y\nb: z\nc\n"},
	} {
		var out bytes.Buffer
		if n := printProblems(&out, tt.err); n != tt.n || out.String() != tt.want {
			t.Errorf("%v: %d problems, %q; want %d, %q", tt.err, n, out.String(), tt.n, tt.want)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestResultThatCannotBeWrittenIsAFailure(t *testing.T) {
	var errs bytes.Buffer
	if code := Main([]string{"version"}, strings.NewReader(""), full{}, &errs); code != 1 || !strings.Contains(errs.String(), "sallyport: disk full") {
		t.Errorf("code %d, stderr %q", code, errs.String())
	}
}
