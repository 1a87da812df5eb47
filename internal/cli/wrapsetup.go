package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/confine/osresolve"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/lint"
	"github.com/sallyport-dev/sallyport/internal/pins"
	"github.com/sallyport-dev/sallyport/internal/relay"
	"github.com/sallyport-dev/sallyport/policy"
)

// wrapSetup is everything of a wrap that exists before the server is started.
type wrapSetup struct {
	relay  relay.Options
	log    *audit.Log
	shared *sharedSession
	said   *slog.Logger
}

func (s *wrapSetup) close() {
	closeDesk(s.relay.Desk, s.said)
	s.shared.close()
	if s.log != nil {
		s.log.Close()
	}
}

// prepareWrap loads the configuration and opens the log. An error leaves nothing open.
func prepareWrap(f wrapFlags, command []string, log *slog.Logger) (*wrapSetup, error) {
	own, err := ownFiles(f.config, f.contracts, f.audit)
	if err != nil {
		return nil, err
	}
	contracts := own.contracts()
	cfg, _, err := loadFiles(config.Options{Lookup: os.LookupEnv, Contracts: contracts}, own.config, f.contracts)
	if err != nil {
		return nil, err
	}
	pol, err := cfg.Policy(f.policy)
	if err != nil {
		return nil, err
	}
	auditPath, err := auditPath(f, cfg, own)
	if err != nil {
		return nil, err
	}
	if auditPath != "" {
		contracts.Deny = append(contracts.Deny, auditPath)
	}
	contracts.Deny = append(contracts.Deny, checkpointFiles(cfg.Audit.Checkpoints)...)
	roots, err := writeRoots(command, contracts, log)
	if err != nil {
		return nil, err
	}
	shared, err := openShared(filepath.Dir(own.stateLog), own.noState, log)
	if err != nil {
		return nil, err
	}
	opened := false
	defer func() {
		if !opened {
			shared.close()
		}
	}()
	dryRun := f.dryRun || dryByFile(cfg, pol)
	engine, err := newEngine(cfg, pol, contracts, sallyport.Options{
		DryRun: dryRun, WriteRoots: roots, Resolve: osresolve.Resolve, Store: shared.engineStore(),
		Trusted: trustList(own, log),
	})
	if err != nil {
		return nil, err
	}
	id := newSessionID()
	scope := shared.options(id)
	session, err := engine.Session(scope)
	if err != nil {
		return nil, fmt.Errorf("what this client's other servers have shown cannot be read: %w; restart the client for a new session", err)
	}
	s := &wrapSetup{shared: shared, said: log, relay: relay.Options{
		Session: session, Policy: pol, DryRun: dryRun, Caller: localCaller, SessionID: id, Upstream: f.name,
		Decides: decides(cfg, pol), AskClient: !cfg.Approvals.AskCode, AuditContinue: cfg.Audit.ContinueOnFailed,
	}}
	if s.relay.Pins, err = openPins(command, f.name, own); err != nil {
		return nil, err
	}
	if auditPath != "" {
		if s.log, err = openLog(auditPath, cfg.Audit, log); err != nil {
			return nil, err
		}
		s.relay.Audit = s.log
	}
	if s.relay.Desk, err = wrapDesk(own, cfg, id, scope.Doubt, s.log, log); err != nil {
		return nil, err
	}
	sayStart(log, f, cfg, pol, dryRun, auditPath)
	opened = true
	return s, nil
}

// own names Sallyport's own files: no write prefix contains them.
type own struct {
	config   string // the configuration to read, "" for none
	stateLog string // default log
	noState  error  // why there is none
	deny     []string
	clients  []string // configurations of MCP clients, those that are not there yet too
}

// contracts are the options with which contracts are read, so that no prefix holds what is
// not for tools to write.
func (o own) contracts() contract.Options {
	opt := loadOptions().Contracts
	opt.Deny, opt.Clients.Files = slices.Clip(o.deny), o.clients
	return opt
}

// ownFiles finds them; the names are those of flags, "" for none.
func ownFiles(configFile, contractsFile, auditFile string) (own, error) {
	var o own
	if o.stateLog, o.noState = audit.DefaultPath(); o.noState == nil {
		o.deny = append(o.deny, filepath.Dir(o.stateLog))
	}
	if dir, err := os.UserConfigDir(); err == nil && filepath.IsAbs(dir) {
		o.deny = append(o.deny, filepath.Join(dir, "sallyport"))
	}
	o.clients = clientFiles()
	if o.config = configFile; o.config == "" {
		var err error
		if o.config, err = defaultConfigFile(); err != nil {
			return o, err
		}
	}
	for _, p := range []string{o.config, contractsFile, auditFile} {
		if p == "" {
			continue
		}
		abs, err := filepath.Abs(p)
		if err != nil {
			return o, err
		}
		o.deny = append(o.deny, abs)
	}
	return o, nil
}

// auditPath is where the log is; "" for none.
func auditPath(f wrapFlags, cfg *config.Config, o own) (string, error) {
	switch {
	case f.audit != "":
		return filepath.Abs(f.audit)
	case cfg.Audit.Off:
		return "", nil
	case cfg.Audit.Path != "":
		return cfg.Audit.Path, nil
	default:
		return o.stateLog, o.noState
	}
}

