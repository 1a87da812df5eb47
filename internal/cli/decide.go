package cli

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/confine/osresolve"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/decide"
	"github.com/sallyport-dev/sallyport/policy"
)

type decideFlags struct{ config, contracts, policy string }

func newDecide() *cobra.Command {
	var f decideFlags
	cmd := &cobra.Command{
		Use:   "decide [-c FILE] [flags]",
		Short: "Decide calls for another program: JSON lines in, decisions out",
		Long: `Read messages from standard input, one JSON object a line, and write one line for each
call: the decision that wrap would have taken, with its evidence. The program runs the call
or does not; decide runs nothing. docs/decide.md describes every message.

  {"op":"tools","upstream":U,"tools":[DEFINITION…]}    as in the server's tools/list
  {"op":"session","session":S,"caller":C}              caller: default local
  {"op":"prompt","session":S,"text":…}                 what the user typed
  {"op":"call","session":S,"id":I,"upstream":U,"tool":T,"arguments":{…}}
                                                       or resource: URI, prompt: NAME
  {"op":"result","session":S,"id":I,"result":{…}}      of tools/call, before the agent sees it
  {"op":"answer","session":S,"id":I,"approve":true}    a human's, to a verdict of ask
  {"op":"end","session":S}

A call and an answer get one line each:
  {"id":I,"verdict":"allow|ask|deny","check":…,"rule":…,"reason":…,"evidence":[…],
   "session":S,"call":N,"runs":true|false,…}
A call runs if runs is true; it counts as started then. A line that is refused gets
{"error":…,"line":N} with its session and id, and the stream goes on. Nothing else is
written to standard output.

Without -c the configuration in your own configuration directory is read, as by wrap. The
policy is that of --policy, else that of the token whose name the caller has, else the only
one. Verdicts are recorded if the configuration has audit.path. Write prefixes that wrap
takes from a server's command line are not known here.

Exit codes: 0 the input ended, 1 cannot run or write, 2 the command line is wrong.`,
		Example: `  sallyport decide -c sallyport.yaml <calls.jsonl`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDecide(cmd, f, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.config, "config", "c", "", "configuration `FILE`")
	fl.StringVar(&f.contracts, "contracts", "", "`FILE` of contracts, added to the configuration's")
	fl.StringVar(&f.policy, "policy", "", "`POLICY` of every caller (default: that of the caller's token, or the only one)")
	return cmd
}

func runDecide(cmd *cobra.Command, f decideFlags, stdin io.Reader, stdout, stderr io.Writer) error {
	own, err := ownFiles(f.config, f.contracts, "")
	if err != nil {
		return failed(err)
	}
	contracts := own.contracts()
	cfg, _, err := loadFiles(config.Options{Lookup: os.LookupEnv, Contracts: contracts}, own.config, f.contracts)
	if err != nil {
		return explainFailed(stderr, &filesError{err})
	}
	if err := canChoose(cfg, f.policy); err != nil {
		return failed(err)
	}
	// A program that does not read our log must not stop the stream.
	said := newAsyncWriter(stderr)
	defer said.Close()
	log := slog.New(slog.NewTextHandler(said, nil))
	opt := decide.Options{
		In: stdin, Out: stdout, Log: log, ID: newSessionID(), AuditContinue: cfg.Audit.ContinueOnFailed,
		Unknown: func(upstream string) string { return unknownUpstream(cfg, upstream) },
	}
	if opt.Audit, err = decideLog(cfg, log); err != nil {
		return failed(err)
	}
	if opt.Audit != nil {
		defer opt.Audit.Close()
		contracts.Deny = append(contracts.Deny, opt.Audit.Path())
	}
	opt.Engine = func(caller string, store sallyport.Store) (*sallyport.Engine, error) {
		pol, err := policyFor(cfg, f.policy, caller)
		if err != nil {
			return nil, err
		}
		return newEngine(cfg, pol, contracts, sallyport.Options{Store: store, Resolve: osresolve.Resolve})
	}
	sayDecide(log, f, cfg)
	catchBrokenPipe()
	if err := decide.Run(cmd.Context(), opt); err != nil {
		return failed(err)
	}
	return nil
}

// canChoose reports why no caller at all would have a policy.
func canChoose(cfg *config.Config, name string) error {
	_, err := cfg.Policy(name)
	if err == nil || name == "" && len(cfg.Tokens) > 0 {
		return nil
	}
	if name == "" {
		return errors.New(err.Error() + "; name one with --policy")
	}
	return err
}

// decideLog opens the log that the configuration names. The default log is wrap's: what
// is tried here must not stand in it unasked.
func decideLog(cfg *config.Config, log *slog.Logger) (*audit.Log, error) {
	if cfg.Audit.Off || cfg.Audit.Path == "" {
		log.Info("verdicts are not recorded: the configuration has no audit.path")
		return nil, nil
	}
	return openLog(cfg.Audit.Path, cfg.Audit, log)
}

func sayDecide(log *slog.Logger, f decideFlags, cfg *config.Config) {
	all := allPolicies(cfg)
	if f.policy != "" {
		if p, err := cfg.Policy(f.policy); err == nil {
			all = []*policy.Policy{p}
		}
	}
	slices.SortFunc(all, func(a, b *policy.Policy) int { return strings.Compare(a.Name(), b.Name()) })
	var names []string
	for _, p := range all {
		names = append(names, p.Name())
		switch {
		case dryByFile(cfg, p):
			log.Warn("DRY-RUN: NOTHING IS ENFORCED: runs is true whatever the verdict is", "policy", p.Name())
		case p.Mode() == policy.DryRun:
			log.Warn("DRY-RUN: THE RULES AND RATE LIMITS OF THIS POLICY ARE NOT ENFORCED; pins, budgets, paths and the flow are", "policy", p.Name())
		}
	}
	log.Info("deciding", "policies", strings.Join(names, ", "), "configuration", cfg.File, "audit", cfg.Audit.Path)
}
