package contract

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// Set is the layered contracts of one configuration: the user's entries, packs, the
// fallback. Safe for concurrent use.
type Set struct {
	packs   []*pack
	entries []*Contract
	named   map[toolKey]*Contract // user's entries with an upstream
	bare    map[string]*Contract  // and without

	mu    sync.RWMutex
	bound map[string]*binding
	ready map[toolKey]*Contract // contracts of the tools that are bound
}

type toolKey struct{ upstream, tool string }

// binding is what one upstream listed last.
type binding struct {
	tools []Tool
	names map[string]int // how often each is listed
	pack  *pack          // nil: none is for this server
}

// NewSet layers the user's entries over packs. Two entries for one tool, and a pack
// that does not exist, are errors.
func NewSet(entries []*Contract, opt Options) (*Set, error) {
	s := &Set{
		entries: entries,
		named:   map[toolKey]*Contract{}, bare: map[string]*Contract{},
		bound: map[string]*binding{}, ready: map[toolKey]*Contract{},
	}
	for _, c := range entries {
		key := toolKey{c.Upstream, c.Tool}
		if s.named[key] != nil || c.Upstream == "" && s.bare[c.Tool] != nil {
			return nil, fmt.Errorf("two contracts for %s", showName(c.label()))
		}
		if c.Upstream == "" {
			s.bare[c.Tool] = c
		} else {
			s.named[key] = c
		}
	}
	if opt.Packs.None {
		if len(opt.Packs.Names) > 0 {
			return nil, errors.New("packs are off and named at once")
		}
		return s, nil
	}
	for _, name := range opt.Packs.Names {
		if !slices.Contains(Packs(), name) {
			return nil, fmt.Errorf("there is no pack %s%s", showName(name), strictyaml.Hint(name, Packs()))
		}
	}
	for _, p := range mustPacks() {
		if len(opt.Packs.Names) == 0 || slices.Contains(opt.Packs.Names, p.name) {
			s.packs = append(s.packs, p)
		}
	}
	return s, nil
}

// Unbound returns a set of the same layers that knows no upstream's list of tools yet:
// servers list other tools to other sessions.
func (s *Set) Unbound() *Set {
	return &Set{
		packs: s.packs, entries: s.entries, named: s.named, bare: s.bare,
		bound: map[string]*binding{}, ready: map[toolKey]*Contract{},
	}
}

func (c *Contract) label() string {
	if c.Upstream == "" {
		return c.Tool
	}
	return c.Upstream + "/" + c.Tool
}

// For returns the contract of a tool as listed by its server: the user's entry for
// upstream/tool, else the user's for the bare name, else the pack's, else the
// fallback's. It is never nil. For a tool that [Set.Bind] was told of it is one look
// into a map, and the definition bound then is the one that counts. A bare entry whose
// tool two upstreams have holds for neither, and says nothing of which was meant:
// both are forbidden until it is written as upstream/tool.
func (s *Set) For(t Tool) *Contract {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if c := s.ready[toolKey{t.Upstream, t.Name}]; c != nil {
		return c
	}
	c, _ := s.compile(t)
	return c
}

// compile layers the contracts of one tool. The caller holds mu.
func (s *Set) compile(t Tool) (c *Contract, notice string) {
	if c := s.named[toolKey{t.Upstream, t.Name}]; c != nil {
		return c, ""
	}
	if c := s.bare[t.Name]; c != nil {
		others := 0
		for upstream, b := range s.bound {
			if upstream != t.Upstream && b.names[t.Name] > 0 {
				others++
			}
		}
		if others == 0 {
			return c, ""
		}
		return ambiguous(c, t), fmt.Sprintf("the entry at %s has no upstream, and %d upstreams have this tool: it is forbidden until the entry is written as upstream/tool", c.Source, others+1)
	}
	b := s.bound[t.Upstream]
	if b != nil && b.pack != nil {
		if e := b.pack.tools[t.Name]; e != nil {
			c, notice = e.contractFor(t)
			if c.Upstream != t.Upstream {
				own := *c
				own.Upstream = t.Upstream
				c = &own
			}
		}
	}
	if c == nil {
		c = Fallback(t)
	}
	if b != nil && b.names[t.Name] > 1 {
		c, notice = b.strictest(c, t), "it is listed more than once: the sinks of all its definitions count"
	}
	return c, notice
}

func ambiguous(c *Contract, t Tool) *Contract {
	none := int64(0)
	return &Contract{
		Upstream: t.Upstream, Tool: t.Name, Exfiltrating: true, MaxCalls: &none,
		Source: c.Source + " (no upstream, and several have the tool)",
	}
}

// strictest adds the sinks of every definition that has the tool's name.
func (b *binding) strictest(c *Contract, t Tool) *Contract {
	for _, other := range b.tools {
		if other.Name == t.Name {
			c = c.widened(Fallback(other))
		}
	}
	return c
}

// Notice is one line for the log, safe to show. A warning says that something the author
// wrote does not hold as it reads.
type Notice struct {
	Text    string
	Warning bool
}

// String is the text.
func (n Notice) String() string { return n.Text }

// maxNotices bounds what one list of tools can put into the log.
const maxNotices = 100

