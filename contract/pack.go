package contract

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

//go:embed packs/*.yaml
var packFiles embed.FS

// pack is one shipped file of contracts for one server.
type pack struct {
	file     string // its name, without a folder
	name     string
	server   string
	version  string   // of the server, that it was checked against
	verified bool     // against the list of a running server; without, against documents
	checked  string   // what it was checked against, in words
	match    []string // an upstream that lists all of these is taken for the server
	alone    bool     // and only if it lists nothing else, with these parameters
	optional []string // tools that the server lists to some clients, or with some settings
	writers  []string // tools that write what a vouched field shows later; each is a sink
	common   []string // tools whose names other servers have too: alone they say nothing
	tools    map[string]*packEntry
}

// packEntry is a contract and the definition that it was written for.
type packEntry struct {
	contract *Contract
	params   map[string]bool // every parameter, as a selector
}

// Packs lists the shipped packs' names.
func Packs() []string {
	var names []string
	for _, p := range mustPacks() {
		names = append(names, p.name)
	}
	return names
}

// mustPacks returns the embedded packs, which are part of the program: one that does
// not load is a defect that no configuration can cause, and the tests load them all.
func mustPacks() []*pack {
	packs, err := loadPacks()
	if err != nil {
		panic("contract: " + err.Error())
	}
	return packs
}

var loadPacks = sync.OnceValues(func() ([]*pack, error) {
	files, err := packFiles.ReadDir("packs")
	if err != nil {
		return nil, err
	}
	var packs []*pack
	for _, f := range files {
		data, err := packFiles.ReadFile(path.Join("packs", f.Name()))
		if err != nil {
			return nil, err
		}
		p, err := parsePack(f.Name(), data)
		if err != nil {
			return nil, err
		}
		packs = append(packs, p)
	}
	return packs, nil
})

// packKeys are the members of a pack.
var packKeys = []string{"pack", "server", "version", "verified", "checked", "match", "alone", "optional", "writers", "common", "tools"}

// parsePack reads one pack file. Its entries have the keys of a user's and params.
func parsePack(file string, data []byte) (*pack, error) {
	var problems strictyaml.Problems
	root := strictyaml.Parse(file, data, nil, &problems)
	if root == nil {
		return nil, problems.Err()
	}
	pk := &pack{file: file, tools: map[string]*packEntry{}}
	fields, _ := root.Fields(&problems, packKeys, nil)
	for key, into := range map[string]*string{"pack": &pk.name, "server": &pk.server, "version": &pk.version, "checked": &pk.checked} {
		n := fields[key]
		if n == nil {
			problems.AddFile(file, "%s is missing", key)
			continue
		}
		*into, _ = n.Str(&problems)
	}
	if n := fields["verified"]; n == nil {
		problems.AddFile(file, "verified is missing: true if it was held against the list of a running server")
	} else {
		pk.verified, _ = n.Bool(&problems)
	}
	if n := fields["alone"]; n != nil {
		pk.alone, _ = n.Bool(&problems)
	}
	for key, into := range map[string]*[]string{"match": &pk.match, "optional": &pk.optional, "writers": &pk.writers, "common": &pk.common} {
		if n := fields[key]; n != nil {
			items, _ := n.Strs(&problems)
			for _, item := range items {
				*into = append(*into, item.Text())
			}
		}
	}
	if n := fields["tools"]; n != nil {
		pk.entries(n, &problems)
	}
	pk.vouching(file, fields["writers"] != nil, &problems)
	for key, names := range map[string][]string{"match": pk.match, "optional": pk.optional, "common": pk.common} {
		for _, name := range names {
			if pk.tools[name] == nil {
				problems.AddFile(file, "%s names %s, which has no entry", key, name)
			}
		}
	}
	if len(pk.match) == 0 {
		problems.AddFile(file, "match is missing: it says which servers the pack is for")
	}
	return pk, problems.Err()
}

