package cli

import (
	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/config"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [configuration|audit]",
		Short: "Print the JSON Schema of the configuration, or of the audit log",
		Long: `Print the JSON Schema (2020-12) of the configuration file, for editors and for checks
that do not run this program; or that of one line of the audit log. The first knows keys, types and choices; what one part of a file
says of another is for validate.

An editor with a YAML language server uses it with this comment in the first line:

  # yaml-language-server: $schema=sallyport.schema.json

Exit codes: 0, 1 the schema cannot be written.`,
		Example: `  sallyport schema >sallyport.schema.json
  sallyport schema audit >audit-record.schema.json`,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"configuration", "audit"},
		RunE: func(cmd *cobra.Command, args []string) error {
			schema := config.Schema
			if len(args) == 1 && args[0] == "audit" {
				schema = audit.Schema
			}
			if _, err := cmd.OutOrStdout().Write(schema()); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}
