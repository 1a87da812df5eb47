package cli

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/confine/osresolve"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/gateway"
	"github.com/sallyport-dev/sallyport/internal/lint"
	"github.com/sallyport-dev/sallyport/internal/pins"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/internal/token"
	"github.com/sallyport-dev/sallyport/internal/upstream"
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

// kept is an upstream and what it was made from. One that a reload does not change keeps
// its conversations.
type kept struct {
	from *config.Upstream
	gateway.Upstream
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

// addUpstreams makes those that are new or changed, and takes the others over.
func (f *fleet) addUpstreams(o fleetOptions) (err error) {
	defer func() {
		if err != nil {
			f.closeNew(o.before)
		}
	}()
	store, err := pinStore(f.own)
	if err != nil {
		return err
	}
	for _, u := range f.cfg.Upstreams {
		k := kept{from: u, Upstream: gateway.Upstream{Name: u.Name, Shared: u.Shared}}
		if o.before != nil {
			if b, ok := o.before.kept[u.Name]; ok && sameServer(b.from, u, o.before.timeout(b.from), f.timeout(u)) {
				k.Server = b.Server
			}
		}
		pinned := pins.URL(u.URL)
		if u.Transport == config.Stdio {
			pinned = pins.Command(command(u))
		}
		if k.Pins, err = store.Book(pinned, u.Name); err != nil {
			return err
		}
		if k.Server == nil {
			if k.Server, err = upstream.New(f.upstreamOptions(u, o)); err != nil {
				return fmt.Errorf("%s: the upstream %s: %w", u.Source, u.Name, err)
			}
		}
		f.kept[u.Name] = k
		f.options.Upstreams = append(f.options.Upstreams, k.Upstream)
	}
	return nil
}

func command(u *config.Upstream) []string { return append([]string{u.Command}, u.Args...) }

func (f *fleet) timeout(u *config.Upstream) time.Duration {
	return cmp.Or(u.Timeout, f.cfg.Server.UpstreamTimeout)
}

// sameServer reports that nothing differs that a conversation depends on. What a variable
// brings in counts, and so does what the gateway's own environment does.
func sameServer(a, b *config.Upstream, timeoutA, timeoutB time.Duration) bool {
	x, y := *a, *b
	x.Source, y.Source, x.Timeout, y.Timeout = "", "", timeoutA, timeoutB
	return reflect.DeepEqual(x, y)
}

// defaultIdle is after how long without a message a conversation with an upstream ends.
const defaultIdle = 15 * time.Minute

func (f *fleet) upstreamOptions(u *config.Upstream, o fleetOptions) upstream.Options {
	opt := upstream.Options{
		Name: u.Name, Timeout: f.timeout(u), StartTimeout: u.StartTimeout, Idle: cmp.Or(u.Idle, defaultIdle), MaxConns: u.MaxSessions,
		MaxMessage: o.maxMessage, Log: o.log,
	}
	if u.Transport == config.HTTP {
		opt.URL, opt.CAFile, opt.Header = u.URL, u.CAFile, http.Header{}
		for _, h := range u.Headers {
			opt.Header.Set(h.Name, h.Value)
		}
		return opt
	}
	opt.Command, opt.Args, opt.Dir = u.Command, u.Args, u.Cwd
	opt.Env = []string{} // not nil: that would be everything
	for _, name := range u.InheritEnv {
		if v, ok := os.LookupEnv(name); ok {
			opt.Env = append(opt.Env, name+"="+v)
		}
	}
	for _, s := range u.Env {
		opt.Env = append(opt.Env, s.Name+"="+s.Value)
	}
	return opt
}

// addEngines makes one engine for each policy, and says who may call.
func (f *fleet) addEngines(o fleetOptions) error {
	place, err := f.places(o.log)
	if err != nil {
		return err
	}
	doubts, err := o.doubts(f.cfg.Server)
	if err != nil {
		return err
	}
	if err := f.addAsking(o); err != nil {
		return err
	}
	trusted := trustList(f.own, o.log)
	names := []string{""}
	names = append(names, slices.Sorted(maps.Keys(f.cfg.Policies))...)
	for _, name := range names {
		pol, err := f.cfg.Policy(name)
		if err != nil {
			continue // "" where there are several: whoever wants it is told then
		}
		if f.engines[pol.Name()] != nil {
			continue
		}
		f.dryRun[pol.Name()] = o.dryRun || dryByFile(f.cfg, pol)
		with := sallyport.Options{DryRun: o.dryRun, Doubts: doubts, Place: place, Resolve: osresolve.Resolve}
		if f.engines[pol.Name()], err = newEngine(f.cfg, pol, f.contracts, with); err != nil {
			return err
		}
		with.Trusted = trusted
		if f.trusting[pol.Name()], err = newEngine(f.cfg, pol, f.contracts, with); err != nil {
			return err
		}
	}
	for _, t := range f.cfg.Tokens {
		c, err := f.caller(t.Name, t.Policy)
		if err != nil {
			return err
		}
		// The list is the user's. Whose callers others are is not known, but where the user
		// says that a person sits at the client.
		if c.AskClient = t.AskClient; !c.AskClient && o.http {
			c.Engine, c.Listed = f.engines[c.Policy.Name()], false
		}
		f.tokens = append(f.tokens, token.Entry{Name: t.Name, SHA256: t.SHA256, Expires: t.Expires, Value: c})
	}
	f.finish(o)
	return nil
}

// caller binds a name to a policy.
func (f *fleet) caller(name, policyName string) (gateway.Caller, error) {
	pol, err := f.cfg.Policy(policyName)
	if err != nil {
		return gateway.Caller{}, err
	}
	return gateway.Caller{
		Name: name, Policy: pol, Engine: f.trusting[pol.Name()], Listed: true, DryRun: f.dryRun[pol.Name()], Decides: decides(f.cfg, pol),
	}, nil
}

// tokenCaller is the caller that a token names, if the token holds.
func (f *fleet) tokenCaller(name string, now time.Time) (gateway.Caller, error) {
	var known []string
	for _, t := range f.cfg.Tokens {
		known = append(known, t.Name)
		switch {
		case t.Name != name:
		case !t.Expires.IsZero() && !now.Before(t.Expires):
			return gateway.Caller{}, fmt.Errorf("the token %s has expired", strictyaml.Quote(name))
		default:
			return f.caller(name, t.Policy)
		}
	}
	return gateway.Caller{}, fmt.Errorf("there is no token %s%s", strictyaml.Quote(name), strictyaml.Hint(name, known))
}

// places says of each upstream where it may write. A server elsewhere has another file
// system: its paths are compared as they are written.
func (f *fleet) places(log *slog.Logger) (func(string) (*confine.Root, confine.Resolver), error) {
	roots := make(map[string]*confine.Root, len(f.cfg.Upstreams))
	here := make(map[string]bool, len(f.cfg.Upstreams))
	for _, u := range f.cfg.Upstreams {
		if u.Transport != config.Stdio {
			continue
		}
		here[u.Name] = true
		var err error
		if roots[u.Name], err = writeRoots(command(u), f.contracts, log.With("upstream", u.Name)); err != nil {
			return nil, fmt.Errorf("%s: %w", u.Source, err)
		}
	}
	return func(name string) (*confine.Root, confine.Resolver) {
		if !here[name] {
			return nil, nil
		}
		return roots[name], osresolve.Resolve
	}, nil
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

// closeNew ends the upstreams that a fleet does not share with the one before: it is given
// up, or the other one is.
func (f *fleet) closeNew(before *fleet) {
	for name, k := range f.kept {
		if before == nil || before.kept[name].Server != k.Server {
			closeServer(k.Server)
		}
	}
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
