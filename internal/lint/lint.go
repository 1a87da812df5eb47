package lint

import (
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// Options of [Check].
type Options struct {
	Strict bool       // also what is often meant, see [Code].Needs
	Tools  []ToolList // what servers list; nil: rules are not compared with tools
	Home   string     // the user's home directory, "" if not known
	BadKey string     // why the key of audit.checkpoints cannot be used here, safe to show; "": it can, or nobody looked
	Now    time.Time  // for expired tokens; zero: they are not looked for
}

// ToolList is one upstream's whole tools/list.
type ToolList struct {
	Upstream string // "": not known
	Tools    []contract.Tool
}

// check collects the findings of one configuration.
type check struct {
	config   *config.Config
	opt      Options
	root     *strictyaml.Node // of the configuration; nil without a file
	policies []*policyView
	entries  []entry
	known    *catalogue
	found    []Finding
}

// Check looks for what loads and is probably a mistake. It reads nothing but its
// arguments, and the same arguments always give the same report. c was loaded without
// problems. The time grows with the number of rules, and with the square only where
// many rules have globs that start alike.
func Check(c *config.Config, opt Options) Report {
	k := &check{config: c, opt: opt}
	if len(c.Sources) > 0 && c.Sources[0].File == c.File && c.File != "" {
		k.root = c.Sources[0].Root
	}
	k.policies = k.readPolicies()
	k.entries = k.readEntries()
	k.known = k.readCatalogue()

	k.settings()
	k.identities()
	k.upstreams()
	k.secrets()
	k.contracts()
	k.prefixes()
	k.misnamed()
	for _, p := range k.policies {
		k.policy(p)
	}
	return k.accept(sorted(k.found))
}

// visible drops what is only found under Strict.
func (k *check) visible(l []Finding) []Finding {
	if k.opt.Strict {
		return l
	}
	return slices.DeleteFunc(l, func(f Finding) bool { return byID[f.Code].Needs == "strict" })
}
