package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/relay"
	"github.com/sallyport-dev/sallyport/internal/stdio"
)

const exitServerEnded = 5

type wrapFlags struct {
	name, config, policy, contracts, audit string
	url                                    string
	headers                                []string
	dryRun, verbose                        bool
	maxMessage                             int
}

func newWrap() *cobra.Command {
	var f wrapFlags
	cmd := &cobra.Command{
		Use:   "wrap [flags] {--url URL | -- COMMAND [ARGS…]}",
		Short: "Front one MCP server over stdio",
		Long: `Start the MCP server COMMAND, or reach the one at URL, and stand between it and the client that launched this
command: every call is decided, recorded, and forwarded or refused.

Without -c the configuration is sallyport/sallyport.yaml in your own configuration
directory, if it exists. The working directory is never looked at: the agent may be able
to write there. Without a configuration the built-in policy allows every tool, and the
shipped packs, the fallback contracts and the flow check are what guards.

A contract that names write parameters and no prefixes (as the filesystem pack's do) lets
them write in the directories that COMMAND's own arguments name, and nowhere else.

What COMMAND lists the first time is pinned, for each set of capabilities that a client has.
A tool that is new or changed later is refused until you have accepted it with
"sallyport pins accept". Without a place for pins, your state directory, nothing starts.

What needs a person's yes is asked through the client where that can ask, and is refused with a
code for "sallyport approve" where it cannot.

A server at a URL is on another machine: paths are compared as they are written, and where
it may write stands in no command line. In --header, ${VARIABLE} keeps a secret out of the
client's configuration and of the list of processes.

Standard output carries protocol messages only; logs go to standard error.

Exit codes: 0 the client ended, 1 cannot run, 2 the command line is wrong, 5 the server
ended first.`,
		Example: `  sallyport wrap -- npx -y @modelcontextprotocol/server-filesystem /home/me/project
  sallyport wrap -c sallyport.yaml --name mail -- node mail-server.js
  sallyport wrap --url https://forge.example/mcp --header 'Authorization: Bearer ${FORGE_TOKEN}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(f.headers) > 0 && !cmd.Flags().Changed("url"):
				return errors.New("--header is for a server at a --url")
			case cmd.Flags().Changed("url") && len(args) > 0:
				return errors.New("give a --url or a command, not both")
			case f.maxMessage < 1<<10 || f.maxMessage > 1<<30:
				return errors.New("--max-message has to lie between 1024 bytes and 1 GiB (1073741824)")
			case cmd.Flags().Changed("url"):
				return wrapURL(f, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			if len(args) == 0 || cmd.ArgsLenAtDash() != 0 {
				return errors.New("put the server's command after --, as in: sallyport wrap -- COMMAND ARGS…")
			}
			return wrap(f, args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.name, "name", "", "name of the server in rules, contracts and the log (default: from COMMAND)")
	fl.StringVar(&f.url, "url", "", "`URL` of a server that is reached over HTTP")
	fl.StringArrayVar(&f.headers, "header", nil, "`'NAME: VALUE'` sent to it with every request; may be repeated")
	fl.StringVarP(&f.config, "config", "c", "", "configuration file")
	fl.StringVar(&f.policy, "policy", "", "policy to use, where the configuration has several")
	fl.StringVar(&f.contracts, "contracts", "", "file of contracts, added to the configuration's")
	fl.StringVar(&f.audit, "audit", "", "audit log (default: audit.jsonl in your state directory)")
	fl.BoolVar(&f.dryRun, "dry-run", false, "decide and record, enforce nothing")
	fl.IntVar(&f.maxMessage, "max-message", stdio.DefaultMaxMessage, "largest message in bytes")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "log more")
	return cmd
}

func wrap(f wrapFlags, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	level := slog.LevelInfo
	if f.verbose {
		level = slog.LevelDebug
	}
	// From here on nothing waits for standard error.
	said := newAsyncWriter(stderr)
	defer said.Close()
	stderr = said
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	if f.name == "" {
		f.name = cmp.Or(serverName(command), "server")
	}
	setup, err := prepareWrap(f, command, log)
	if err != nil {
		tellClient(err, stdin, stdout)
		return failed(err)
	}
	defer setup.close()

	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	catchBrokenPipe()

	shownName := quote.Text(f.name, 64)
	child, err := stdio.Start(stdio.Command{
		Path: command[0], Args: command[1:], Env: serverEnv(os.Environ()), Log: log,
		Stderr: func(line string) { fmt.Fprintf(stderr, "[%s] %s\n", shownName, line) },
	})
	if err != nil {
		tellClient(err, stdin, stdout)
		return failed(err)
	}
	opt := relay.PipeOptions{Options: setup.relay}
	opt.ClientIn, opt.ClientOut = stdin, stdout
	opt.ServerIn, opt.ServerOut = child.In, child.Out
	opt.ClientGone = stdio.ClosedByPeer(stdin)
	opt.HowServerEnded = func() string { return howEnded(child) }
	opt.Log, opt.MaxMessage = log, f.maxMessage
	ending := relay.NewPipes(opt).Run(ctx)
	child.Stop(context.Background())
	if ending == relay.ServerEnded {
		return &exitError{code: exitServerEnded} // the relay has said how
	}
	return nil
}

// stopSignals end the relay in good order. A SIGHUP that we were started to ignore (nohup)
// goes on being ignored.
func stopSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// tellClient answers the client's first request with why there is no server: many
// clients show nothing of what stands on standard error.
func tellClient(err error, stdin io.Reader, stdout io.Writer) {
	if onTerminal(stdin) {
		return
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		frame, readErr := stdio.NewReader(stdin, 1<<20).Next()
		if readErr != nil {
			return
		}
		if m, bad := mcp.Parse(frame); bad == nil && m.Kind == mcp.Request {
			text := "[sallyport] cannot start: " + quote.Text(err.Error(), 1000)
			_ = stdio.NewWriter(stdout).Write(mcp.ErrorResponse(m.ID, mcp.CodeInternal, text, nil))
		}
	}()
	select {
	case <-told:
	case <-time.After(2 * time.Second):
	}
}

// howEnded gives a server whose output ended a moment to end itself.
func howEnded(c *stdio.Child) string {
	select {
	case <-c.Done():
		return c.State().String()
	case <-time.After(time.Second):
		return "it closed its output and goes on running"
	}
}

// serverEnv is the environment that the client would have given the server itself: ours,
// without what is meant for Sallyport.
func serverEnv(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, e := range env {
		if !strings.HasPrefix(e, "SALLYPORT_") {
			kept = append(kept, e)
		}
	}
	return kept
}

// runners start a program that one of their arguments names.
var runners = map[string]bool{
	"npx": true, "node": true, "bunx": true, "bun": true, "deno": true, "uvx": true, "uv": true,
	"python": true, "python3": true, "pipx": true, "sh": true, "bash": true, "env": true,
}

// serverName derives a name from a command: npx -y @scope/server-x gives server-x.
func serverName(command []string) string {
	name := stem(command[0])
	if !runners[name] {
		return name
	}
	for _, a := range command[1:] {
		if strings.HasPrefix(a, "-") || a == "run" || a == "tool" {
			continue
		}
		if s := stem(a); s != "" {
			return s
		}
		return name
	}
	return name
}

// nameless are the parts of a path that say nothing about which program it is.
var nameless = map[string]bool{
	"": true, ".": true, "..": true, "index": true, "main": true, "__main__": true, "cli": true, "server": true,
	"dist": true, "build": true, "src": true, "lib": true, "bin": true, "out": true,
}

// stem is the last telling part of a path, without a version or an extension.
func stem(path string) string {
	parts := strings.Split(strings.ReplaceAll(path, `\`, "/"), "/")
	for _, p := range slices.Backward(parts) {
		if at := strings.LastIndexByte(p, '@'); at > 0 {
			p = p[:at] // a package's version
		}
		for _, ext := range []string{".exe", ".cmd", ".js", ".mjs", ".cjs", ".ts", ".py", ".sh"} {
			p = strings.TrimSuffix(p, ext)
		}
		if !nameless[p] {
			return p
		}
	}
	return ""
}

func newSessionID() string {
	var b [8]byte
	if _, err := io.ReadFull(rand.Reader, b[:]); err != nil {
		panic(err) // crypto/rand does not fail
	}
	return hex.EncodeToString(b[:])
}
