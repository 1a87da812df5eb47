package cli

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/internal/auditread"
)

func newAuditSummary() *cobra.Command {
	var f filterFlags
	var configFile string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "summary [LOG]",
		Short: "Count what was decided: by outcome, tool, caller, check and rule",
		Long: `Read a log and count its calls by outcome, tool, caller, check, rule and day, with the
approvals and the newest denials. A log of any length is read as a stream.

` + readsLog + `

A call counts with its verdict; how calls ended that ran is counted beside. A call that is
decided again after a question counts again; calls with which sallyport doctor looked whether
they are refused are counted apart. The filters choose records: a verdict and how its call ended
are two, each with its own time and outcome. Times are UTC.

Lines that are no records are counted and named, and passed over. That a log can be summed
up does not mean that it is as it was written: sallyport audit verify says that.

--json prints one object with everything that is counted: version (1), log, lines, records,
matched (chosen by the filters), total, doctor_probes, tools, callers, checks, rules, policies,
events, days, hours, denials (the newest 20 of each check), approvals, broken, broken_lines (the first 100).
Tables have at most 4096 rows; others counts what came after them. Members may be added, never
renamed.

Exit codes: 0 done, whatever the log holds, 1 it could not be read, 2 the command line is wrong.`,
		Example: `  sallyport audit summary
  sallyport audit summary --since 2026-01-01 --until 2026-01-31 --outcome denied
  sallyport audit summary /var/log/sallyport/audit.jsonl --tool mail/send_email --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			filter, err := f.filter()
			if err != nil {
				return err
			}
			path, err := logPath(args, configFile)
			if err != nil {
				return err
			}
			s, err := summarize(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), path, filter)
			if err != nil {
				return failed(err)
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), struct {
					Version int    `json:"version"`
					Log     string `json:"log"`
					*auditread.Summary
				}{1, path, s})
			} else {
				_, err = io.WriteString(cmd.OutOrStdout(), summaryText(path, verifyCommand(path), s))
			}
			if err != nil {
				return failed(err)
			}
			return nil
		},
	}
	f.register(cmd)
	cmd.Flags().StringVarP(&configFile, "config", "c", "", "read the log of this configuration `FILE`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, for programs")
	return cmd
}

func summarize(ctx context.Context, stdin io.Reader, stderr io.Writer, path string, f auditread.Filter) (*auditread.Summary, error) {
	in, err := openToRead(stdin, path, 0)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	defer showProgress(stderr, in)()
	return auditread.Summarize(ctx, in, f)
}

// printJSON writes a value as one line, so that a terminal can show it. Nothing is indented: a record
// can be nested so deep that the spaces would be a thousand times its length.
func printJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(auditread.Printable(text), '\n'))
	return err
}
