package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/gateway"
	"github.com/sallyport-dev/sallyport/internal/instance"
	"github.com/sallyport-dev/sallyport/internal/serve"
	"github.com/sallyport-dev/sallyport/internal/stdio"
	"github.com/sallyport-dev/sallyport/internal/token"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

type runFlags struct {
	config, policy, token, transport string
	host, path, tlsCert, tlsKey      string
	port, metricsPort                int
	insecureBind, dryRun, verbose    bool
	audit                            string
	maxMessage                       int
	signals                          chan os.Signal // for tests; nil: the system's
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run -c FILE [flags]",
		Short: "Front all servers of a configuration",
		Long: `Stand in front of the servers that the configuration names under upstreams: every call
is decided, recorded, and forwarded or refused.

Over stdio, the client starts this command and is the one caller: local, with the policy of
--policy (not needed where there is one), or who --token names, with that token's policy.

Over HTTP there are many callers. Each request carries one of the configuration's tokens as
a bearer token; without one nothing is answered but /healthz (the process lives), /readyz
(it takes calls; 503 while it ends) and where callers find out how to present a token. An
address that other machines reach needs a certificate, or --insecure-bind. The address is
logged; port 0 is one that is free.

What needs a person's yes is refused with a code for "sallyport approve", or asked through the
client: over stdio where that can, over HTTP only for a token that says ask: client.

Servers are started and reached when a caller first needs them. One that is down is
absent from the lists until it is back.

SIGHUP and "sallyport reload" read the configuration again; nothing else does. SIGTERM and
SIGINT refuse new calls and wait for the open ones, as long as server.drain_timeout says; a
second one ends at once.

Exit codes: 0 the client ended, or a signal; 1 cannot run, or calls were cut off; 2 the
command line is wrong.`,
		Example: `  sallyport run -c sallyport.yaml --policy desk
  sallyport run -c sallyport.yaml --transport http --port 8080
  sallyport run -c sallyport.yaml --transport http --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd.Flags().Changed); err != nil {
				return err
			}
			return run(f, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *runFlags) bind(fl *pflag.FlagSet) {
	fl.StringVarP(&f.config, "config", "c", "", "configuration `FILE` (default: the one in your configuration directory)")
	fl.StringVar(&f.transport, "transport", "stdio", "how clients reach the gateway: stdio or http")
	fl.StringVar(&f.policy, "policy", "", "stdio: `NAME` of the policy, where the configuration has several")
	fl.StringVar(&f.token, "token", "", "stdio: `NAME` of the token whose caller and policy it is")
	fl.StringVar(&f.host, "host", "127.0.0.1", "http: address to listen on")
	fl.IntVar(&f.port, "port", 8080, "http: port to listen on")
	fl.StringVar(&f.path, "path", "/mcp", "http: path of the endpoint")
	fl.StringVar(&f.tlsCert, "tls-cert", "", "http: certificate `FILE`, in PEM form")
	fl.StringVar(&f.tlsKey, "tls-key", "", "http: its key `FILE`")
	fl.BoolVar(&f.insecureBind, "insecure-bind", false, "http: let other machines in without TLS")
	fl.IntVar(&f.metricsPort, "metrics-port", 0, "http: port on 127.0.0.1 where counts are served as Prometheus reads them (default: none)")
	fl.StringVar(&f.audit, "audit", "", "audit log, - for standard output (http; default: the configuration's, else audit.jsonl in your state directory)")
	fl.BoolVar(&f.dryRun, "dry-run", false, "decide and record, enforce nothing")
	fl.IntVar(&f.maxMessage, "max-message", stdio.DefaultMaxMessage, "largest message of a server, and of a client over stdio, in bytes")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "log more")
}

// check finds flags that contradict each other: one that would be passed over may be
// meant to guard.
func (f *runFlags) check(given func(string) bool) error {
	of := map[string][]string{
		"stdio": {"policy", "token"},
		"http":  {"host", "port", "path", "tls-cert", "tls-key", "insecure-bind", "metrics-port"},
	}
	other := map[string]string{"stdio": "http", "http": "stdio"}[f.transport]
	if other == "" {
		return errors.New("--transport is stdio or http")
	}
	for _, name := range of[other] {
		if given(name) {
			return fmt.Errorf("--%s is for --transport %s", name, other)
		}
	}
	switch {
	case f.policy != "" && f.token != "":
		return errors.New("give --policy or --token, not both: a token has its policy")
	case f.audit == "-" && f.transport == "stdio":
		return errors.New("--audit - is for --transport http: over stdio, standard output is the protocol")
	case f.port < 0 || f.port > 65535:
		return errors.New("--port has to lie between 0 and 65535")
	case f.metricsPort < 0 || f.metricsPort > 65535:
		return errors.New("--metrics-port has to lie between 1 and 65535; 0 is none")
	case (f.tlsCert == "") != (f.tlsKey == ""):
		return errors.New("--tls-cert and --tls-key go together")
	case f.maxMessage < 1<<10 || f.maxMessage > 1<<30:
		return errors.New("--max-message has to lie between 1024 bytes and 1 GiB (1073741824)")
	}
	return serve.CheckPath(f.path)
}

// running is a gateway that runs.
type running struct {
	flags    runFlags
	log      *slog.Logger
	gateway  *gateway.Gateway
	fleet    *fleet
	record   *audit.Log // nil: none
	instance *instance.Instance
	doubts   *sallyport.Doubts
	shared   *sharedSession // over stdio
	server   *serve.Server  // over HTTP
	cert     *serve.Certificate
	tokens   *token.Table
	hurry    atomic.Bool        // somebody does not want to wait
	retired  []*upstream.Server // that reloads have replaced

	// Under wrap --url: its flags, and what gives the configuration.
	wrapped *wrapFlags
	load    func(config.Options, string) (*config.Config, error)
}

func run(f runFlags, stdin io.Reader, stdout, stderr io.Writer) error {
	return (&running{flags: f, shared: &sharedSession{}}).start(stdin, stdout, stderr)
}

// start runs it with a log on standard error, for which nothing waits.
func (r *running) start(stdin io.Reader, stdout, stderr io.Writer) error {
	level := slog.LevelInfo
	if r.flags.verbose {
		level = slog.LevelDebug
	}
	said := newAsyncWriter(stderr)
	defer said.Close()
	r.log = slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: level}))
	return r.main(stdin, stdout)
}

// main runs the gateway until it is told to stop.
func (r *running) main(stdin io.Reader, stdout io.Writer) error {
	fail := func(err error) error {
		if r.flags.transport == "stdio" {
			tellClient(err, stdin, stdout)
		}
		return failed(err)
	}
	catchBrokenPipe()
	signals := r.flags.signals
	switch {
	case signals != nil:
	case r.wrapped == nil:
		signals = make(chan os.Signal, 2)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM) // SIGHUP is a reload
	default:
		signals = make(chan os.Signal, 2)
		signal.Notify(signals, stopSignals()...)
	}
	defer signal.Stop(signals)

	defer r.close()
	if err := r.prepare(stdout); err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if r.flags.transport == "http" {
		return r.serveHTTP(ctx, signals)
	}
	return r.serveStdio(ctx, signals, stdin, stdout)
}

// prepare makes everything that has to exist before anybody is served.
func (r *running) prepare(stdout io.Writer) (err error) {
	if r.fleet, err = loadFleet(r.fleetOptions(nil)); err != nil {
		return err
	}
	if r.flags.transport == "http" && len(r.fleet.tokens) == 0 {
		return fmt.Errorf("%s: there are no tokens, and nobody may call without one: make one with sallyport token new", r.fleet.cfg.File)
	}
	switch r.fleet.auditPath {
	case "":
	case "-":
		if r.fleet.cfg.Audit.Checkpoints != nil {
			r.log.Warn("no checkpoints are made: a log on standard output begins anew with each start, and whoever reads it keeps it")
		}
		r.record = audit.Stream(stdout, auditOptions(r.fleet.cfg.Audit))
	default:
		if r.record, err = openLog(r.fleet.auditPath, r.fleet.cfg.Audit, r.log); err != nil {
			return err
		}
	}
	r.fleet.options.Audit = r.record
	if r.gateway, err = gateway.New(r.fleet.options); err != nil {
		return err
	}
	if r.wrapped == nil {
		dir := filepath.Join(filepath.Dir(r.fleet.own.stateLog), "gateways")
		if r.instance, err = instance.Register(dir, r.configFile(), r.flags.transport); err != nil {
			return fmt.Errorf("the place where sallyport reload finds this gateway: %w", err)
		}
	}
	return r.recordConfig("start: configuration "+r.fleet.cfg.Digest, "")
}

// maxScopes is how many callers there may be whose doubt is kept: as many as a
// configuration can have tokens, and some that reloads have taken away.
const maxScopes = 20_000

// openDoubts opens what calls have in common, once: reloads change nothing of it. Over stdio
// it is shared with the client's other processes; over HTTP it lives in this one.
func (r *running) openDoubts(s config.Server) (*sallyport.Doubts, error) {
	if r.doubts != nil {
		return r.doubts, nil
	}
	own, err := ownFiles(r.flags.config, "", "")
	if err != nil {
		return nil, err
	}
	opt := sallyport.DoubtOptions{SessionIdle: s.SessionIdle, MaxScopes: maxScopes}
	if r.flags.transport == "stdio" {
		if r.shared, err = openShared(filepath.Dir(own.stateLog), own.noState, r.log); err != nil {
			r.shared = &sharedSession{}
			return nil, err
		}
		opt.Store = r.shared.engineStore()
	}
	r.doubts = sallyport.NewDoubts(opt)
	return r.doubts, nil
}

func (r *running) fleetOptions(before *fleet) fleetOptions {
	o := fleetOptions{
		config: r.flags.config, audit: r.flags.audit, doubts: r.openDoubts, dryRun: r.flags.dryRun, log: r.log,
		before: before, maxMessage: r.flags.maxMessage, load: r.load, http: r.flags.transport == "http",
	}
	files := []string{r.flags.tlsCert, r.flags.tlsKey}
	if r.wrapped != nil {
		files = append(files, r.wrapped.contracts)
	}
	for _, file := range files {
		if abs, err := filepath.Abs(file); err == nil && file != "" {
			o.ownFiles = append(o.ownFiles, abs)
		}
	}
	return o
}

func (r *running) configFile() string {
	if abs, err := filepath.Abs(r.fleet.own.config); err == nil {
		return abs
	}
	return r.fleet.own.config
}

// recordConfig writes what became of the configuration into the log. What cannot be
// recorded does not hold, unless the configuration says otherwise.
func (r *running) recordConfig(detail, outcome string) error {
	if r.record == nil {
		return nil
	}
	_, err := r.record.Append(audit.Record{Event: "config", Target: r.fleet.cfg.File, Detail: detail, Outcome: outcome})
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", r.record.Path(), err)
	if r.fleet.cfg.Audit.ContinueOnFailed {
		r.log.Error("the configuration could not be recorded", "error", err)
		return nil
	}
	return err
}

// closing is what the upstreams get to end by themselves.
const closing = 10 * time.Second

func (r *running) close() {
	wait := closing
	if r.hurry.Load() {
		wait = 0 // what is left is killed
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if r.gateway != nil {
		_ = r.gateway.Close(ctx)
	}
	for _, s := range r.retired {
		_ = s.Close(ctx)
	}
	if r.fleet != nil {
		r.fleet.closeNew(nil)
	}
	if r.instance != nil {
		r.instance.Close()
	}
	r.shared.close()
	if r.record != nil {
		r.record.Close()
	}
}

// closeServer ends an upstream in the background of everything else.
func closeServer(s *upstream.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	_ = s.Close(ctx)
}

// upstreamNames are for the log.
func (f *fleet) upstreamNames() string {
	names := make([]string, len(f.cfg.Upstreams))
	for i, u := range f.cfg.Upstreams {
		names[i] = u.Name
	}
	return strings.Join(names, ", ")
}
