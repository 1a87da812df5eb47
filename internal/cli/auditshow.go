package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/auditread"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

func newAuditShow() *cobra.Command {
	var configFile string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [LOG] SEQ",
		Short: "Tell the whole story of one call",
		Long: `Tell everything that a log says of the call with record number SEQ: who asked for what, what was
decided and why, what a person answered, how it ended, and for each of its destinations the
earlier output in which it was first seen, with the record of that call. SEQ can be the number of
the verdict, of the outcome, or of a step of an approval; audit summary and audit tail show
numbers as #SEQ.

` + readsLog + ` Standard input cannot be: the log is read more than once.

--json prints one object: version (1), log, subject, same_number, records, records_left_out,
evidence, evidence_left_out. A record is an object with file, line and record, the record as it
stands in the log. Of evidence, first_seen and first_seen_outcome are records. Members may be
added, never renamed.

Exit codes: 0 done, 1 no record has this number or the log could not be read, 2 the command line
is wrong.`,
		Example: `  sallyport audit show 1041
  sallyport audit show /var/log/sallyport/audit.jsonl 1041 --json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			number := args[len(args)-1]
			seq, err := strconv.ParseUint(number, 10, 53)
			if err != nil || seq == 0 {
				return fmt.Errorf("%s is no number of a record; it is 1 or more, as audit tail shows it after #, and stands last: sallyport audit show [LOG] SEQ", strictyaml.Quote(number))
			}
			path, err := logPath(args[:len(args)-1], configFile)
			if err != nil {
				return err
			}
			if path == "-" {
				return errors.New("standard input cannot be read more than once; name a file")
			}
			stop := func() {}
			story, err := auditread.Tell(cmd.Context(), func() (*audit.Reader, error) {
				stop()
				stop = func() {}
				in, err := openToRead(nil, path, 0)
				if err == nil {
					stop = showProgress(cmd.ErrOrStderr(), in)
				}
				return in, err
			}, seq)
			stop()
			if errors.Is(err, auditread.ErrNoSuchRecord) {
				err = fmt.Errorf("no record has number %d in %s", seq, path)
			}
			if err != nil {
				return failed(err)
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), struct {
					Version int    `json:"version"`
					Log     string `json:"log"`
					*auditread.Story
				}{1, path, story})
			} else {
				_, err = io.WriteString(cmd.OutOrStdout(), storyText(path, story))
			}
			if err != nil {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&configFile, "config", "c", "", "read the log of this configuration `FILE`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, for programs")
	return cmd
}