// openPins opens the pins of the server that command starts. They are always kept: without
// them a server could change what its tools mean between two sessions.
func openPins(command []string, name string, o own) (*pins.Book, error) {
	store, err := pinStore(o)
	if err != nil {
		return nil, err
	}
	return store.Book(pins.Command(command), name)
}

// pinStore is where pins are kept: beside the default log.
func pinStore(o own) (*pins.Store, error) {
	if o.noState != nil {
		return nil, errors.New("there is no directory to keep pins in: set $XDG_STATE_HOME or $HOME to an absolute path (on Windows %LocalAppData%)")
	}
	store, err := pins.Open(filepath.Join(filepath.Dir(o.stateLog), "pins"))
	if err != nil {
		return nil, err
	}
	store.Program = typedName()
	return store, nil
}

func openLog(path string, a config.Audit, said *slog.Logger) (*audit.Log, error) {
	opt := auditOptions(a)
	opt.Warn = func(what string, err error) { said.Error(what, "log", path, "error", err) }
	var err error
	if opt.Checkpoints, err = checkpointOptions(a.Checkpoints); err != nil {
		return nil, err
	}
	if c := opt.Checkpoints; c != nil {
		said.Info("signing checkpoints of the log", "to", c.Path, "key", c.Key.Verifier())
	}
	log, err := audit.Open(path, opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return log, nil
}

func auditOptions(a config.Audit) audit.Options {
	r := audit.Redaction{KeyPatterns: a.KeyPatterns, Selectors: a.Redact, MaxValue: a.MaxValue, DropArguments: a.DropArguments}
	if key := os.Getenv("SALLYPORT_AUDIT_KEY"); key != "" {
		r.Key = []byte(key)
	}
	return audit.Options{Redaction: r, NoChain: a.NoChain, Sync: a.Sync, Rotate: a.Rotate}
}

// writeRoots are the directories that the server's own command line names by
// themselves: the user gave them to the server. A directory behind a flag may be the
// server's own, such as that of its code. The root and the home directory confine nothing.
func writeRoots(command []string, opt contract.Options, log *slog.Logger) (*confine.Root, error) {
	home, _ := os.UserHomeDir()
	var dirs []string
	for i, a := range command[1:] {
		if !filepath.IsAbs(a) || strings.HasPrefix(command[i], "-") && command[i] != "--" {
			continue
		}
		a = filepath.Clean(a)
		if info, err := os.Stat(a); err != nil || !info.IsDir() {
			continue
		}
		if a == filepath.Clean(home) || filepath.Dir(a) == a {
			log.Warn("this directory is too wide to confine writes to: name narrower ones, or set allowed_path_prefixes", "directory", a)
			continue
		}
		dirs = append(dirs, a)
	}
	if len(dirs) == 0 {
		return nil, nil
	}
	root, err := confine.NewRoot(opt.Style, dirs, "", opt.Deny)
	if err == nil {
		root, err = root.WithClients(opt.Clients)
	}
	if err != nil {
		return nil, fmt.Errorf("the directories on the server's command line: %w", err)
	}
	log.Info("contracts without prefixes of their own write only here", "directories", strings.Join(dirs, ", "))
	return root, nil
}

func sayStart(log *slog.Logger, f wrapFlags, cfg *config.Config, pol *policy.Policy, dryRun bool, auditPath string) {
	if dryRun {
		log.Warn("DRY-RUN: NOTHING IS ENFORCED, verdicts are only recorded")
	} else if pol.Mode() == policy.DryRun {
		log.Warn("DRY-RUN: THE RULES AND RATE LIMITS OF THIS POLICY ARE NOT ENFORCED; pins, budgets, paths and the flow are", "policy", pol.Name())
	}
	if len(cfg.Policies) == 0 {
		log.Info("no policy is configured: every tool, resource and prompt is allowed; packs, the fallback contracts and the flow check are what guards")
	}
	for _, f := range lint.Check(cfg, lint.Options{Now: time.Now()}).Findings {
		if f.Severity >= lint.Warning && f.Code != "SP111" { // one server has no prefix
			log.Warn(f.Text, "code", f.Code, "at", f.Place())
		}
	}
	for _, r := range pol.Rules() {
		if !r.CoversUpstream(f.name) {
			log.Warn("this rule does not cover the wrapped server", "rule", r.Name, "at", r.Source, "server", f.name)
		}
	}
	for _, section := range []string{"server", "upstreams", "tokens"} {
		if len(cfg.Sources) > 0 && cfg.Sources[0].Root.Get(section) != nil {
			log.Info("this section of the configuration is not used: wrap fronts the one server of its command line, and its caller is always local; sallyport run uses it", "section", section)
		}
	}
	if auditPath == "" {
		auditPath = "none"
	}
	log.Info("wrapping", "server", f.name, "policy", pol.Name(), "configuration", cfg.File, "audit", auditPath)
}
