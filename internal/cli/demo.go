package cli

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sallyport-dev/sallyport/internal/demo"
)

func newDemo() *cobra.Command {
	var auto, keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See what happens to a poisoned ticket",
		Long: `Play a short story twice: an agent at a helpdesk believes a poisoned ticket, first
with its tools in its own hands, then with the same tools behind "sallyport wrap".

The agent is a script, so no model and no key is needed. Its tools are a real MCP server
that changes real files in a temporary directory, which is removed afterwards. Nothing
outside that directory is touched, and nothing is sent anywhere.

On a terminal the demo waits for Enter between its acts.

Exit codes: 0 both worlds came out as they should, 1 they did not, 2 the command line is
wrong.`,
		Example: "  sallyport demo\n  sallyport demo --auto --keep",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			exe, err := os.Executable()
			if err != nil {
				return failed(err)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			shown := onTerminal(cmd.OutOrStdout())
			if err := demo.Run(ctx, demo.Options{
				Exe:    exe,
				Wait:   !auto && shown && onTerminal(cmd.InOrStdin()),
				Keep:   keep,
				Colour: shown && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
				In:     cmd.InOrStdin(),
				Out:    cmd.OutOrStdout(),
			}); err != nil {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&auto, "auto", false, "never wait for a key")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the temporary directory and say where it is")
	return cmd
}

// newDemoServer is the helpdesk's MCP server, which the demo starts.
func newDemoServer() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:    "__demo-server",
		Short:  "The demo's MCP server",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return errors.New("--dir is missing")
			}
			if err := demo.Serve(cmd.Context(), dir); err != nil && !errors.Is(err, io.EOF) {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory that the demo made")
	return cmd
}

// onTerminal reports whether a stream is a file that a person looks at or types into.
func onTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // a descriptor fits
}
