package lint

import (
	"slices"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
)

// catalogue is what is known of the tools.
type catalogue struct {
	tools    []knownTool
	listed   map[string]bool // upstreams with a list
	nameless bool            // a list whose upstream is not known
	sinks    []sink
}

// knownTool is one listed tool.
type knownTool struct {
	upstream string // "" when it is not known
	name     string // as its server lists it
	prefixed string // as clients see it when upstreams' names stand in front
	schema   doc.Value
	output   doc.Value          // its outputSchema, if it has one
	shipped  *contract.Contract // by packs and fallback, without the user's entries
	owned    bool               // one of the user's entries is for it
}

// sink is a tool that sends, known from a contract or a list.
type sink struct{ upstream, tool string }

func (k *check) readCatalogue() *catalogue {
	cat := &catalogue{listed: map[string]bool{}}
	shipped, err := contract.NewSet(nil, contract.Options{Packs: k.config.Packs})
	if err != nil {
		shipped, _ = contract.NewSet(nil, contract.Options{})
	}
	for _, l := range k.opt.Tools {
		shipped.Bind(l.Upstream, l.Tools)
		cat.listed[l.Upstream] = true
		cat.nameless = cat.nameless || l.Upstream == ""
	}
	own := map[sink]*contract.Contract{}
	for _, e := range k.config.Contracts {
		own[sink{e.Upstream, e.Tool}] = e
		if e.Exfiltrating {
			cat.sinks = append(cat.sinks, sink{e.Upstream, e.Tool})
		}
	}
	for _, l := range k.opt.Tools {
		for _, t := range l.Tools {
			t.Upstream = l.Upstream
			known := knownTool{
				upstream: l.Upstream, name: t.Name, prefixed: l.Upstream + k.config.Server.Separator + t.Name,
				schema: t.Definition.Get("inputSchema"), output: t.Definition.Get("outputSchema"), shipped: shipped.For(t),
			}
			known.owned = own[sink{l.Upstream, t.Name}] != nil || own[sink{"", t.Name}] != nil
			cat.tools = append(cat.tools, known)
			if !known.owned && known.shipped.Exfiltrating {
				cat.sinks = append(cat.sinks, sink{l.Upstream, t.Name})
			}
		}
	}
	return cat
}

// find returns the listed tools of a name; upstream "" means any.
func (cat *catalogue) find(upstream, name string) []knownTool {
	var l []knownTool
	for _, t := range cat.tools {
		if t.name == name && (upstream == "" || t.upstream == "" || t.upstream == upstream) {
			l = append(l, t)
		}
	}
	return l
}

// names are all names of tools, for hints.
func (cat *catalogue) names() []string {
	l := make([]string, len(cat.tools))
	for i, t := range cat.tools {
		l[i] = t.name
	}
	slices.Sort(l)
	return slices.Compact(l)
}

// complete reports that every tool that can be meant is listed: upstreams are those that
// covers names, or all that are configured.
func (k *check) complete(covers func(upstream string) bool) bool {
	cat := k.known
	if len(k.opt.Tools) == 0 {
		return false
	}
	if len(k.config.Upstreams) == 0 {
		return cat.nameless || slices.ContainsFunc(k.opt.Tools, func(l ToolList) bool { return covers(l.Upstream) })
	}
	if cat.nameless {
		return len(k.config.Upstreams) == 1
	}
	for _, u := range k.config.Upstreams {
		if covers(u.Name) && !cat.listed[u.Name] {
			return false
		}
	}
	return true
}