// Bind tells the set an upstream's whole tool list, as often as it changes, so that a
// pack can be chosen by it and bare names resolved. It returns notices for the log,
// safe to show, at most 100: the pack chosen, entries that match nothing, entries that
// turn the flow check off, definitions that a pack does not know.
func (s *Set) Bind(upstream string, tools []Tool) []Notice {
	b := &binding{tools: make([]Tool, len(tools)), names: make(map[string]int, len(tools))}
	for i, t := range tools {
		t.Upstream = upstream
		b.tools[i] = t
		b.names[t.Name]++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bound[upstream] = b
	maps.DeleteFunc(s.ready, func(k toolKey, _ *Contract) bool { return k.upstream == upstream })

	n := notices{upstream: upstream}
	for _, p := range s.packs {
		if p.recognises(b.tools, b.names) && (b.pack == nil || len(p.match) > len(b.pack.match)) {
			b.pack = p
		}
	}
	if b.pack != nil {
		n.note("pack %s applies: the server lists the tools of %s", b.pack.name, b.pack.server)
	}
	s.compileAll(b, &n)
	s.rebindOthers(upstream)
	s.unmatched(upstream, &n)
	return n.list()
}

// compileAll compiles the contracts of one upstream's tools.
func (s *Set) compileAll(b *binding, n *notices) {
	var derived, sinks, writers []string
	for _, t := range b.tools {
		key := toolKey{t.Upstream, t.Name}
		if s.ready[key] != nil {
			continue // listed twice
		}
		c, notice := s.compile(t)
		s.ready[key] = c
		if notice != "" {
			n.add("tool %s: %s", showName(t.Name), notice)
		}
		if s.isUsers(c) {
			s.flowOff(b, t, c, n)
			for _, name := range c.unlisted(t) {
				n.add("tool %s: the entry at %s names the parameter %s, which the tool does not list", showName(t.Name), c.Source, showName(name))
			}
		}
		if c.Source == "fallback" {
			derived = append(derived, t.Name)
			if c.Exfiltrating {
				sinks = append(sinks, c.sends())
			}
			if writesFiles(t) {
				writers = append(writers, t.Name)
			}
		}
	}
	switch {
	case len(derived) == 0:
	case len(sinks) == 0:
		n.note("no contract for %s; by their schemas none of them sends anything out", some(derived))
	default:
		n.note("no contract for %s; by their schemas %s", some(derived), some(sinks))
	}
	if len(writers) > 0 {
		n.add("nothing confines where these tools write, if they write files: %s; give them write_params", some(writers))
	}
}

// flowOff warns of an entry that takes the flow check from a tool which, without the
// entry, would be read as one that sends something out.
func (s *Set) flowOff(b *binding, t Tool, c *Contract, n *notices) {
	if !c.FlowOff() || c.FlowStated {
		return
	}
	without := Fallback(t)
	if b.pack != nil && b.pack.tools[t.Name] != nil {
		without, _ = b.pack.tools[t.Name].contractFor(t)
	}
	if without.Exfiltrating {
		n.add("tool %s: it looks as if %s, and the entry at %s turns that check off; write exfiltrating: true there, or exfiltrating: false if that is meant",
			showName(t.Name), without.sends(), c.Source)
	}
}

// sends says in words where a tool's destinations stand.
func (c *Contract) sends() string {
	if len(c.SinkParams) == 0 {
		return c.Tool + " sends to what stands in any of its arguments"
	}
	params := make([]string, len(c.SinkParams))
	for i, p := range c.SinkParams {
		params[i] = p.String()
	}
	return c.Tool + " sends to what stands in " + strings.Join(params, ", ")
}

// some joins names for a notice.
func some(names []string) string {
	const most = 12
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	return quote.Text(strings.Join(names, "; "), 500) + more
}

// Entries are the user's, in the order of the file. The slice is the caller's, the
// contracts are read only.
func (s *Set) Entries() []*Contract { return slices.Clone(s.entries) }

func (s *Set) isUsers(c *Contract) bool { return slices.Contains(s.entries, c) }

// rebindOthers compiles again what the new list may have made ambiguous, or clear.
func (s *Set) rebindOthers(upstream string) {
	for other, b := range s.bound {
		if other == upstream {
			continue
		}
		for _, t := range b.tools {
			if s.bare[t.Name] != nil {
				s.ready[toolKey{other, t.Name}], _ = s.compile(t)
			}
		}
	}
}

// unmatched notes entries that say nothing about any tool. Entries for upstreams that
// are not bound yet are passed over, and entries without one where there are several.
func (s *Set) unmatched(upstream string, n *notices) {
	names := slices.Sorted(maps.Keys(s.bound[upstream].names))
	several := slices.ContainsFunc(s.bound[upstream].tools, func(t Tool) bool { return t.Shown != "" })
	for _, c := range s.entries {
		found := false
		for u, b := range s.bound {
			found = found || b.names[c.Tool] > 0 && (c.Upstream == "" || c.Upstream == u)
		}
		if found || c.Upstream != upstream && (c.Upstream != "" || several) {
			continue // meant for another server
		}
		n.add("the entry at %s matches no tool: there is no %s%s", c.Source, showName(c.label()),
			quote.Text(strictyaml.Hint(c.Tool, names), 200))
	}
}

// notices collects lines for the log.
type notices struct {
	upstream string
	lines    []Notice
	more     int
}

// add warns, note only tells.
func (n *notices) add(format string, args ...any)  { n.put(true, fmt.Sprintf(format, args...)) }
func (n *notices) note(format string, args ...any) { n.put(false, fmt.Sprintf(format, args...)) }

func (n *notices) put(warning bool, text string) {
	if len(n.lines) >= maxNotices-1 {
		n.more++
		return
	}
	n.lines = append(n.lines, Notice{"upstream " + showName(n.upstream) + ": " + text, warning})
}

func (n *notices) list() []Notice {
	if n.more > 0 {
		return append(n.lines, Notice{fmt.Sprintf("upstream %s: and %d more notices", showName(n.upstream), n.more), true})
	}
	return n.lines
}
