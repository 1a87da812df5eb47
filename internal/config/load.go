package config

import (
	"slices"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// Version is the only version of the language.
const Version = 1

// Options of [Load] and [LoadContracts].
type Options struct {
	Lookup    func(string) (string, bool) // the environment; nil: no variable is set
	Contracts contract.Options            // for the entries; its Packs are ignored
}

// ContractsFile is a file that has no version and only contracts.
type ContractsFile struct {
	File      string
	Contracts []*contract.Contract
	source    Source
}

// keys of the whole file, in the order in which it is documented.
var keys = []string{
	"version", "mode", "server", "upstreams", "packs", "tools", "flow", "policies", "rate_limits", "tokens", "approvals", "audit",
}

// Load reads a whole configuration, or a contracts file as tools: alone. file is for
// messages, and relative paths in the configuration are relative to its directory.
// The error is a [*strictyaml.LoadError] with every problem; then nothing is loaded.
func Load(file string, data []byte, opt Options) (*Config, error) {
	var p strictyaml.Problems
	root := strictyaml.Parse(file, data, opt.Lookup, &p)
	if root == nil {
		return nil, p.Err()
	}
	c := Default()
	c.File, c.Digest = file, digest("", data)
	c.Sources = []Source{{File: file, Root: root, Data: slices.Clone(data)}}
	if isContracts(root) {
		c.Contracts = contract.Parse(root, &p, opt.Contracts)
	} else {
		c.read(root, &p, opt)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// LoadContracts reads a contracts file. Errors are as for [Load].
func LoadContracts(file string, data []byte, opt Options) (*ContractsFile, error) {
	var p strictyaml.Problems
	root := strictyaml.Parse(file, data, opt.Lookup, &p)
	if root == nil {
		return nil, p.Err()
	}
	f := &ContractsFile{File: file, source: Source{File: file, Root: root, Data: slices.Clone(data)}}
	if isContracts(root) {
		f.Contracts = contract.Parse(root, &p, opt.Contracts)
	} else if entries, ok := root.Entries(&p); ok {
		at := root
		if len(entries) > 0 {
			at = entries[0].Key
		}
		p.Add(at, "a contracts file holds tools and their contracts only; a configuration is given with -c")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// isContracts reports a mapping that is not empty and has no key of a configuration.
func isContracts(root *strictyaml.Node) bool {
	entries, ok := root.Entries(&strictyaml.Problems{})
	for _, e := range entries {
		if slices.Contains(keys, e.Name) {
			return false
		}
	}
	return ok && len(entries) > 0
}

func (c *Config) read(root *strictyaml.Node, p *strictyaml.Problems, opt Options) {
	// Of another version nothing else can be said.
	if !checkVersion(root, p) {
		return
	}
	fields, ok := root.Fields(p, keys, nil)
	if !ok {
		return
	}
	for name, n := range fields {
		switch name {
		case "mode":
			if s, _ := n.OneOf(p, "enforce", "dry-run"); s == "dry-run" {
				c.Mode = DryRun
			}
		case "server":
			c.readServer(n, p)
		case "upstreams":
			c.readUpstreams(n, p)
		case "audit":
			c.readAudit(n, p)
		case "tools":
			c.Contracts = contract.Parse(n, p, opt.Contracts)
		case "packs":
			c.Packs = readPacks(n, p)
		case "policies":
			c.Policies = policy.Parse(n, p)
		case "rate_limits":
			c.readRateLimits(n, p)
		case "tokens":
			c.readTokens(n, p, opt.Lookup)
		case "flow":
			c.readFlow(n, p)
		case "approvals":
			c.readApprovals(n, p)
		}
	}
	c.checkReferences(root, p)
}

// checkVersion reports whether the rest can be read.
func checkVersion(root *strictyaml.Node, p *strictyaml.Problems) bool {
	entries, ok := root.Entries(p)
	if !ok {
		return false
	}
	for _, e := range entries {
		if e.Name != "version" {
			continue
		}
		v, ok := e.Value.Int(p)
		if ok && v != Version {
			p.Add(e.Value, "version %d is not known; this program reads version %d", v, Version)
			return false
		}
		return true
	}
	p.Add(root, "version is missing; write version: %d (without it, a file holds contracts only)", Version)
	return true
}

func readPacks(n *strictyaml.Node, p *strictyaml.Problems) contract.PackChoice {
	if !n.IsList() {
		s, _ := n.OneOf(p, "auto", "none")
		return contract.PackChoice{None: s == "none"}
	}
	items, _ := n.Strs(p)
	if n.Len() == 0 {
		p.Add(n, "an empty list names no pack; write none")
	}
	shipped := contract.Packs()
	var choice contract.PackChoice
	for _, item := range items {
		name := item.Text()
		switch {
		case !slices.Contains(shipped, name):
			p.Add(item, "there is no pack %s%s", strictyaml.Quote(name), strictyaml.Hint(name, shipped))
		case slices.Contains(choice.Names, name):
			p.Add(item, "the pack %s is already named", strictyaml.Quote(name))
		}
		choice.Names = append(choice.Names, name)
	}
	return choice
}
