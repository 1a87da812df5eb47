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
		Short: "Read and check the log of verdicts",
		Long:  "Work with the log in which every verdict is recorded.",
	}
	cmd.AddCommand(newAuditVerify(), newAuditKeygen(), newAuditSummary(), newAuditTail(), newAuditShow())
	return cmd
}

func newAuditVerify() *cobra.Command {
	var f verifyFlags
	var configFile string
	cmd := &cobra.Command{
		Use:   "verify [LOG]",
		Short: "Find what was changed in a log",
		Long: `Follow the hash chain through a log and list every place where records were edited,
removed, inserted or reordered, or where something else stands, as LOG:line: kind: text.
A last line that a crash tore is a problem until a gateway has started again and
sealed it; then it is listed as a repair.

` + readsLog + `

Records cut off the end, and a chain rebuilt from some record on, look like a shorter
or another log. Checkpoints show them: the gateway writes them where audit.checkpoints
in the configuration says. Give files of them with --checkpoint, and with --pubkey the
key that sallyport audit keygen printed, or a file with such keys, one a line. Without
a key the signatures are not checked. A file may hold the checkpoints of several logs;
with a key, those that it did not sign are left aside. The newest checkpoint that the
log fits says how far the log is the one that was signed; what comes after it is as
open as without one. If none can be compared, the result is NOT CHECKED.

Exit codes: 0 the log is intact and fits the checkpoints, 1 it or they could not be
read, 2 the command line is wrong, 3 there are problems, or no checkpoint could be
compared.`,
		Example: `  sallyport audit verify
  sallyport audit verify -c sallyport.yaml
  sallyport audit verify /var/log/sallyport/audit.jsonl
  sallyport audit verify audit.jsonl --checkpoint /mnt/elsewhere/checkpoints --pubkey audit.pub
  zcat audit.jsonl.gz | sallyport audit verify -`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(f.keys) > 0 && len(f.checkpoints) == 0 {
				return errors.New("--pubkey checks checkpoints: name their file with --checkpoint")
			}
			path, err := logPath(args, configFile)
			if err != nil {
				return err
			}
			rep, err := verifyLog(cmd.InOrStdin(), path, f)
			if len(args) == 0 && errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("there is no log yet at %s", quote.Text(path, maxErrorLine))
			}
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
	cmd.Flags().StringVarP(&configFile, "config", "c", "", "verify the log of this configuration `FILE`")
	cmd.Flags().StringArrayVar(&f.checkpoints, "checkpoint", nil, "`FILE` with checkpoints of the log; may be given several times")
	cmd.Flags().StringArrayVar(&f.keys, "pubkey", nil, "verifier `KEY` of the checkpoints, or a file with such keys; may be given several times")
	return cmd
}

// verifyLog verifies the log at a path; "-" is standard input.
func verifyLog(stdin io.Reader, path string, f verifyFlags) (audit.Report, error) {
	noted, err := f.noted()
	if err != nil {
		return audit.Report{}, err
	}
	switch {
	case noted != nil && path == "-":
		return noted.Verify(stdin)
	case noted != nil:
		return noted.VerifyFile(path)
	case path == "-":
		return audit.Verify(stdin)
	default:
		return audit.VerifyFile(path)
	}
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
	if rep.Checkpoints != nil {
		checkpointProblems(&b, rep.Checkpoints)
	}
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
	if rep.Checkpoints != nil {
		checkpointSummary(&b, rep.Checkpoints)
	}
	state := "intact."
	switch {
	case rep.NotCompared():
		state = "NOT CHECKED:"
	case !rep.Intact():
		state = "NOT INTACT."
	}
	fmt.Fprintf(&b, "%s %s\n", state, rep.Conclusion())
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
