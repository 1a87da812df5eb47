package contract

import "slices"

// Shipped returns the entries that packs have for a tool's name, whatever server it may
// be of: what is known of the name before a server has listed its tools. Of a name that
// servers of other kinds have too, nothing is. The result is read only.
func Shipped(tool string, choice PackChoice) []*Contract {
	if choice.None {
		return nil
	}
	var l []*Contract
	for _, p := range mustPacks() {
		if e := p.tools[tool]; e != nil && !slices.Contains(p.common, tool) && (len(choice.Names) == 0 || slices.Contains(choice.Names, p.name)) {
			l = append(l, e.contract)
		}
	}
	return l
}
