package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/gateway"
	"github.com/sallyport-dev/sallyport/internal/lint"
	"github.com/sallyport-dev/sallyport/internal/token"
	"github.com/sallyport-dev/sallyport/policy"
)

// fleet is what one configuration makes of a gateway: it exists whole or not at all, and
// nothing of it has started. A reload makes another one.
type fleet struct {
	cfg       *config.Config
	own       own
	contracts contract.Options // how the configuration's contracts are read
	auditPath string           // "": no log
	options   gateway.Options
	kept      map[string]kept              // upstreams, by name
	engines   map[string]*sallyport.Engine // by policy
	trusting  map[string]*sallyport.Engine // the same with the user's own trust list
	dryRun    map[string]bool              // by policy
	tokens    []token.Entry
}

// fleetOptions are what stands in no file.
type fleetOptions struct {
	config     string // the file; "": the default one
	audit      string // --audit
	doubts     func(config.Server) (*sallyport.Doubts, error)
	dryRun     bool
	log        *slog.Logger
	before     *fleet // nil at the start
	maxMessage int
	load       func(config.Options, string) (*config.Config, error) // nil: the file, which has to be there
	http       bool                                                 // callers are others than the user
	ownFiles   []string                                             // more of Sallyport's own, that no tool may write
}

// loadFleet reads the configuration and makes everything of it. An error leaves nothing.
func loadFleet(o fleetOptions) (*fleet, error) {
	f, err := readFleet(o)
	if err != nil {
		return nil, err
	}
	if err := f.ready(); err != nil {
		return nil, err
	}
	if err := f.addUpstreams(o); err != nil {
		return nil, err
	}
	if err := f.addEngines(o); err != nil {
		f.closeNew(o.before)
		return nil, err
	}
	return f, nil
}

// readFleet reads the files.
func readFleet(o fleetOptions) (*fleet, error) {
	own, err := ownFiles(o.config, "", "")
	if err != nil {
		return nil, err
	}
	own.deny = append(own.deny, o.ownFiles...)
	f := &fleet{own: own, kept: map[string]kept{}, engines: map[string]*sallyport.Engine{}, trusting: map[string]*sallyport.Engine{}, dryRun: map[string]bool{}}
	f.contracts = own.contracts()
	if o.load == nil {
		o.load = loadFile
	}
	if f.cfg, err = o.load(config.Options{Lookup: os.LookupEnv, Contracts: f.contracts}, own.config); err != nil {
		return nil, err
	}
	switch o.audit {
	case "-":
		f.auditPath = "-"
	default:
		if f.auditPath, err = auditPath(wrapFlags{audit: o.audit}, f.cfg, own); err != nil {
			return nil, err
		}
		if f.auditPath != "" {
			f.contracts.Deny = append(slices.Clip(f.contracts.Deny), f.auditPath)
		}
	}
	f.contracts.Deny = append(slices.Clip(f.contracts.Deny), checkpointFiles(f.cfg.Audit.Checkpoints)...)
	return f, nil
}

func loadFile(opt config.Options, file string) (*config.Config, error) {
	if file == "" {
		return nil, errors.New("there is no configuration in your configuration directory; name one with -c FILE")
	}
	cfg, _, err := loadFiles(opt, file, "")
	return cfg, err
}

// ready reports what keeps a gateway from running by a configuration that loads.
func (f *fleet) ready() error {
	if len(f.cfg.Upstreams) == 0 {
		return fmt.Errorf("%s: there is no upstream: write the servers that the gateway fronts under upstreams", f.cfg.File)
	}
	return unreachableRules(f.cfg)
}

func (f *fleet) finish(o fleetOptions) {
	s := f.cfg.Server
	f.options.Name, f.options.Version, f.options.Instructions = s.Name, programVersion(), s.Instructions
	f.options.Separator, f.options.MaxToolName = s.Separator, s.MaxToolName
	f.options.Namespace = map[config.Namespace]gateway.Namespace{
		config.NamespaceAuto: gateway.Auto, config.NamespaceAlways: gateway.Always, config.NamespaceNever: gateway.Never,
	}[s.Namespace]
	f.options.AuditContinue, f.options.Log = f.cfg.Audit.ContinueOnFailed, o.log
	f.options.Drain, f.options.MaxMessage = s.DrainTimeout, o.maxMessage
}

// unreachableRules finds rules that name tools as their server does, where the client sees
// them with a prefix: such a rule would silently match nothing.
func unreachableRules(cfg *config.Config) error {
	var errs []error
	for _, f := range lint.Check(cfg, lint.Options{}).Findings {
		if f.Code == "SP111" {
			errs = append(errs, fmt.Errorf("%s: %s; %s", f.Place(), f.Text, f.Hint))
		}
	}
	return errors.Join(errs...)
}

// sayDry says loudly what is not enforced.
func (f *fleet) sayDry(log *slog.Logger, policies []*policy.Policy) {
	for _, pol := range policies {
		switch {
		case f.dryRun[pol.Name()]:
			log.Warn("DRY-RUN: NOTHING IS ENFORCED, verdicts are only recorded", "policy", pol.Name())
		case pol.Mode() == policy.DryRun:
			log.Warn("DRY-RUN: THE RULES AND RATE LIMITS OF THIS POLICY ARE NOT ENFORCED; pins, budgets, paths and the flow are", "policy", pol.Name())
		}
	}
}
