package contract

import "slices"

// Shipped returns the entries that packs have for a tool's name, whatever server it may
// be of: what is known of the name before a server has listed its tools. The result is
// read only.
func Shipped(tool string, choice PackChoice) []*Contract {
	if choice.None {
		return nil
	}
	var l []*Contract
	for _, p := range mustPacks() {
		if e := p.tools[tool]; e != nil && (len(choice.Names) == 0 || slices.Contains(choice.Names, p.name)) {
			l = append(l, e.contract)
		}
	}
	return l
}
