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
	return append(all, namedRepository(args)...)
}

// namedRepository is the repository that two arguments name together, as tools of forges
// have them.
func namedRepository(args Value) []flow.Destination {
	for _, owner := range []string{"owner", "org", "workspace", "namespace"} {
		for _, repo := range []string{"repo", "repository", "repo_slug", "project"} {
			a, b := args.Get(owner), args.Get(repo)
			if a.Kind() != doc.String || b.Kind() != doc.String || a.String() == "" || b.String() == "" || len(a.String())+len(b.String()) > maxNamedBytes {
				continue
			}
			if v, ok := doc.Text(a.String() + "/" + b.String()); ok {
				if ds := flow.Flatten(repo, v); len(ds) == 1 {
					return ds
				}
			}
		}
	}
	return nil
}
