// Package cli is the command line: it reads flags and files, runs one command, and
// prints results to standard output and everything else to standard error.
//
// It decides nothing itself. Whatever it prints of a file, an argument or an upstream
// is escaped, and a command never writes anything but its result to standard output,
// which for wrap is the protocol.
package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/stdio"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// commands is every subcommand: one file each, one line here.
var commands = []func() *cobra.Command{
	newApprove,
	newDemo,
	newDemoServer,
	newAudit,
	newDecide,
	newExplain,
	newMan,
	newMCP,
	newPacks,
	newPending,
	newPins,
	newReload,
	newReport,
	newRun,
	newSchema,
	newTest,
	newTrust,
	newToken,
	newValidate,
	newVersion,
	newWrap,
}

const maxErrorLine = 4000 // characters

// Main runs one command line, without the program's name, and returns the exit code:
// 0 done, 1 failed, 2 the command line itself is wrong. A command may return others,
// which its help lists.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "__guard" {
		return stdio.RunGuard(args[1:]) // before anything else: the gateway waits for it
	}
	if len(args) == 1 && args[0] == "--version" {
		args = []string{"version"}
	}
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*exitError](err)
	if !ok {
		exit = &exitError{code: 2, err: err} // from the flag parser
	}
	if exit.err != nil {
		printError(stderr, exit.err)
	}
	return exit.code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "sallyport",
		Short: "A security gateway between AI agents and their tools",
		Long: `Sallyport stands between an agent's MCP client and an MCP server. Every call is
decided by deterministic rules before it reaches the server, and every verdict is
recorded.

Exit codes: 0 done, 1 failed, 2 the command line is wrong; a command's own help
lists others.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	for _, c := range commands {
		root.AddCommand(c())
	}
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		switch {
		case c.HasSubCommands() && c.RunE == nil:
			group(c)
		case c.Name() == "help":
			c.Args = helpTopic
		}
	}
	return root
}

// group makes a command that only holds others refuse what is none of them. Left alone, the
// parser explains the group and says that all went well, and a script goes on without the
// check that it meant to run.
func group(cmd *cobra.Command) {
	cmd.DisableFlagsInUseLine = true // there are none but help
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	}
}

// helpTopic refuses what is no command.
func helpTopic(help *cobra.Command, args []string) error {
	cmd, rest, err := help.Root().Find(args)
	if err == nil && len(rest) > 0 {
		return unknownCommand(cmd, rest[0])
	}
	return err
}

func unknownCommand(group *cobra.Command, name string) error {
	var names []string
	for _, c := range group.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q%s", name, group.CommandPath(), strictyaml.Hint(name, names))
}

// exitError ends the program with a code. A nil err prints nothing more.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// failed makes err end the command with exit code 1.
func failed(err error) error { return &exitError{code: 1, err: err} }

// printError writes "sallyport: …" for each line of err, escaped.
func printError(w io.Writer, err error) {
	for line := range strings.Lines(audit.RedactText(err.Error())) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			// The flag parser indents its suggestions with a tab.
			line = strings.ReplaceAll(line, "\t", "  ")
			fmt.Fprintf(w, "sallyport: %s\n", quote.Text(line, maxErrorLine))
		}
	}
}
