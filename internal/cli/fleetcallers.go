package cli

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/confine/osresolve"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/gateway"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/internal/token"
)

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
