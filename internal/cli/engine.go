package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// newEngine makes the engine that decides by one policy of a configuration: wrap,
// explain and test all take it from here, so that what is explained and tested is what
// runs. more says what stands in no file: store, clock, write roots, links, and a dry
// run of this run alone.
func newEngine(cfg *config.Config, pol *policy.Policy, contracts contract.Options, more sallyport.Options) (*sallyport.Engine, error) {
	contracts.Packs = cfg.Packs
	set, err := contract.NewSet(cfg.Contracts, contracts)
	if err != nil {
		return nil, err
	}
	more.Policy, more.Contracts, more.PathStyle = pol, set, contracts.Style
	more.Flow, more.RateLimits = &cfg.Flow, rateLimits(cfg)
	more.DryRun = more.DryRun || dryByFile(cfg, pol)
	return sallyport.New(more)
}

// dryByFile reports whether the file says that nothing is enforced. A policy that says
// enforce is enforced all the same.
func dryByFile(cfg *config.Config, pol *policy.Policy) bool {
	return cfg.Mode == config.DryRun && pol.Mode() != policy.Enforce
}

func rateLimits(cfg *config.Config) map[string]sallyport.RateLimit {
	limits := make(map[string]sallyport.RateLimit, len(cfg.RateLimits))
	for name, l := range cfg.RateLimits {
		limits[name] = sallyport.RateLimit{Rate: l.PerSecond(), Burst: l.Burst, Global: l.Global}
	}
	return limits
}

const localCaller = "local" // who calls over stdio

// policyFor chooses a policy for a caller: the one that is named, else that of the token
// whose name the caller has, else the only one.
func policyFor(cfg *config.Config, name, caller string) (*policy.Policy, error) {
	if name == "" {
		for _, t := range cfg.Tokens {
			if t.Name == caller {
				name = t.Policy
			}
		}
	}
	return cfg.Policy(name)
}

// defaultUpstream is the upstream that is meant where none is named: the only one of
// the configuration, or "server" where it has none.
func defaultUpstream(cfg *config.Config) (string, error) {
	switch len(cfg.Upstreams) {
	case 0:
		return "server", nil
	case 1:
		return cfg.Upstreams[0].Name, nil
	}
	return "", errors.New("the configuration has several upstreams: say which one is meant")
}

// unknownUpstream says that the configuration has no upstream of that name, "" if it has
// or names none at all.
func unknownUpstream(cfg *config.Config, name string) string {
	known := make([]string, 0, len(cfg.Upstreams))
	for _, u := range cfg.Upstreams {
		known = append(known, u.Name)
	}
	if len(known) == 0 || slices.Contains(known, name) {
		return ""
	}
	return fmt.Sprintf("the configuration has no upstream %s%s", strictyaml.Quote(name), strictyaml.Hint(name, known))
}
