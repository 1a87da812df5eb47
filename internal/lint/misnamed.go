package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/policy"
)

// misnamed looks for names that no tool has, and that one has with a prefix or without one.
// Only the lists know: prefixes, which needs none, finds what is written without the prefix
// that it has to have.
func (k *check) misnamed() {
	if len(k.opt.Tools) == 0 {
		return
	}
	prefixed := Prefixed(k.config)
	var all []sallyport.Named
	for _, l := range k.opt.Tools {
		for _, t := range l.Tools {
			n := sallyport.Named{Subject: policy.Tool, Upstream: l.Upstream, Name: t.Name}
			if prefixed {
				n.Shown = l.Upstream + k.config.Server.Separator + t.Name
			}
			all = append(all, n)
		}
	}
	set, err := contract.NewSet(k.config.Contracts, contract.Options{})
	if err != nil {
		return // loading says so
	}
	limits := make(map[string]sallyport.RateLimit)
	for name, l := range k.config.RateLimits {
		limits[name] = sallyport.RateLimit{Rate: l.PerSecond(), Burst: l.Burst, Global: l.Global}
	}
	for _, p := range k.policies {
		e, err := sallyport.New(sallyport.Options{Policy: p.policy, Contracts: set, RateLimits: limits})
		if err != nil {
			continue
		}
		for _, m := range e.Misnamed(all, k.config.Server.Separator) {
			k.misnamedAt(m)
		}
	}
}

// misnamedAt notes one, unless it was found without a list.
func (k *check) misnamedAt(m sallyport.Misnamed) {
	f := Finding{Code: "SP111", Severity: Error, Text: m.Text, File: k.config.File}
	if i := strings.LastIndexByte(m.Place, ':'); i > 0 {
		if j := strings.LastIndexByte(m.Place[:i], ':'); j > 0 {
			f.File = m.Place[:j]
			f.Line, _ = strconv.Atoi(m.Place[j+1 : i])
			f.Col, _ = strconv.Atoi(m.Place[i+1:])
		}
	}
	if !slices.ContainsFunc(k.found, func(have Finding) bool {
		return have.Code == f.Code && have.File == f.File && have.Line == f.Line && have.Col == f.Col
	}) {
		k.found = append(k.found, f)
	}
}