// vouching holds a pack that vouches to what the design asks of it: it says which tools
// write what a vouched field shows later, and each of them is a sink. Otherwise an agent
// could have an address vouched for by writing it there first.
func (pk *pack) vouching(file string, stated bool, problems *strictyaml.Problems) {
	vouches := false
	for _, e := range pk.tools {
		vouches = vouches || slices.ContainsFunc(e.contract.Output, func(l flow.FieldLabel) bool { return l.Label == flow.LabelVouched })
	}
	switch {
	case vouches && !stated:
		problems.AddFile(file, "writers is missing: a pack that vouches lists the tools that write what it vouches for, or []")
	case !vouches && stated:
		problems.AddFile(file, "writers has no meaning in a pack that vouches for nothing")
	}
	for _, name := range pk.writers {
		if e := pk.tools[name]; e == nil || !e.contract.Exfiltrating {
			problems.AddFile(file, "writers names %s, which is no sink here", name)
		}
	}
}

func (pk *pack) entries(n *strictyaml.Node, problems *strictyaml.Problems) {
	entries, _ := n.Entries(problems)
	for _, e := range entries {
		c := &Contract{Tool: e.Name, Source: "pack " + pk.name}
		fields, ok := e.Value.Fields(problems, append([]string{"params"}, entryKeys...), nil)
		if !ok {
			continue
		}
		if n := fields["allowed_path_prefixes"]; n != nil {
			problems.Add(n, "a pack cannot know a user's directories")
		}
		r := reader{c: c, fields: fields, p: problems}
		r.read()
		entry := &packEntry{contract: c, params: map[string]bool{}}
		params := fields["params"]
		if params == nil {
			problems.Add(e.Key, "params is missing: it says for which definition the entry holds")
			continue
		}
		items, _ := params.Strs(problems)
		for _, item := range items {
			if sel, ok := r.selector(item, item.Text()); ok {
				entry.params[sel.String()] = true
			}
		}
		for _, named := range c.named() {
			if !entry.params[named] {
				problems.Add(e.Value, "%s is not among params", named)
			}
		}
		pk.tools[e.Name] = entry
	}
}

// recognises reports that a list is one of the server that the pack is for: it has all
// the tools that the pack knows the server by. A name such as fetch says little, so that a
// pack that goes by such names wants the whole list to be the one that it knows.
func (pk *pack) recognises(tools []Tool, names map[string]int) bool {
	for _, m := range pk.match {
		if names[m] == 0 {
			return false
		}
	}
	if !pk.alone {
		return true
	}
	return !slices.ContainsFunc(tools, func(t Tool) bool {
		e := pk.tools[t.Name]
		return e == nil || !e.knows(t)
	})
}

// knows reports that a definition has the parameters that the entry was written for, all
// of them and no others.
func (e *packEntry) knows(t Tool) bool {
	schema := readSchema(t.Definition.Get("inputSchema"))
	for _, p := range schema.params {
		if !e.params[p.selectorText()] {
			return false
		}
	}
	return len(schema.params) == len(e.params) && !schema.truncated
}

// contractFor returns the pack's contract for a tool as it is listed. Where the
// definition is not the one that the entry was written for, the fallback's sinks are
// added, so that a server cannot hide a sink behind a known name; the entry's own
// demands stay, so that it cannot shed them either. notice says so, "" if all is known.
func (e *packEntry) contractFor(t Tool) (c *Contract, notice string) {
	listed := map[string]bool{}
	schema := readSchema(t.Definition.Get("inputSchema"))
	unknown := 0
	for _, p := range schema.params {
		path := p.selectorText()
		listed[path] = true
		if !e.params[path] {
			unknown++
		}
	}
	missing := 0
	for _, named := range e.contract.named() {
		if !listed[named] {
			missing++
		}
	}
	if unknown == 0 && missing == 0 && !schema.truncated {
		return e.contract, ""
	}
	w := *e.contract.widened(Fallback(t))
	w.Source = e.contract.Source + " and fallback"
	notice = fmt.Sprintf("its parameters are not those that %s was written for (%d unknown, %d missing): the fallback's sinks are added; a parameter that is missing now fails every call",
		e.contract.Source, unknown, missing)
	return &w, notice
}
