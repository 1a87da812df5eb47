package sallyport

import (
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
)

// Bounds on what of one call's arguments counts as named.
const (
	maxNamed      = 32
	maxNamedBytes = 256
	maxNamedWords = 8
)

// named are the values that a call gives in its arguments, as destinations.
func named(args Value) []flow.Destination {
	var all []flow.Destination
	doc.Walk(args, func(v Value, isName bool, place func() string) bool {
		text := v.String()
		if v.Kind() == doc.Number {
			text = v.Number()
		}
		if isName || text == "" || len(text) > maxNamedBytes || strings.Count(text, " ") >= maxNamedWords {
			return true // a name of something has few words
		}
		if ds := flow.Flatten(place(), v); len(ds) == 1 {
			all = append(all, ds[0])
		}
		return len(all) < maxNamed
	})
	return all
}
