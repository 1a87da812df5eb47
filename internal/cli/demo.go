package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sallyport-dev/sallyport/internal/demo"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

func newDemo() *cobra.Command {
	var auto, keep bool
	cmd := &cobra.Command{
		Use:   "demo [STORY]",
		Short: "See what happens to an agent that believes what it reads",
		Long: `Play short stories twice: an agent that believes everything it reads, first with its
tools in its own hands, then with the same tools behind "sallyport wrap". Each ends with
a table of what is true on disk afterwards. Without STORY, all are played:

  helpdesk    a poisoned ticket wants the customer list mailed away, an SSH key written
              and customers deleted
  home        a web page wants a camera removed, the front door unlocked and a restart
  repository  a public issue wants a private repository's content in a public pull request

The agents are scripts, so no model and no key is needed. Their tools are real MCP
servers that change real files in a temporary directory, which is removed afterwards.
Nothing outside that directory is touched, and nothing is sent anywhere.

On a terminal the demo waits for Enter between its acts, and lets you answer what the
helpdesk's agent is asked; --auto, and no terminal, leave both to the script. With --keep
the logs, the configurations and the helpdesk's review pack (gateway/review.html) stay.

Exit codes: 0 every call was decided as it should be and both worlds came out as they
should, 1 not, 2 the command line is wrong.`,
		Example: "  sallyport demo\n  sallyport demo repository\n  sallyport demo --auto --keep",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && !slices.Contains(demo.Names(), args[0]) {
				return fmt.Errorf("there is no story %s%s", strictyaml.Quote(args[0]), strictyaml.Hint(args[0], demo.Names()))
			}
			return cobra.MaximumNArgs(1)(cmd, args)
		},
		ValidArgs: demo.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			exe, err := os.Executable()
			if err != nil {
				return failed(err)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			shown := onTerminal(cmd.OutOrStdout())
			if err := demo.Run(ctx, demo.Options{
				Exe:    exe,
				Story:  strings.Join(args, ""),
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
	cmd.Flags().BoolVar(&auto, "auto", false, "never wait for a key; the script answers")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the temporary directory and say where it is")
	return cmd
}

// newDemoServer is a story's MCP server, which the demo starts.
func newDemoServer() *cobra.Command {
	var story, dir string
	cmd := &cobra.Command{
		Use:    "__demo-server",
		Short:  "The demo's MCP server",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return errors.New("--dir is missing")
			}
			if err := demo.Serve(cmd.Context(), story, dir); err != nil && !errors.Is(err, io.EOF) {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&story, "story", "helpdesk", "whose server")
	cmd.Flags().StringVar(&dir, "dir", "", "directory that the demo made")
	return cmd
}

// onTerminal reports whether a stream is a file that a person looks at or types into.
func onTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // a descriptor fits
}
