package contract

import (
	"maps"
	"slices"
)

// Keys lists the keys that an entry may have, and those of the language that this version
// does not have yet.
func Keys() (known, later []string) {
	return slices.Clone(entryKeys), slices.Sorted(maps.Keys(laterKeys))
}
