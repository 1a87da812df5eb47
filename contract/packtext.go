package contract

import "path"

// PackText is the file of a shipped pack, nil if there is none of that name: for those who
// write a configuration that takes a pack's entries as its own.
func PackText(name string) []byte {
	for _, p := range mustPacks() {
		if p.name == name {
			data, _ := packFiles.ReadFile(path.Join("packs", name+".yaml")) // the tests load them all
			return data
		}
	}
	return nil
}
