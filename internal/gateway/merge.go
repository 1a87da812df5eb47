package gateway

import (
	"fmt"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/policy"
)

// kind is one of the four lists of a server.
type kind uint8

const (
	tools kind = iota
	prompts
	resources
	templates
	kindCount
)

// kindInfo is how a list looks on the wire.
type kindInfo struct {
	method, list string
	name         string // the member that names an element
	capability   string
	subject      policy.Subject
	renamed      bool
}

var kinds = [kindCount]kindInfo{
	tools:     {"tools/list", "tools", "name", "tools", policy.Tool, true},
	prompts:   {"prompts/list", "prompts", "name", "prompts", policy.Prompt, true},
	resources: {"resources/list", "resources", "uri", "resources", policy.Resource, false},
	templates: {"resources/templates/list", "resourceTemplates", "uriTemplate", "resources", policy.Resource, false},
}

// kindOf returns the list that a method asks for.
func kindOf(method string) (kind, bool) {
	for k, info := range kinds {
		if info.method == method {
			return kind(k), true
		}
	}
	return 0, false
}

// listed is what one upstream lists, over all its pages, as its relay shows it.
type listed struct {
	upstream string
	elements [][]byte
}

// entry is one element of a merged list.
type entry struct {
	owned
	shown string // in the client's list
	raw   []byte // the upstream's bytes with the name that the client sees
}

// merged is one list of all upstreams.
type merged struct {
	entries []entry
	// where says which upstream has a shown name or URI. What several have is in doubt
	// and not among the entries.
	where map[string]owned
	doubt map[string]bool
}

// merge joins the lists in the order in which they are given and keeps each server's own
// order. Left out, with a line for the log each: elements without a name, names that do not
// show, and every element whose name another has too, because a call of it could go to
// either. A tool name that was shortened gets a line as well.
func merge(n naming, k kind, lists []listed) (m merged, lines []string) {
	info := kinds[k]
	m.where, m.doubt = make(map[string]owned), make(map[string]bool)
	var all []entry
	for _, l := range lists {
		for _, raw := range l.elements {
			e, why := read(n, k, l.upstream, raw)
			if why != "" {
				lines = append(lines, fmt.Sprintf("an entry of %s of %s is left out: %s", info.method, quote.Value(l.upstream, 64), why))
				continue
			}
			first, taken := m.where[e.shown]
			switch {
			case !taken:
				m.where[e.shown] = e.owned
			case first != e.owned && !m.doubt[e.shown]:
				m.doubt[e.shown] = true
				if first.upstream == e.upstream {
					lines = append(lines, fmt.Sprintf("%s would be offered for both %s and %s of %s: none of them is", quote.Value(e.shown, 100), quote.Value(first.name, 200), quote.Value(e.name, 200), quote.Value(e.upstream, 64)))
					break
				}
				lines = append(lines, fmt.Sprintf("%s stands in %s of both %s and %s: none of them is offered", quote.Value(e.shown, 100), info.method, quote.Value(first.upstream, 64), quote.Value(e.upstream, 64)))
			}
			if full := n.shown(info.subject, e.upstream, e.name); full != e.shown {
				lines = append(lines, fmt.Sprintf("%s is offered to clients as %s, because they take %d bytes at most: rules name it as before; a shorter name for the upstream helps", quote.Value(full, 200), quote.Value(e.shown, 200), n.longest))
			}
			all = append(all, e)
		}
	}
	for _, e := range all {
		if m.doubt[e.shown] {
			delete(m.where, e.shown)
			continue
		}
		m.entries = append(m.entries, e)
	}
	return m, lines
}

// read makes an entry of an element. why says that it cannot be one.
func read(n naming, k kind, upstream string, raw []byte) (e entry, why string) {
	info := kinds[k]
	f, err := mcp.Fields(raw, info.name)
	if err != nil {
		return e, "it is no object"
	}
	name, ok := mcp.Str(f[0])
	switch {
	case !ok || name == "":
		return e, "it has no " + info.name
	case info.renamed && !visible(name):
		return e, "its name " + quote.Value(name, 100) + " has characters that do not show"
	}
	e = entry{owned: owned{upstream, name}, shown: n.offered(k, n.shown(info.subject, upstream, name)), raw: raw}
	if e.shown == name {
		return e, ""
	}
	if e.raw, err = mcp.RewriteObject(raw, mcp.Edit{Path: []string{info.name}, Value: rawText(e.shown)}); err != nil {
		return e, "it cannot be renamed"
	}
	return e, ""
}
