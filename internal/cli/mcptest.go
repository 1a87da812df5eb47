package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/ownserver"
	"github.com/sallyport-dev/sallyport/internal/policytest"
	"github.com/sallyport-dev/sallyport/policy"
)

// test answers what tests of a policy come to.
func (a *adviser) test(ctx context.Context, args ownserver.Args) (string, error) {
	switch {
	case !args.Has("config") && !args.Has("contracts") && a.config == nil && a.contracts == nil:
		return "", errNoConfig
	case !args.Has("tests") && len(a.tests) == 0:
		return "", errors.New("there are no tests: give them as text in tests, or let the person name files with --tests FILE")
	}
	l, err := a.load(args)
	if err != nil {
		return problems(err, "nothing is tested")
	}
	l.cfg.Mode = config.Enforce // a test says what the rules say
	suites, err := a.suites(args, l)
	if err != nil {
		return problems(err, "nothing is tested")
	}
	var results []policytest.Result
	for _, s := range suites {
		outcomes, err := s.Run(ctx, func(p *policy.Policy, more sallyport.Options) (*sallyport.Engine, error) {
			return newEngine(l.cfg, p, l.opt.Contracts, more)
		}, nil)
		if err != nil {
			return "", err
		}
		results = append(results, policytest.Result{File: s.File, Outcomes: outcomes})
	}
	var b strings.Builder
	if err := policytest.WriteText(&b, results, args.Flag("verbose")); err != nil {
		return "", err
	}
	return audit.RedactText(b.String()), nil
}

// suites reads the tests that a question brings, else those of the command line. Files that
// tests name are not read: whoever may write tests would choose them.
func (a *adviser) suites(args ownserver.Args, l loaded) ([]*policytest.Suite, error) {
	opt := suiteOptions(l.cfg)
	sources := []source{textSource(args, "tests", testsText)}
	if args.Has("tests") {
		opt.Lookup = placeholder
	} else {
		opt.Lookup = os.LookupEnv
		sources = nil
		for _, file := range a.tests {
			sources = append(sources, file.source())
		}
	}
	var suites []*policytest.Suite
	var errs []error
	for _, src := range sources {
		if src.err != nil {
			errs = append(errs, src.err)
			continue
		}
		s, err := policytest.Load(src.name, src.data, opt)
		errs = append(errs, err)
		suites = append(suites, s)
	}
	return suites, errors.Join(errs...)
}
