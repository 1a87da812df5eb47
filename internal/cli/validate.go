package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/lint"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

const exitFindings = 3

type validateFlags struct {
	config, contracts, format string
	strict                    bool
	tools                     []string
}

func newValidate() *cobra.Command {
	var f validateFlags
	cmd := &cobra.Command{
		Use:   "validate [-c FILE] [--contracts FILE] [--strict] [--tools [NAME=]FILE]…",
		Short: "Check a configuration and list every problem",
		Long: `Read a configuration, a contracts file or both as wrap would, and list every problem
that keeps them from loading as file:line:column on standard error. Variables are read
from the environment of this command. The key that signs checkpoints is read too, if there
are any.

A configuration that loads is then looked through for what is probably a mistake: rules
that can never match, constraints that constrain nothing, destinations and paths that are
too broad, secrets in the file, and so on. These findings go to standard output as errors,
warnings and notes, each with a stable code. A finding that is meant is accepted in place,
by a comment beside the value or in the line above:

  # sallyport:accept SP106 because the server has only reads

--tools compares rules and contracts with what a server lists: FILE is the answer to
tools/list as JSON, NAME the upstream (not needed with one upstream or none).

Without -c and --contracts, the configuration in your own configuration directory is
read.

Exit codes: 0 nothing is wrong, 1 the files do not load, 2 the command line is wrong,
3 there are findings: errors, and with --strict warnings too. Notes never count.`,
		Example: `  sallyport validate -c sallyport.yaml
  sallyport validate -c sallyport.yaml --strict --tools mail=mail-tools.json
  sallyport validate -c sallyport.yaml --format sarif >findings.sarif`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return validate(cmd.OutOrStdout(), cmd.ErrOrStderr(), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.config, "config", "c", "", "configuration `FILE`")
	fl.StringVar(&f.contracts, "contracts", "", "contracts `FILE`")
	fl.BoolVar(&f.strict, "strict", false, "warnings count, and a few more are looked for")
	fl.StringVar(&f.format, "format", "text", "`FORMAT` of the findings: text, json or sarif")
	fl.StringArrayVar(&f.tools, "tools", nil, "a server's tools/list, as `[NAME=]FILE`; may be repeated")
	return cmd
}

func validate(stdout, stderr io.Writer, f validateFlags) error {
	if f.format != "text" && f.format != "json" && f.format != "sarif" {
		return fmt.Errorf("--format is text, json or sarif, not %s", strictyaml.Quote(f.format))
	}
	if f.config == "" && f.contracts == "" {
		var err error
		if f.config, err = defaultConfigFile(); err != nil {
			return err
		}
		if f.config == "" {
			return errors.New("there is no configuration in your configuration directory; name one with -c FILE")
		}
	}
	c, contracts, err := loadFiles(loadOptions(), f.config, f.contracts)
	if err != nil {
		n := printProblems(stderr, err)
		if f.format != "text" {
			if err := writeReport(stdout, f.format, lint.NotLoadedReport(problemsOf(err))); err != nil {
				return failed(err)
			}
		}
		return failed(fmt.Errorf("%s; nothing would be loaded", count(n, "problem")))
	}
	opt := lint.Options{Strict: f.strict, Now: time.Now()}
	opt.Home, _ = os.UserHomeDir()
	if opt.Tools, err = readToolLists(f.tools, c); err != nil {
		return failed(err)
	}
	if _, err := checkpointOptions(c.Audit.Checkpoints); err != nil {
		opt.BadKey = quote.Text(err.Error(), maxErrorLine)
	}
	report := lint.Check(c, opt)
	if f.format == "text" {
		err = writeText(stdout, f, c, contracts, report)
	} else {
		err = writeReport(stdout, f.format, report)
	}
	if err != nil {
		return failed(err)
	}
	if report.Count(lint.Error) > 0 || f.strict && report.Count(lint.Warning) > 0 {
		return &exitError{code: exitFindings}
	}
	return nil
}

func writeReport(w io.Writer, format string, r lint.Report) error {
	if format == "sarif" {
		return r.WriteSARIF(w, programVersion())
	}
	return r.WriteJSON(w)
}

// writeText says what each file holds, what was found, and how much of it.
func writeText(w io.Writer, f validateFlags, c *config.Config, contracts *config.ContractsFile, r lint.Report) error {
	var out strings.Builder
	if f.config != "" {
		fmt.Fprintf(&out, "%s: %s\n", quote.Text(f.config, maxErrorLine), summary(c, contracts))
	}
	if contracts != nil {
		fmt.Fprintf(&out, "%s: %s\n", quote.Text(f.contracts, maxErrorLine), count(len(contracts.Contracts), "contract"))
	}
	if err := r.WriteText(&out); err != nil {
		return err
	}
	var counts []string
	for _, s := range []lint.Severity{lint.Error, lint.Warning, lint.Note} {
		if n := r.Count(s); n > 0 {
			counts = append(counts, count(n, s.String()))
		}
	}
	if n := len(r.Accepted); n > 0 {
		counts = append(counts, fmt.Sprintf("%d accepted in place", n))
	}
	if len(counts) > 0 {
		fmt.Fprintln(&out, strings.Join(counts, ", "))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// summary says what the configuration's own file holds.
func summary(c *config.Config, f *config.ContractsFile) string {
	rules := 0
	for _, p := range c.Policies {
		rules += len(p.Rules())
	}
	own := len(c.Contracts)
	if f != nil {
		own -= len(f.Contracts)
	}
	parts := []string{policies(len(c.Policies)), count(rules, "rule"), count(own, "contract")}
	for _, more := range []struct {
		n    int
		what string
	}{{len(c.Upstreams), "upstream"}, {len(c.Tokens), "token"}, {len(c.RateLimits), "rate limit"}} {
		if more.n > 0 {
			parts = append(parts, count(more.n, more.what))
		}
	}
	return strings.Join(parts, ", ")
}

func policies(n int) string {
	if n == 1 {
		return "1 policy"
	}
	return fmt.Sprintf("%d policies", n)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// printProblems writes one problem a line, unprefixed so that editors find the place,
// and returns how many there are.
func printProblems(w io.Writer, err error) int {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		joined = oneError{err}
	}
	n := 0
	for _, e := range joined.Unwrap() {
		n++
		if le, ok := errors.AsType[*strictyaml.LoadError](e); ok {
			n += len(le.Problems) + le.More - 1
		}
		for line := range strings.Lines(e.Error()) {
			fmt.Fprintln(w, quote.Text(strings.TrimRight(line, "\r\n"), maxErrorLine))
		}
	}
	return n
}

// problemsOf are the single problems of an error, which may have no place.
func problemsOf(err error) []strictyaml.Problem {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		joined = oneError{err}
	}
	var l []strictyaml.Problem
	for _, e := range joined.Unwrap() {
		if le, ok := errors.AsType[*strictyaml.LoadError](e); ok {
			l = append(l, le.Problems...)
		} else {
			l = append(l, strictyaml.Problem{Text: e.Error()})
		}
	}
	return l
}

type oneError struct{ error }

func (e oneError) Unwrap() []error { return []error{e.error} }
