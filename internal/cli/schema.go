package cli

import (
	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/internal/config"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration",
		Long: `Print the JSON Schema (2020-12) of the configuration file, for editors and for checks
that do not run this program. It knows keys, types and choices; what one part of a file
says of another is for validate.

An editor with a YAML language server uses it with this comment in the first line:

  # yaml-language-server: $schema=sallyport.schema.json

Exit codes: 0, 1 the schema cannot be written.`,
		Example: `  sallyport schema >sallyport.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := cmd.OutOrStdout().Write(config.Schema()); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}
