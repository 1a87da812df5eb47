package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// Mode says whether decisions are enforced.
type Mode uint8

const (
	Enforce Mode = iota // the zero value enforces
	DryRun              // decide and record, enforce nothing
)

// String is enforce or dry-run, as in the file.
func (m Mode) String() string {
	if m == DryRun {
		return "dry-run"
	}
	return "enforce"
}

// Config is one whole configuration. Read only once loaded; then safe for concurrent use.
type Config struct {
	File       string // as given to [Load]; "" for [Default]
	Mode       Mode
	Server     Server
	Upstreams  []*Upstream // in order
	Audit      Audit
	Flow       sallyport.FlowSettings // of flow.profile, changed by the settings beside it
	Approvals  Approvals
	Packs      contract.PackChoice
	Contracts  []*contract.Contract
	Policies   map[string]*policy.Policy // empty: the built-in policy is used
	RateLimits map[string]*RateLimit
	Tokens     []*Token // in order

	// Sources are the files as they were read, for checks that need places: the
	// configuration, then contracts files.
	Sources []Source

	// Digest is the hex SHA-256 of the files' bytes, for the log. The values of
	// variables do not count: a digest of a short secret would give it away.
	Digest string
}

// Source is one file that was read.
type Source struct {
	File string
	Root *strictyaml.Node
	Data []byte
}

// Audit is what the audit section says.
type Audit struct {
	Off              bool   // path: null
	Path             string // absolute; "" when the section names none: the caller's default
	NoChain          bool   // hash_chain: false
	DropArguments    bool   // include_arguments: false
	MaxValue         int    // bytes of one string kept
	Redact           []doc.Selector
	KeyPatterns      []*regexp.Regexp // nil: the log's defaults; empty: none
	ContinueOnFailed bool             // on_failure: continue
	Sync             audit.Sync
	Rotate           audit.Rotation
}

// DefaultMaxValue is how many bytes of one string the log keeps unless told otherwise.
const DefaultMaxValue = 512

// Default is the configuration without a file: everything is enforced and logged, and
// the built-in policy is used.
func Default() *Config {
	return &Config{
		Server:    defaultServer(),
		Audit:     Audit{MaxValue: DefaultMaxValue},
		Flow:      defaultFlow(),
		Approvals: defaultApprovals(),
		Digest:    digest("", nil),
	}
}

// Policy selects a policy. The empty name means the only one, or the built-in one when
// the file defines none. The error lists what there is.
func (c *Config) Policy(name string) (*policy.Policy, error) {
	names := slices.Sorted(maps.Keys(c.Policies))
	shown := make([]string, len(names))
	for i, n := range names {
		shown[i] = strictyaml.Quote(n)
	}
	list := quote.Text(strings.Join(shown, ", "), 2000)
	switch {
	case len(names) == 0 && (name == "" || name == policy.BuiltInName):
		return policy.BuiltIn(), nil
	case len(names) == 0:
		return nil, fmt.Errorf("there is no policy %s: no policy is defined", strictyaml.Quote(name))
	case name == "" && len(names) == 1:
		return c.Policies[names[0]], nil
	case name == "":
		return nil, fmt.Errorf("several policies are defined, choose one: %s", list)
	case c.Policies[name] == nil:
		return nil, fmt.Errorf("there is no policy %s; defined: %s", strictyaml.Quote(name), list)
	}
	return c.Policies[name], nil
}

// AddContracts joins the entries of a contracts file to the configuration's own. A tool
// with an entry in both is an error: neither file says which one holds.
func (c *Config) AddContracts(f *ContractsFile) error {
	type key struct{ upstream, tool string }
	own := make(map[key]string, len(c.Contracts))
	for _, e := range c.Contracts {
		own[key{e.Upstream, e.Tool}] = e.Source
	}
	var errs []error
	for _, e := range f.Contracts {
		if first, ok := own[key{e.Upstream, e.Tool}]; ok {
			errs = append(errs, fmt.Errorf("%s: the tool %s has an entry in %s too; remove one",
				e.Source, strictyaml.Quote(e.Tool), first))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	c.Contracts = append(slices.Clip(c.Contracts), f.Contracts...)
	c.Sources = append(slices.Clip(c.Sources), f.source)
	c.Digest = digest(c.Digest, f.source.Data)
	return nil
}

// digest continues before with the bytes of one file.
func digest(before string, data []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "sallyport configuration 1\n%s\n", before)
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}
