package cli

import (
	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/contract"
)

func newPacksNew() *cobra.Command {
	var f serverFlags
	var name string
	cmd := &cobra.Command{
		Use:                   "new [--name NAME] (-- COMMAND [ARGS…] | --tools FILE)",
		DisableFlagsInUseLine: true,
		Short:                 "Draft a pack from what a server lists",
		Long: `Start a server, ask it for its tools, and write a pack for it to standard output: an entry
for each tool, with its parameters. What the fallback takes for a destination is a sink in
it; paths that may be written, and what may need a question each time, stand there as
comments. Nothing that the server says of itself but names gets into it.

A draft gates what the fallback gates and no more: it is where a person starts, who looks into
the server's source. "packs verify FILE" holds it against the server again. Its entries,
without params, can be used under tools: in a configuration.

The server runs as it would for an agent, with your environment and rights; no tool of it is
called. --timeout bounds how long it may take.

Exit codes: 0 the draft is written, 1 the server cannot be listed, 2 the command line is
wrong.`,
		Example: `  sallyport packs new -- npx -y @modelcontextprotocol/server-memory >memory.yaml
  sallyport packs new --name mine --tools tools.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args, 0); err != nil {
				return err
			}
			s, err := f.list(cmd.Context(), args, cmd.ErrOrStderr())
			if err != nil {
				return failed(err)
			}
			d := contract.Draft{Name: name, Server: s.name, Version: s.version}
			if name == "" && len(args) > 0 {
				d.Name = serverName(args)
			}
			draft, err := contract.DraftPack(d, s.tools)
			if err != nil {
				return failed(err)
			}
			if _, err := cmd.OutOrStdout().Write(draft); err != nil {
				return failed(err)
			}
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of the pack (default: from the command)")
	return cmd
}
