package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// exitProblems is verify's exit code for a log with problems.
const exitProblems = 3

func newAudit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Check the log of verdicts",
		Long:  "Work with the log in which every verdict is recorded.",
	}
	cmd.AddCommand(newAuditVerify(), newAuditSummary(), newAuditTail(), newAuditShow())
	return cmd
}

func newAuditVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify [LOG]",
		Short: "Find what was changed in a log",
		Long: `Follow the hash chain through a log and list every place where records were edited,
removed, inserted or reordered, or where something else stands, as LOG:line: kind: text.
A last line that a crash tore is a problem until a gateway has started again and
sealed it; then it is listed as a repair. The older files of a log that was rotated
(LOG.000001 and so on, compressed or not) are read with it, from the oldest on; one of
them can be given alone.

Records cut off the end, and a chain rebuilt from some record on, look like a shorter
or another log: keep the last hash elsewhere, and compare.

Without LOG, the default log in your state directory is read; - reads standard input.

Exit codes: 0 the log is intact, 1 it could not be read, 2 the command line is wrong,
3 there are problems.`,
		Example: `  sallyport audit verify
  sallyport audit verify /var/log/sallyport/audit.jsonl
  zcat audit.jsonl.gz | sallyport audit verify -`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, rep, err := verifyLog(cmd.InOrStdin(), args)
			if err != nil {
				return failed(err)
			}
			if _, err := io.WriteString(cmd.OutOrStdout(), verifyText(path, &rep)); err != nil {
				return failed(err)
			}
			if !rep.Intact() {
				return &exitError{code: exitProblems}
			}
			return nil
		},
	}
}

func verifyLog(stdin io.Reader, args []string) (path string, rep audit.Report, err error) {
	if len(args) == 1 && args[0] == "-" {
		rep, err = audit.Verify(stdin)
		return "-", rep, err
	}
	if len(args) == 1 {
		path = args[0]
	} else if path, err = audit.DefaultPath(); err != nil {
		return "", rep, err
	}
	rep, err = audit.VerifyFile(path)
	if len(args) == 0 && errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no log yet at %s", path)
	}
	return path, rep, err
}

func verifyText(path string, rep *audit.Report) string {
	name := quote.Text(path, maxErrorLine)
	var b strings.Builder
	for _, p := range rep.Repairs {
		fmt.Fprintf(&b, "%s:%d: repaired: %s\n", fileOf(path, p), p.Line, p.Text)
	}
	more(&b, rep.MoreRepairs, "repair")
	for _, p := range rep.Problems {
		fmt.Fprintf(&b, "%s:%d: %s: %s\n", fileOf(path, p), p.Line, p.Kind, p.Text)
	}
	more(&b, rep.More, "problem")
	fmt.Fprintf(&b, "log: %s", name)
	if rep.Files > 1 {
		fmt.Fprintf(&b, " and %s before it", count(rep.Files-1, "file"))
	}
	b.WriteByte('\n')
	fmt.Fprintf(&b, "records: %d", rep.Records)
	if rep.Records > 0 {
		fmt.Fprintf(&b, ", from number %d of %s to number %d of %s",
			rep.FirstSeq, rep.First.Format(time.RFC3339), rep.LastSeq, rep.Last.Format(time.RFC3339))
	}
	b.WriteByte('\n')
	if rep.LastHash != "" {
		fmt.Fprintf(&b, "last hash: %s\n", rep.LastHash)
	}
	state := "intact"
	if !rep.Intact() {
		state = "NOT INTACT"
	}
	fmt.Fprintf(&b, "%s. %s\n", state, rep.Conclusion())
	return b.String()
}

// fileOf is the file in which a problem is.
func fileOf(path string, p audit.Problem) string {
	if p.File != "" {
		path = filepath.Join(filepath.Dir(path), p.File)
	}
	return quote.Text(path, maxErrorLine)
}

func more(b *strings.Builder, n int64, what string) {
	if n > 0 {
		fmt.Fprintf(b, "and %s more\n", count(int(n), what))
	}
}
