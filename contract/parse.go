package contract

import (
	"errors"
	"strings"
	"unicode"

	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// Options say how entries are compiled and which packs are used.
type Options struct {
	Style confine.Style
	Deny  []string   // Sallyport's own files, absolute; they lie inside no prefix
	Packs PackChoice // zero: auto
	// Clients are the configurations of MCP clients; they lie inside no prefix either.
	Clients confine.Clients
}

// PackChoice is the packs: key: auto (zero), none, or names. A named pack too is used
// only for an upstream whose list of tools it recognises.
type PackChoice struct {
	None  bool
	Names []string
}

// The keys of an entry, and those of the language that this version does not have (none).
var (
	entryKeys = []string{
		"exfiltrating", "sink_params", "trusted_destinations", "write_params", "path_base",
		"allowed_path_prefixes", "arg_patterns", "max_calls", "destructive", "typed_params", "output",
		"destination_optional",
	}
	laterKeys map[string]string
)

// maxName is the longest tool or upstream name in bytes.
const maxName = 256

// Parse reads the tools: mapping of a configuration, or a whole contracts file: tool
// or upstream/tool to an entry. A tool whose own name has a slash is written with its
// upstream. Problems go to p, with their places; what could be read is returned.
func Parse(n *strictyaml.Node, p *strictyaml.Problems, opt Options) []*Contract {
	entries, ok := n.Entries(p)
	if !ok {
		return nil
	}
	var out []*Contract
	for _, e := range entries {
		c := &Contract{Source: e.Key.Place()}
		if !c.setName(e, p) {
			continue
		}
		fields, ok := e.Value.Fields(p, entryKeys, misnamedKeys)
		if !ok {
			continue
		}
		if all, _ := e.Value.Entries(p); len(all) == 0 {
			p.Add(e.Value, "the entry says nothing; an entry replaces the pack's and the fallback's, so write what holds, or remove it")
			continue
		}
		r := reader{c: c, fields: fields, p: p, opt: opt}
		r.read()
		out = append(out, c)
	}
	return out
}

func (c *Contract) setName(e strictyaml.Entry, p *strictyaml.Problems) bool {
	upstream, tool, found := strings.Cut(e.Name, "/")
	if !found {
		upstream, tool = "", e.Name
	}
	bad := func(s string) bool {
		return s == "" || len(s) > maxName || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })
	}
	switch {
	case bad(tool) || found && bad(upstream):
		p.Add(e.Key, "write the name of a tool, or upstream/tool, without spaces or invisible characters")
		return false
	case strings.ContainsAny(e.Name, "*?"):
		p.Add(e.Key, "the name of a contract is exact: * and ? have no meaning here")
		return false
	}
	c.Upstream, c.Tool = upstream, tool
	return true
}

// reader reads one entry.
type reader struct {
	c      *Contract
	fields map[string]*strictyaml.Node
	p      *strictyaml.Problems
	opt    Options
	stated bool // exfiltrating is there and could be read
}

func (r *reader) read() {
	r.c.Exfiltrating = r.flag("exfiltrating")
	r.c.FlowStated = r.fields["exfiltrating"] != nil
	r.c.Destructive = r.flag("destructive")
	r.sinks()
	r.c.DestinationOptional = r.flag("destination_optional")
	r.trusted()
	if n := r.fields["exfiltrating"]; !r.c.Exfiltrating && (n == nil || r.stated) {
		for _, key := range []string{"sink_params", "trusted_destinations", "destination_optional"} {
			if n := r.fields[key]; n != nil {
				r.p.Add(n, "%s needs exfiltrating: true beside it; without it the flow check is off for this tool", key)
			}
		}
	}
	r.c.WriteParams = r.selectors("write_params", "leave it out if the tool writes no files")
	r.paths()
	r.patterns()
	r.maxCalls()
	r.c.TypedParams = r.selectors("typed_params", "leave it out if the user need not have typed anything")
	r.output()
}

func (r *reader) flag(key string) bool {
	n := r.fields[key]
	if n == nil {
		return false
	}
	v, ok := n.Bool(r.p)
	if key == "exfiltrating" {
		r.stated = ok
	}
	return v
}

// texts reads a list that must not be empty.
func (r *reader) texts(key, whenEmpty string) []*strictyaml.Node {
	n := r.fields[key]
	if n == nil {
		return nil
	}
	items, ok := n.Strs(r.p)
	if ok && len(items) == 0 {
		r.p.Add(n, "%s is empty: %s", key, whenEmpty)
	}
	return items
}

func (r *reader) selectors(key, whenEmpty string) []doc.Selector {
	var out []doc.Selector
	for _, item := range r.texts(key, whenEmpty) {
		s, _ := item.Str(r.p)
		if sel, ok := r.parameter(item, s); ok {
			out = append(out, sel)
		}
	}
	return out
}

