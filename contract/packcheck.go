package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Misfit is one way in which a list of tools is not the one that a pack was written for.
type Misfit struct {
	Tool string // whatever the server calls it: escape before showing
	Text string // safe to show; names the tool
	Note bool   // worth a look, and nothing that the pack has to be changed for
}

// maxMisfits bounds what one list can bring about.
const maxMisfits = 500

// Check holds a pack against a server's whole list of tools. Reported are entries that no
// longer fit, tools without an entry, and parameters that the pack does not know, above all
// those that look like destinations or paths that are written; as a note, those that the
// pack knows and does not name as such, because its author may have had a reason. At most
// 500 come back; more counts the others. It takes any list.
func (p *Pack) Check(tools []Tool) (found []Misfit, more int) {
	k := checking{pack: p.pack, listed: map[string]int{}}
	for _, t := range tools {
		k.listed[t.Name]++
	}
	k.recognition(tools)
	seen := map[string]bool{}
	for _, t := range tools {
		if !seen[t.Name] {
			seen[t.Name] = true
			k.tool(t)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.pack.tools)) {
		if k.listed[name] == 0 && !slices.Contains(p.pack.optional, name) {
			k.add(name, false, "the server does not list it any more")
		}
	}
	return k.found, k.more
}

type checking struct {
	pack   *pack
	listed map[string]int
	found  []Misfit
	more   int
}

func (k *checking) add(tool string, note bool, format string, args ...any) {
	if len(k.found) == maxMisfits {
		k.more++
		return
	}
	k.found = append(k.found, Misfit{Tool: tool, Note: note, Text: "tool " + showName(tool) + ": " + fmt.Sprintf(format, args...)})
}

func (k *checking) recognition(tools []Tool) {
	for _, name := range k.pack.match {
		if k.listed[name] == 0 {
			k.add(name, false, "the pack knows the server by it, and is not used without it")
		}
	}
	if k.pack.alone && !k.pack.recognises(tools, k.listed) {
		k.found = append(k.found, Misfit{Text: "the pack is used only for a server that lists its tools and parameters and no others, which this one does not"})
	}
}

func (k *checking) tool(t Tool) {
	if n := k.listed[t.Name]; n > 1 {
		k.add(t.Name, false, "it is listed %d times", n)
	}
	if shown := quote.Text(t.Name, 0); shown != t.Name || t.Name == "" || len(t.Name) > maxName {
		k.add(t.Name, false, "no tool of this name is ever let through: it is empty, too long or has invisible characters")
		return
	}
	e := k.pack.tools[t.Name]
	if e == nil {
		k.add(t.Name, false, "the pack has no entry for it; the fallback reads that %s", guess(t))
		return
	}
	k.parameters(t, e)
}

// guess says what the fallback makes of a tool.
func guess(t Tool) string {
	c := Fallback(t)
	text := "it sends nothing anywhere"
	if c.Exfiltrating {
		text = quote.Text(c.sends(), 300)
	}
	if w := WriteGuess(t); len(w) > 0 {
		text += ", and that it may write to " + quote.Text(strings.Join(selectorTexts(w), ", "), 300)
	}
	return text
}

func (k *checking) parameters(t Tool, e *packEntry) {
	schema := readSchema(t.Definition.Get("inputSchema"))
	if schema.truncated {
		k.add(t.Name, false, "its schema is too large, or refers to another document, and cannot be read whole")
	}
	looks := looksLike(t)
	listed := map[string]bool{}
	for _, p := range schema.params {
		path := p.selectorText()
		listed[path] = true
		what := looks[path]
		switch {
		case !e.params[path] && what != "":
			k.add(t.Name, false, "the pack does not know the parameter %s, which looks like %s", showName(path), what)
		case !e.params[path]:
			k.add(t.Name, false, "the pack does not know the parameter %s", showName(path))
		case what != "" && !e.covers(path):
			k.add(t.Name, true, "the parameter %s looks like %s, and the pack does not name it as one", showName(path), what)
		}
	}
	named := map[string]bool{}
	for _, name := range e.contract.named() {
		if named[name] = true; !listed[name] {
			k.add(t.Name, false, "the entry names the parameter %s, which the tool does not have: every call fails, or is never looked at", showName(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.params)) {
		if !listed[name] && !named[name] {
			k.add(t.Name, true, "the parameter %s, which the pack knows, is gone", showName(name))
		}
	}
}

// looksLike says of a tool's parameters, by selector, what the fallback takes them for.
func looksLike(t Tool) map[string]string {
	looks := map[string]string{}
	for _, s := range WriteGuess(t) {
		looks[s.String()] = "a path that is written"
	}
	for _, s := range Fallback(t).SinkParams {
		looks[s.String()] = "a destination"
	}
	return looks
}

// covers reports that the entry gates calls by a parameter, in whatever way: it, what it
// stands in or what stands in it is named, or the entry asks about every call.
func (e *packEntry) covers(path string) bool {
	c := e.contract
	if c.Destructive || c.Exfiltrating && len(c.SinkParams) == 0 || c.MaxCalls != nil && *c.MaxCalls == 0 {
		return true
	}
	return slices.ContainsFunc(c.named(), func(name string) bool {
		return name == path || inside(name, path) || inside(path, name)
	})
}

// inside reports that a selector stands inside another.
func inside(inner, outer string) bool {
	return strings.HasPrefix(inner, outer+".") || strings.HasPrefix(inner, outer+"[")
}
