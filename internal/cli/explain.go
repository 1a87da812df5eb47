package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/confine/osresolve"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/explain"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// The exit codes of explain are the verdict's; 0 is allow.
const (
	exitDeny = 2
	exitAsk  = 4
)

type explainFlags struct {
	config, contracts, policy, caller, upstream string
	tool, resource, prompt, args, call, tools   string
	seen, typed                                 []string
	json                                        bool
}

func newExplain() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [-c FILE] (--tool NAME | --resource URI | --prompt NAME | --call FILE) [flags]",
		Short: "Say what would become of a call, and why",
		Long: `Decide one call as wrap would in a new session, without a server, and print the
verdict, the rule or check that decided, the reason, what the call would consume, whether
a client sees the tool in its list, and every rule and constraint up to the one that
decided, as [rule] PASS, FAIL or CANNOT (be checked). Nothing is run or recorded.

--seen FILE is taken for the output of a tool of that name that the agent has read
before, --typed TEXT for what the user typed; both may be repeated. So the flow can be
asked about: where does a destination come from? Labels of that tool's contract do not
hold for a FILE: it is text from outside. Where they matter, use "sallyport test".

--tools FILE is the server's answer to tools/list, by which packs are chosen and the
fallback contract reads parameters. Without it the tool is taken as listed, without a
schema and without a pack.

--args is a JSON object, @FILE to read it from, or - for standard input. --call FILE (or -)
is a whole request as a client sends it: tools/call, resources/read or prompts/get.

Write prefixes that wrap takes from the server's command line are not known here.
Without -c, the configuration in your own configuration directory is read, as by wrap.

Notes are about the call's own tool. Nobody is asked here: a call that needs a yes does not
run before somebody gave it, which the line runs says.

--json prints one object: version (1), verdict, runs, dry_run, check, rule, reason, call,
listed, contract, consumes, questions, evidence, rules, checks, notes. runs is true for
allow and in a dry run, false for deny and ask. Members may be added, never renamed.

Exit codes: 0 allow, 2 deny, 4 ask, 1 cannot run. A wrong command line and a request that
cannot be read are 1 too, so that 2 always is a verdict.`,
		Example: `  sallyport explain -c sallyport.yaml --tool send_email --args '{"to":"ana@example.com"}'
  sallyport explain -c sallyport.yaml --tool send_email --args @call.json --seen ticket.txt
  sallyport explain -c sallyport.yaml --call request.json --tools tools.json --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return failed(err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := explainCall(cmd.Context(), f, cmd.Flags().Changed, cmd.InOrStdin())
			if err != nil {
				return explainFailed(cmd.ErrOrStderr(), err)
			}
			write := report.WriteText
			if f.json {
				write = report.WriteJSON
			}
			if err := write(cmd.OutOrStdout()); err != nil {
				return failed(err)
			}
			switch report.Verdict {
			case sallyport.Allow.String():
				return nil
			case sallyport.Ask.String():
				return &exitError{code: exitAsk}
			}
			return &exitError{code: exitDeny}
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return failed(err) })
	fl := cmd.Flags()
	fl.StringVarP(&f.config, "config", "c", "", "configuration `FILE`")
	fl.StringVar(&f.contracts, "contracts", "", "`FILE` of contracts, added to the configuration's")
	fl.StringVar(&f.policy, "policy", "", "`POLICY` to use (default: that of the token named by --caller, or the only one)")
	fl.StringVar(&f.tool, "tool", "", "`NAME` of the tool that is called")
	fl.StringVar(&f.resource, "resource", "", "`URI` of the resource that is read")
	fl.StringVar(&f.prompt, "prompt", "", "`NAME` of the prompt that is fetched")
	fl.StringVar(&f.args, "args", "", "arguments as `JSON`, @FILE or -")
	fl.StringVar(&f.call, "call", "", "`FILE` with the request as a client sends it, or -")
	fl.StringVar(&f.caller, "caller", localCaller, "`NAME` of the caller")
	fl.StringVar(&f.upstream, "upstream", "", "`NAME` of the server (default: the only upstream, or \"server\")")
	fl.StringArrayVar(&f.seen, "seen", nil, "`FILE` that the agent has read before, JSON or text; may be repeated")
	fl.StringArrayVar(&f.typed, "typed", nil, "`TEXT` that the user typed; may be repeated")
	fl.StringVar(&f.tools, "tools", "", "`FILE` with the server's tools/list")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// explainFailed lists what is wrong with files one a line, for editors to find.
func explainFailed(stderr io.Writer, err error) error {
	le, ok := errors.AsType[*filesError](err)
	if !ok {
		return failed(err)
	}
	n := printProblems(stderr, le.err)
	return failed(fmt.Errorf("%s; nothing is loaded", count(n, "problem")))
}

// filesError is what is wrong with files that were loaded.
type filesError struct{ err error }

func (e *filesError) Error() string { return e.err.Error() }

// explainCall answers what the flags ask. changed says which were given.
func explainCall(ctx context.Context, f explainFlags, changed func(string) bool, stdin io.Reader) (explain.Report, error) {
	var none explain.Report
	if f.args == "-" && f.call == "-" {
		return none, errors.New("--args - and --call - cannot both read standard input")
	}
	own, err := ownFiles(f.config, f.contracts, "")
	if err != nil {
		return none, err
	}
	opt := loadOptions()
	opt.Contracts = own.contracts()
	cfg, _, err := loadFiles(opt, own.config, f.contracts)
	if err != nil {
		return none, &filesError{err}
	}
	q := explain.Question{Caller: f.caller, Limits: describeLimits(cfg)}
	if q.Call, err = askedCall(f, changed, cfg, stdin); err != nil {
		return none, err
	}
	if q.Policy, err = policyFor(cfg, f.policy, f.caller); err != nil {
		return none, err
	}
	before := asked{seen: make([]sallyport.Output, 0, len(f.seen)), typed: f.typed}
	if f.tools != "" {
		if before.tools, err = readTools(f.tools, q.Call.Upstream); err != nil {
			return none, err
		}
		before.listed = true
	}
	for _, file := range f.seen {
		out, err := seenOutput(file, q.Call.Upstream)
		if err != nil {
			return none, err
		}
		before.seen = append(before.seen, out)
	}
	if cfg.Audit.Path != "" {
		opt.Contracts.Deny = append(opt.Contracts.Deny, cfg.Audit.Path)
	}
	if own.config == "" {
		q.Notes = append(q.Notes, "there is no configuration: this is the built-in policy")
	}
	return explainAsked(ctx, cfg, opt.Contracts, sallyport.Options{
		Resolve: osresolve.Resolve, Trusted: trustList(own, slog.New(slog.DiscardHandler)),
	}, before, q)
}

func describeLimits(cfg *config.Config) map[string]explain.RateLimit {
	limits := make(map[string]explain.RateLimit, len(cfg.RateLimits))
	for name, l := range cfg.RateLimits {
		limits[name] = explain.Limit(l.Rate, l.Burst, l.Per, l.Global)
	}
	return limits
}

// seenOutput reads a file as the output of a tool that has the file's name.
func seenOutput(file, upstream string) (sallyport.Output, error) {
	out := sallyport.Output{Upstream: upstream, Tool: filepath.Base(file)}
	data, err := config.ReadFile(file)
	if err != nil {
		return out, err
	}
	if out.Value, err = doc.Parse(data, doc.Limits{}); err == nil {
		return out, nil
	}
	if out.Value, err = doc.FromGo(string(data)); err != nil {
		return out, fmt.Errorf("%s: neither JSON nor text in UTF-8", quote.Text(file, 1000))
	}
	return out, nil
}

// readInput reads a file, or standard input for "-".
func readInput(file string, stdin io.Reader) ([]byte, error) {
	if file != "-" {
		return config.ReadFile(file)
	}
	const most = 4 << 20
	data, err := io.ReadAll(io.LimitReader(stdin, most+1))
	switch {
	case err != nil && !errors.Is(err, os.ErrClosed):
		return nil, fmt.Errorf("standard input: %w", err)
	case len(data) > most:
		return nil, fmt.Errorf("standard input: more than %d bytes", most)
	}
	return data, nil
}
