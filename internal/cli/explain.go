package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/confine/osresolve"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/explain"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/policy"
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
asked about: where does a destination come from?

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

// asked is what has happened before the call that is asked about.
type asked struct {
	tools  []contract.Tool // what the server lists, if listed
	listed bool
	seen   []sallyport.Output
	typed  []string
}

// explainAsked answers a question in a session of its own.
func explainAsked(ctx context.Context, cfg *config.Config, contracts contract.Options, more sallyport.Options, before asked, q explain.Question) (explain.Report, error) {
	var none explain.Report
	engine, err := newEngine(cfg, q.Policy, contracts, more)
	if err != nil {
		return none, err
	}
	session, err := engine.Session(sallyport.SessionOptions{Caller: q.Caller, Doubt: "explain"})
	if err != nil {
		return none, errors.New("--caller must not be empty")
	}
	early := q.Notes
	q.Notes = nil
	tool, err := prepareSession(session, before, &q)
	if err != nil {
		return none, err
	}
	x := session.Explain(ctx, q.Call)
	if tool != nil && x.Contract == "fallback" {
		q.Notes = append(q.Notes, derivedNotes(*tool)...)
	}
	q.Notes = append(append(q.Notes, early...), explainNotes(cfg, before, q)...)
	return explain.New(x, q), nil
}

func explainNotes(cfg *config.Config, before asked, q explain.Question) []string {
	var notes []string
	if why := unknownUpstream(cfg, q.Call.Upstream); why != "" {
		notes = append(notes, why)
	}
	if dryByFile(cfg, q.Policy) {
		notes = append(notes, "mode: dry-run: nothing is enforced")
	}
	if q.Policy.Mode() == policy.DryRun {
		notes = append(notes, "the policy runs dry: what its rules and rate limits say is not enforced")
	}
	if before.listed && q.Call.Subject != policy.Tool {
		notes = append(notes, "--tools says nothing about resources and prompts")
	}
	return notes
}

func describeLimits(cfg *config.Config) map[string]explain.RateLimit {
	limits := make(map[string]explain.RateLimit, len(cfg.RateLimits))
	for name, l := range cfg.RateLimits {
		limits[name] = explain.Limit(l.Rate, l.Burst, l.Per, l.Global)
	}
	return limits
}

// prepareSession tells a new session what has happened before the call. It returns the tool
// that is called, as the list has it; nil if that does not.
func prepareSession(s *sallyport.Session, before asked, q *explain.Question) (*contract.Tool, error) {
	tool := listTools(s, before, q)
	for _, out := range before.seen {
		s.Observe(out)
	}
	for _, text := range before.typed {
		if !utf8.ValidString(text) {
			return nil, errors.New("--typed is not valid UTF-8")
		}
		s.Prompt(text)
	}
	return tool, nil
}

// listTools pins the list of tools, or takes the one tool as listed. It returns the tool
// as the list has it.
func listTools(s *sallyport.Session, before asked, q *explain.Question) *contract.Tool {
	c := q.Call
	tools := []contract.Tool{bareTool(c.Upstream, c.Name)}
	if before.listed {
		tools = before.tools
	}
	if c.Subject != policy.Tool {
		if before.listed {
			s.Pin(c.Upstream, tools)
		}
		return nil
	}
	q.Assumed = !before.listed
	for _, notice := range s.Pin(c.Upstream, tools) {
		if concerns(notice.Text, c.Upstream, c.Name, q.Assumed) {
			q.Notes = append(q.Notes, notice.Text)
		}
	}
	for i, t := range tools {
		if t.Name == c.Name && s.Listing(c.Upstream, tools[i:i+1]) {
			if q.Assumed {
				return nil
			}
			return &tools[i]
		}
	}
	q.Unlisted = true
	return nil
}

// concerns reports whether a notice about a list of tools is about the one tool, by the
// places where a notice names it: names are quoted there, so no name passes for another.
// Of an assumed list with that tool alone, what it does not hold means nothing.
func concerns(notice, upstream, tool string, assumed bool) bool {
	const ofContracts, ofPins = 80, 120 // characters of a name that are shown
	pinned := quote.Value(tool, ofPins)
	if strings.HasPrefix(notice, "tool "+pinned+" of ") {
		return true
	}
	text, ok := strings.CutPrefix(notice, "upstream "+quote.Value(upstream, ofContracts)+": ")
	if ok && strings.HasPrefix(text, "tool "+quote.Value(tool, ofContracts)+": ") {
		return true
	}
	if assumed {
		return false
	}
	for _, label := range []string{tool, upstream + "/" + tool} {
		_, rest, found := strings.Cut(text, " matches no tool: there is no "+quote.Value(label, ofContracts))
		if ok && found && (rest == "" || rest[0] == ';') {
			return true
		}
	}
	return strings.HasSuffix(notice, " names the tool "+pinned+", and "+quote.Value(upstream, ofPins)+" lists none")
}

// derivedNotes say what the contract that was derived from a tool's definition holds.
func derivedNotes(t contract.Tool) []string {
	var notes []string
	if c := contract.Fallback(t); c.Exfiltrating {
		into := "any of its arguments"
		if len(c.SinkParams) > 0 {
			params := make([]string, len(c.SinkParams))
			for i, p := range c.SinkParams {
				params[i] = p.String()
			}
			into = strings.Join(params, ", ")
		}
		notes = append(notes, fmt.Sprintf("by its schema %s sends to what stands in %s", quote.Value(t.Name, 0), into))
	}
	alone, err := contract.NewSet(nil, contract.Options{Packs: contract.PackChoice{None: true}})
	if err != nil {
		return notes
	}
	for _, n := range alone.Bind(t.Upstream, []contract.Tool{t}) {
		if strings.Contains(n.Text, ": nothing confines where these tools write") {
			notes = append(notes, "nothing confines where it writes, if it writes files; give it write_params")
		}
	}
	return notes
}

// bareTool is a tool of which only the name is known.
func bareTool(upstream, name string) contract.Tool {
	definition, err := doc.FromGo(map[string]any{"name": name})
	if err != nil { // not UTF-8: no server can list it, and no client call it
		definition = doc.Value{}
	}
	return contract.Tool{Upstream: upstream, Name: name, Definition: definition}
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
