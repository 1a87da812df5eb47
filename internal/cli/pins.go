package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/pins"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// exitWaiting is the exit code where something still waits for a person.
const exitWaiting = 3

type pinsFlags struct{ upstream, tool, config, audit string }

func newPins() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pins",
		Short: "See and accept what servers changed in their tools",
		Long: `The first time a server is wrapped, the definitions of its tools are pinned. Later a
tool that is new or changed is refused until a person has seen the difference and
accepted it.

Pins belong to the server's command with its arguments, and to the capabilities of the
client, because servers list other tools to other clients.`,
	}
	cmd.AddCommand(newPinsList(), newPinsDiff(), newPinsAccept())
	return cmd
}

func (f *pinsFlags) add(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.upstream, "upstream", "", "only the server of this `NAME`, or of the beginning of an id as pins list shows it")
	cmd.Flags().StringVar(&f.tool, "tool", "", "only this `TOOL`")
	return cmd
}

func newPinsList() *cobra.Command {
	var f pinsFlags
	return f.add(&cobra.Command{
		Use:   "list",
		Short: "List what is pinned",
		Long: `List the servers that were wrapped, the tools that are pinned for each set of client
capabilities, since when and why: first (it stood in the first list), same (a client with
other capabilities had it before) or accepted (somebody said yes).

Exit codes: 0 listed, 1 the pins cannot be read, 2 the command line is wrong.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, files, err := f.files()
			if err != nil {
				return failed(err)
			}
			if _, err := io.WriteString(cmd.OutOrStdout(), pinsText(files, f.tool)); err != nil {
				return failed(err)
			}
			return nil
		},
	})
}

func newPinsDiff() *cobra.Command {
	var f pinsFlags
	return f.add(&cobra.Command{
		Use:   "diff",
		Short: "Show what waits to be accepted",
		Long: `Show every tool that is refused because it is new or changed, and what differs from
what is pinned. A line that starts with ! is a change that may let more happen than before,
or that speaks to the agent: a new parameter that looks like a destination, values that are
accepted now and were not, a parameter that is no longer required, another description.

Exit codes: 0 nothing waits, 1 the pins cannot be read, 2 the command line is wrong,
3 something waits.`,
		Example: "  sallyport pins diff\n  sallyport pins diff --upstream mail --tool send_email",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, files, err := f.files()
			if err != nil {
				return failed(err)
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			all := questions(files, f.tool)
			for _, q := range all {
				q.show(out)
				fmt.Fprintln(out)
			}
			if len(all) == 0 {
				fmt.Fprintln(out, "nothing waits")
			} else {
				fmt.Fprintf(out, "%s. To accept: %s\n", waitText(len(all)), f.acceptCommand())
			}
			if err := out.Flush(); err != nil {
				return failed(err)
			}
			if len(all) > 0 {
				return &exitError{code: exitWaiting}
			}
			return nil
		},
	})
}

func newPinsAccept() *cobra.Command {
	var f pinsFlags
	cmd := f.add(&cobra.Command{
		Use:   "accept",
		Short: "Look at each difference and accept it or not",
		Long: `Show each tool that is refused because it is new or changed, as "pins diff" does, and
ask whether its definition is to be pinned. It needs a terminal, and there is no flag that
answers for you. Each yes is a record in the audit log; if that cannot be written, nothing is
accepted.

A gateway that runs already sees it with the agent's second call of the tool.

Exit codes: 0 nothing waits any more, 1 no terminal, or the pins or the log cannot be used,
2 the command line is wrong, 3 something still waits.`,
		Example: "  sallyport pins accept --upstream mail",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			left, err := accept(cmd.Context(), f, cmd.InOrStdin(), cmd.OutOrStdout())
			if err != nil {
				return failed(err)
			}
			if left > 0 {
				return &exitError{code: exitWaiting}
			}
			return nil
		},
	})
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "configuration `FILE` that says where the audit log is")
	cmd.Flags().StringVar(&f.audit, "audit", "", "audit `LOG` (default: as for wrap)")
	return cmd
}

// files reads the pins of the upstreams that are meant.
func (f *pinsFlags) files() (*pins.Store, []*pins.File, error) {
	own, err := ownFiles("", "", "")
	if err != nil {
		return nil, nil, err
	}
	store, err := pinStore(own)
	if err != nil {
		return nil, nil, err
	}
	all, err := store.All()
	if err != nil {
		return nil, nil, err
	}
	if f.upstream != "" {
		if all, err = wrappedAs(all, f.upstream); err != nil {
			return nil, nil, err
		}
	}
	if f.tool != "" {
		if all, err = having(all, f.tool); err != nil {
			return nil, nil, err
		}
	}
	return store, all, nil
}

func wrappedAs(all []*pins.File, upstream string) ([]*pins.File, error) {
	meant := slices.DeleteFunc(slices.Clone(all), func(p *pins.File) bool { return !p.Is(upstream) })
	if len(meant) == 0 {
		var names []string
		for _, p := range all {
			names = append(names, p.Names...)
		}
		return nil, fmt.Errorf("no server was wrapped under the name %s%s", quote.Value(upstream, 120), strictyaml.Hint(upstream, names))
	}
	return meant, nil
}

// having are the servers of which a tool is pinned or waits. None is an error: "nothing
// waits" of a misspelt tool would be taken for an answer.
func having(all []*pins.File, tool string) ([]*pins.File, error) {
	known := map[string]bool{}
	meant := slices.DeleteFunc(slices.Clone(all), func(p *pins.File) bool {
		own := map[string]bool{}
		for _, s := range p.Sets {
			for name := range s.Pins {
				own[name] = true
			}
			for name := range s.Waiting {
				own[name] = true
			}
		}
		maps.Copy(known, own)
		return !own[tool]
	})
	if len(meant) == 0 {
		return nil, fmt.Errorf("no server that was wrapped has a tool %s%s", quote.Value(tool, 120), strictyaml.Hint(tool, slices.Sorted(maps.Keys(known))))
	}
	return meant, nil
}

// acceptCommand is what to type to be asked about the same.
func (f *pinsFlags) acceptCommand() string {
	command := typedName() + " pins accept"
	if f.upstream != "" {
		command += " --upstream " + shellWord(f.upstream)
	}
	if f.tool != "" {
		command += " --tool " + shellWord(f.tool)
	}
	return command
}

// shellWord shows one word of a command, in quotes where a shell would read something else.
func shellWord(s string) string {
	plain := "._-/"
	if runtime.GOOS == "windows" {
		plain += `\:`
	}
	if strings.ContainsFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(plain, r)
	}) {
		return quote.Value(s, 256)
	}
	return s
}

func waitText(n int) string {
	if n == 1 {
		return "1 definition waits"
	}
	return fmt.Sprintf("%d definitions wait", n)
}

// accept asks about each difference and returns how many still wait.
func accept(ctx context.Context, f pinsFlags, stdin io.Reader, stdout io.Writer) (left int, err error) {
	who, err := atTerminal(stdin, stdout)
	if err != nil {
		return 0, errors.New("accepting needs a person at a terminal: standard input and output have to be one. See the difference with: " + typedName() + " pins diff")
	}
	store, files, err := f.files()
	if err != nil {
		return 0, err
	}
	all := questions(files, f.tool)
	if len(all) == 0 {
		fmt.Fprintln(stdout, "nothing waits")
		return 0, nil
	}
	log, err := pinsLog(f)
	if err != nil {
		return 0, err
	}
	if log != nil {
		defer log.Close()
	}
	for i, q := range all {
		q.show(stdout)
		said, err := who.ask(fmt.Sprintf("Accept this definition of %s? [y/N] ", quote.Value(q.tool(), 256)))
		if err != nil {
			return left + len(all) - i, err
		}
		if said != "y" && said != "yes" {
			fmt.Fprint(stdout, "not accepted\n\n")
			left++
			continue
		}
		err = store.Accept(ctx, q.file.ID, q.waits, time.Now(), func() error { return recordAccepted(log, q) })
		if err != nil {
			return left + len(all) - i, err
		}
		fmt.Fprint(stdout, "accepted\n\n")
	}
	return left, nil
}

// pinsLog opens the log that wrap would write; nil if the configuration turns it off.
func pinsLog(f pinsFlags) (*audit.Log, error) {
	own, err := ownFiles(f.config, "", f.audit)
	if err != nil {
		return nil, err
	}
	opt := loadOptions()
	opt.Lookup = os.LookupEnv
	cfg, _, err := loadFiles(opt, own.config, "")
	if err != nil {
		return nil, fmt.Errorf("the configuration says where the log is, and it does not load: %w", err)
	}
	path, err := auditPath(wrapFlags{audit: f.audit}, cfg, own)
	if err != nil || path == "" {
		return nil, err
	}
	return openLog(path, cfg.Audit, slog.New(slog.DiscardHandler))
}

func recordAccepted(log *audit.Log, q question) error {
	if log == nil {
		return nil
	}
	w := q.waits[0]
	detail := "accepted by a person at a terminal: digest " + w.Now.Digest.String()
	if w.Was.How != "" {
		detail += ", instead of " + w.Was.Digest.String()
	}
	_, err := log.Append(audit.Record{Event: "pin", Caller: localCaller, Upstream: q.upstream(), Target: q.tool(), Detail: detail, Outcome: "allowed"})
	if err != nil {
		return fmt.Errorf("%s: %w: nothing is accepted that is not recorded", log.Path(), err)
	}
	return nil
}
