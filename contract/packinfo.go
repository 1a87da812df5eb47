package contract

import (
	"maps"
	"path"
	"slices"

	"github.com/sallyport-dev/sallyport/flow"
)

// Pack is one file of contracts for one server: a shipped one, or one that somebody
// drafted. It is read only.
type Pack struct {
	pack   *pack
	source []byte
}

// PackInfo is what a pack says of itself. The texts of a shipped pack are safe to show;
// those of a file are whatever stands in it.
type PackInfo struct {
	Name     string
	Server   string
	Version  string // of the server, that the pack was checked against
	Verified bool   // against the list of a running server; false: against documents only
	Checked  string // what it was checked against, in words
	Match    []string
	Alone    bool // it is used only for a server that lists these tools and no others
	Tools    int
}

// ShippedPacks returns the packs that are part of the program, by name.
func ShippedPacks() []*Pack {
	var all []*Pack
	for _, p := range mustPacks() {
		data, err := packFiles.ReadFile(path.Join("packs", p.file))
		if err != nil {
			panic("contract: " + err.Error()) // it was read before, from the program itself
		}
		all = append(all, &Pack{p, data})
	}
	return all
}

// ReadPack reads a pack from a file's text. It is held to what a shipped pack is held to;
// the error names the file and each place, and is safe to show.
func ReadPack(file string, data []byte) (*Pack, error) {
	p, err := parsePack(file, data)
	if err != nil {
		return nil, err
	}
	return &Pack{p, slices.Clone(data)}, nil
}

// Info returns what the pack says of itself.
func (p *Pack) Info() PackInfo {
	k := p.pack
	return PackInfo{
		Name: k.name, Server: k.server, Version: k.version, Verified: k.verified, Checked: k.checked,
		Match: slices.Clone(k.match), Alone: k.alone, Tools: len(k.tools),
	}
}

// Source returns the text of the file. The slice is the caller's.
func (p *Pack) Source() []byte { return slices.Clone(p.source) }

// Contracts returns the pack's entries in order of the tools' names. They are read only.
func (p *Pack) Contracts() []*Contract {
	var all []*Contract
	for _, name := range slices.Sorted(maps.Keys(p.pack.tools)) {
		all = append(all, p.pack.tools[name].contract)
	}
	return all
}

// Labels returns which labels the contract gives to its tool's output, once each and
// sorted.
func (c *Contract) Labels() []string {
	names := map[string]bool{}
	for _, l := range c.Output {
		if l.Label != flow.LabelOutside {
			names[l.Label.String()] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
