package sallyport

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
)

// upstreamPins are the tool definitions of one upstream, as first seen and as it lists
// them now.
type upstreamPins struct {
	first   time.Time
	pinned  map[string][sha256.Size]byte
	current map[string]contract.Tool
	changed map[string]string // name to why it is refused
	listed  map[string]bool   // resources that the upstream lists as its own
}

// maxTools bounds one upstream's list.
const maxTools = 10_000

// Pin tells the session an upstream's whole tool list. The first list of an upstream is
// pinned as it is; in a later one a tool that is new (after PinSettle) or changed is
// refused when it is called. The notices are for the log, safe to print. Call it
// before the first Decide for a tool of that upstream and whenever the list may have changed.
func (s *Session) Pin(upstream string, tools []contract.Tool) (notices []contract.Notice) {
	s.pinning.Lock() // pins and contracts come from the same list
	defer s.pinning.Unlock()
	now := s.engine.opt.Now()
	s.mu.Lock()
	p := s.upstream(upstream)
	learn := p.pinned == nil || now.Sub(p.first) < s.engine.opt.PinSettle
	if p.pinned == nil {
		p.first, p.pinned = now, make(map[string][sha256.Size]byte)
	}
	p.current, p.changed = make(map[string]contract.Tool), make(map[string]string)
	var known []contract.Tool
	for i, t := range tools {
		if i == maxTools {
			notices = append(notices, warning("%s lists more than %d tools: the rest is refused", quoted(upstream), maxTools))
			break
		}
		if why := p.admit(t, learn); why != "" {
			p.changed[t.Name] = why
			notices = append(notices, warning("tool %s of %s is refused: %s", quoted(t.Name), quoted(upstream), why))
			continue
		}
		p.current[t.Name] = t
		known = append(known, t)
	}
	// A name that is listed twice was admitted the first time.
	for name := range p.changed {
		delete(p.current, name)
	}
	known = slices.DeleteFunc(known, func(t contract.Tool) bool { return p.changed[t.Name] != "" })
	s.mu.Unlock()
	notices = append(notices, s.unusedRules(upstream, known)...)
	return append(notices, s.contracts.Bind(upstream, known)...)
}

// unusedRules says which rules name tools that the upstream does not have.
func (s *Session) unusedRules(upstream string, tools []contract.Tool) (notices []contract.Notice) {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	for _, u := range s.engine.opt.Policy.MatchesNothing(upstream, names) {
		if u.Glob.String() == "*" {
			continue
		}
		if len(notices) == maxUnused {
			return append(notices, warning("and more rules name tools that %s does not list", quoted(upstream)))
		}
		notices = append(notices, warning("rule %s names the tool %s, and %s lists none", quoted(u.Rule.Name), quoted(u.Glob.String()), quoted(upstream)))
	}
	return notices
}

// maxUnused bounds what one list can put into the log about rules.
const maxUnused = 50

// admit returns why a listed tool is refused, or "".
func (p *upstreamPins) admit(t contract.Tool, learn bool) string {
	if why := badName(t.Name); why != "" {
		return why
	}
	if p.changed[t.Name] != "" {
		return p.changed[t.Name]
	}
	if _, twice := p.current[t.Name]; twice {
		return "its name is listed twice"
	}
	digest := definitionDigest(t.Definition)
	switch old, ok := p.pinned[t.Name]; {
	case !ok && !learn:
		return "it was not in the list that this session pinned"
	case !ok && len(p.pinned) >= maxTools:
		return "this session has pinned as many tools of the server as it can"
	case !ok:
		p.pinned[t.Name] = digest
	case old != digest:
		return "its definition is not the one that this session pinned"
	}
	return ""
}

// upstream is called with mu held.
func (s *Session) upstream(name string) *upstreamPins {
	p := s.pins[name]
	if p == nil {
		p = &upstreamPins{listed: make(map[string]bool)}
		s.pins[name] = p
	}
	return p
}

// tool looks a call's tool up. why is not "" when the pin check refuses.
func (s *Session) tool(c Call) (t contract.Tool, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pins[c.Upstream]
	if p == nil || p.pinned == nil {
		return t, "the tool list of this server is not known yet"
	}
	if why := p.changed[c.Name]; why != "" {
		return t, fmt.Sprintf("tool %s is refused: %s", quoted(c.Name), why)
	}
	t, ok := p.current[c.Name]
	if !ok {
		return t, fmt.Sprintf("the server lists no tool %s", quoted(c.Name))
	}
	return t, ""
}

// Listed tells the session which resources an upstream lists as its own: reading those
// sends nothing to a place that someone else chose.
func (s *Session) Listed(upstream string, uris []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.upstream(upstream)
	for _, u := range uris {
		if len(p.listed) >= maxTools {
			return
		}
		p.listed[u] = true
	}
}

func (s *Session) lists(upstream, uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pins[upstream]
	return p != nil && p.listed[uri]
}

// badName says why a name never enters the catalogue, or "". Names that look like
// another are not caught here: they are other names, no rule matches by likeness, and they
// are shown escaped.
func badName(name string) string {
	if name == "" {
		return "it has no name"
	}
	if len(name) > 256 {
		return "its name is longer than 256 bytes"
	}
	for _, r := range name {
		switch {
		case r == unicode.ReplacementChar, unicode.IsControl(r), unicode.IsSpace(r), !unicode.IsGraphic(r),
			unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			return "its name has a control, white-space or invisible character"
		}
	}
	return ""
}

// definitionDigest does not depend on the order of members.
func definitionDigest(v doc.Value) [sha256.Size]byte {
	return sha256.Sum256(appendCanonical(nil, v))
}

func appendCanonical(b []byte, v doc.Value) []byte {
	switch v.Kind() {
	case doc.Object:
		members := slices.Collect(v.Members())
		slices.SortFunc(members, func(a, c doc.Member) int { return strings.Compare(a.Name, c.Name) })
		b = append(b, '{')
		for _, m := range members {
			b = strconv.AppendQuote(b, m.Name)
			b = append(b, ':')
			b = append(appendCanonical(b, m.Value), ',')
		}
		return append(b, '}')
	case doc.List:
		b = append(b, '[')
		for _, e := range v.Elements() {
			b = append(appendCanonical(b, e), ',')
		}
		return append(b, ']')
	default:
		return v.AppendJSON(b)
	}
}

func warning(format string, args ...any) contract.Notice {
	return contract.Notice{Text: fmt.Sprintf(format, args...), Warning: true}
}

// Listing reports whether every tool of a list, or of one page of it, is as pinned. When
// it is not, what the session knows is out of date: call Pin with the whole list.
func (s *Session) Listing(upstream string, tools []contract.Tool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pins[upstream]
	if p == nil || p.pinned == nil {
		return false
	}
	for _, t := range tools {
		digest, ok := p.pinned[t.Name]
		if _, now := p.current[t.Name]; !ok || !now || digest != definitionDigest(t.Definition) {
			return false
		}
	}
	return true
}