// sinks reads selectors, and templates that join several.
func (r *reader) sinks() {
	have := map[string]bool{}
	add := func(sel doc.Selector) {
		if !have[sel.String()] {
			have[sel.String()] = true
			r.c.SinkParams = append(r.c.SinkParams, sel)
		}
	}
	for _, item := range r.texts("sink_params", "leave it out, and every argument is read as a destination") {
		s, _ := item.Str(r.p)
		if variable.MatchString(item.Written()) {
			r.p.Add(item, "write a part of a joined destination as {owner}, without $: ${owner} is a variable of the environment")
			continue
		}
		if !strings.ContainsAny(s, "{}") {
			if meant := withoutBraces(s); meant != "" {
				r.p.Add(item, "%s", meant)
			} else if sel, ok := r.parameter(item, s); ok {
				add(sel)
			}
			continue
		}
		j, err := parseJoined(s)
		if err != nil {
			r.p.Add(item, "%v", err)
			continue
		}
		for _, sel := range j.Parts {
			add(sel)
		}
		r.c.JoinedSinks = append(r.c.JoinedSinks, j)
	}
}

// parameter reads a path into a call's arguments.
func (r *reader) parameter(at *strictyaml.Node, s string) (doc.Selector, bool) {
	if meant := argsPrefix(s); meant != "" {
		r.p.Add(at, "%s", meant)
		return doc.Selector{}, false
	}
	return r.selector(at, s)
}

func (r *reader) selector(at *strictyaml.Node, s string) (doc.Selector, bool) {
	if s == "" {
		r.p.Add(at, "write the name of a parameter, or a path such as items[*].id")
		return doc.Selector{}, false
	}
	sel, err := doc.ParseSelector(s)
	if err != nil {
		if wrong, ok := errors.AsType[*doc.SelectorError](err); ok {
			r.p.Add(at, "the selector %s: at byte %d: %s", strictyaml.Quote(s), wrong.Offset, wrong.Want)
		} else {
			r.p.Add(at, "%v", err)
		}
		return doc.Selector{}, false
	}
	return sel, true
}

func (r *reader) trusted() {
	for _, item := range r.texts("trusted_destinations", "leave it out if no destination is trusted") {
		s, _ := item.Str(r.p)
		pattern, err := flow.ParsePattern(s)
		if err != nil {
			r.p.Add(item, "%v", err)
			continue
		}
		r.c.TrustedDestinations = append(r.c.TrustedDestinations, pattern)
	}
}

func (r *reader) paths() {
	for _, key := range []string{"allowed_path_prefixes", "path_base"} {
		if n := r.fields[key]; n != nil && r.fields["write_params"] == nil {
			r.p.Add(n, "%s needs write_params beside it, which says what holds the paths", key)
		}
	}
	valid := true
	for _, item := range r.texts("allowed_path_prefixes", "leave it out for the default directories, or use max_calls: 0 to forbid the tool") {
		s, _ := item.Str(r.p)
		if _, err := confine.NewRoot(r.opt.Style, []string{s}, "", nil); err != nil {
			r.p.Add(item, "%v", err)
			valid = false
			continue
		}
		r.c.AllowedPathPrefixes = append(r.c.AllowedPathPrefixes, s)
	}
	base := r.fields["path_base"]
	if base != nil {
		if r.fields["write_params"] != nil && r.fields["allowed_path_prefixes"] == nil {
			r.p.Add(base, "path_base needs allowed_path_prefixes beside it: the default directories take absolute paths only")
		}
		s, ok := base.Str(r.p)
		if ok && s == "" {
			r.p.Add(base, "write an absolute directory, or leave it out to refuse relative paths")
		}
		if _, err := confine.NewRoot(r.opt.Style, nil, s, nil); ok && err != nil {
			r.p.Add(base, "%v", err)
			ok = false
		}
		valid = valid && ok
		r.c.PathBase = s
	}
	if !valid || len(r.c.AllowedPathPrefixes) == 0 {
		return
	}
	root, err := confine.NewRoot(r.opt.Style, r.c.AllowedPathPrefixes, r.c.PathBase, r.opt.Deny)
	if err == nil {
		root, err = root.WithClients(r.opt.Clients)
	}
	if err != nil {
		r.p.Add(r.fields["allowed_path_prefixes"], "%v", err)
		return
	}
	r.c.Confine = root
}

func (r *reader) patterns() {
	n := r.fields["arg_patterns"]
	if n == nil {
		return
	}
	entries, ok := n.Entries(r.p)
	if ok && len(entries) == 0 {
		r.p.Add(n, "arg_patterns is empty: write parameter: pattern, or leave it out")
	}
	for _, e := range entries {
		sel, okParam := r.parameter(e.Key, e.Name)
		s, okText := e.Value.Str(r.p)
		if !okText {
			continue
		}
		re, err := doc.CompilePattern(s)
		if err != nil {
			r.p.Add(e.Value, "%v", err)
			continue
		}
		if okParam {
			r.c.ArgPatterns = append(r.c.ArgPatterns, ArgPattern{Param: sel, Pattern: re, Source: s})
		}
	}
}

func (r *reader) maxCalls() {
	n := r.fields["max_calls"]
	if n == nil {
		return
	}
	v, ok := n.Int(r.p)
	if !ok {
		return
	}
	if v < 0 {
		r.p.Add(n, "max_calls is %d; write 0 to forbid the tool, or a positive number", v)
		return
	}
	r.c.MaxCalls = &v
}

func showName(s string) string { return quote.Value(s, 80) }
