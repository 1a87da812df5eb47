package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// exitMisfit is the exit code where a pack does not fit a server.
const exitMisfit = 3

// serverFlags say where a list of tools comes from.
type serverFlags struct {
	tools   string
	timeout time.Duration
}

func (f *serverFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.tools, "tools", "", "`FILE` with the server's tools/list, instead of a command")
	cmd.Flags().DurationVar(&f.timeout, "timeout", time.Minute, "how long the server may take to start and list its tools")
}

// list reads the tools from a file or from a server that it starts. command is what
// follows --.
func (f *serverFlags) list(ctx context.Context, command []string, stderr io.Writer) (*listedServer, error) {
	if f.tools != "" {
		tools, err := readTools(f.tools, "")
		if err != nil {
			return nil, err
		}
		return &listedServer{tools: tools}, nil
	}
	ctx, stop := signal.NotifyContext(ctx, stopSignals()...)
	defer stop()
	s, err := listServer(ctx, command, f.timeout, stderr)
	if err != nil {
		return nil, fmt.Errorf("the server's tools cannot be listed: %w", err)
	}
	return s, nil
}

// check holds what stands before and behind -- against the flags.
func (f *serverFlags) check(cmd *cobra.Command, args []string, before int) error {
	dash := cmd.ArgsLenAtDash()
	behind := 0
	if dash >= 0 {
		behind = len(args) - dash
	}
	switch {
	case len(args)-behind < before:
		return fmt.Errorf("name the pack first, NAME, as in: %s", cmd.UseLine())
	case f.timeout <= 0 || f.timeout > time.Hour:
		return errors.New("--timeout has to lie between 1ns and 1h")
	case f.tools != "" && behind > 0:
		return errors.New("give a command or --tools, not both")
	case len(args)-behind != before:
		return fmt.Errorf("put the server's command after --, as in: %s", cmd.UseLine())
	case f.tools == "" && behind == 0:
		return fmt.Errorf("put the server's command after --, or give --tools FILE: %s", cmd.UseLine())
	}
	return nil
}

func newPacksVerify() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:                   "verify NAME (-- COMMAND [ARGS…] | --tools FILE)",
		DisableFlagsInUseLine: true,
		Short:                 "Hold a pack against what a server lists",
		Long: `Start a server, ask it for its tools, and report where a pack no longer fits: entries of
tools or parameters that are gone, tools that have no entry, and parameters that the pack does
not know, with what they look like: a destination, or a path that is written. A line that
starts with note: is a parameter that looks like one and that the pack leaves out; its author
may have had a reason.

NAME is a shipped pack, or a file with one, such as packs new drafts.

The server runs as it would for an agent, with your environment and rights; no tool of it is
called. --timeout bounds how long it may take. What it says on standard error is shown there.

Exit codes: 0 the pack fits, 1 the server cannot be listed or the pack not read, 2 the command
line is wrong, 3 it does not fit.`,
		Example: `  sallyport packs verify memory -- npx -y @modelcontextprotocol/server-memory
  sallyport packs verify ./mine.yaml --tools tools.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args, 1); err != nil {
				return err
			}
			p, err := packNamed(args[0])
			if err != nil {
				return failed(err)
			}
			s, err := f.list(cmd.Context(), args[1:], cmd.ErrOrStderr())
			if err != nil {
				return failed(err)
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			fits := writeVerified(out, p, s)
			if err := out.Flush(); err != nil {
				return failed(err)
			}
			if !fits {
				return &exitError{code: exitMisfit}
			}
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

// packNamed is a shipped pack or, where the name is one of a file, what stands there.
func packNamed(name string) (*contract.Pack, error) {
	if ext := filepath.Ext(name); ext != ".yaml" && ext != ".yml" && !strings.ContainsAny(name, `/\`) {
		return shippedPack(name)
	}
	data, err := config.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return contract.ReadPack(quote.Text(name, 1000), data)
}

// writeVerified reports how a pack fits, and whether it does.
func writeVerified(w io.Writer, p *contract.Pack, s *listedServer) (fits bool) {
	i := p.Info()
	fmt.Fprintf(w, "pack %s, for %s %s: %d tools\n", quote.Text(i.Name, 80), quote.Text(i.Server, 200), quote.Text(i.Version, 80), i.Tools)
	if s.name != "" || s.version != "" {
		fmt.Fprintf(w, "the server calls itself %s %s and lists %d tools\n", quote.Value(s.name, 80), quote.Value(s.version, 80), len(s.tools))
	} else {
		fmt.Fprintf(w, "the list has %d tools\n", len(s.tools))
	}
	found, more := p.Check(s.tools)
	problems := more
	for _, m := range found {
		if m.Note {
			fmt.Fprintln(w, "note: "+m.Text)
			continue
		}
		problems++
		fmt.Fprintln(w, m.Text)
	}
	if more > 0 {
		fmt.Fprintf(w, "and %d more\n", more)
	}
	switch problems {
	case 0:
		fmt.Fprintln(w, "the pack fits")
	case 1:
		fmt.Fprintln(w, "the pack does not fit: 1 difference")
	default:
		fmt.Fprintf(w, "the pack does not fit: %d differences\n", problems)
	}
	return problems == 0
}
