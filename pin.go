package sallyport

import (
	"fmt"
	"time"
	"unicode"

	"github.com/sallyport-dev/sallyport/contract"
)

// upstreamPins are the tools of one upstream: as first seen, by the set of client
// capabilities that they were listed to, and as it lists them now.
type upstreamPins struct {
	sets     map[string]*pinnedSet
	known    bool // current and changed come from a list
	current  map[string]currentTool
	admitted []contract.Tool   // current in the order of the list
	changed  map[string]string // name to why it is refused
	listed   map[string]bool   // resources that the upstream lists as its own
}

type pinnedSet struct {
	first  time.Time
	pinned map[string]PinDigest
}

type currentTool struct {
	contract.Tool
	digest PinDigest
}

// Bounds of what one session keeps of an upstream.
const (
	maxTools = 10_000 // of one list, and pinned in one set
	maxSets  = 64
)

// Pin tells the session an upstream's whole tool list. The first list of an upstream is
// pinned as it is; in a later one a tool that is new (after PinSettle) or changed is
// refused when it is called. The notices are for the log, safe to print. Call it
// before the first Decide for a tool of that upstream and whenever the list may have changed.
//
// What Pin pins is forgotten with the session; [Session.PinKnown] goes on from pins that
// were kept.
func (s *Session) Pin(upstream string, tools []contract.Tool) (notices []contract.Notice) {
	notices, _ = s.pin(upstream, tools, nil, nil) // nothing is kept that could fail
	return notices
}

func (s *Session) pin(upstream string, tools []contract.Tool, known *KnownPins, keep func(PinReport) error) ([]contract.Notice, error) {
	s.pinning.Lock() // pins and contracts come from the same list
	defer s.pinning.Unlock()
	by := s.by.Load()
	a := s.newAdmission(upstream, known)
	notices := a.all(tools)
	if keep != nil {
		if err := keep(a.report); err != nil {
			s.forgetList(upstream)
			return nil, err
		}
	}
	s.mu.Lock()
	p := s.upstream(upstream)
	admitted := a.admitted()
	p.known, p.current, p.changed, p.admitted = true, a.current, a.refused, admitted
	if p.sets[a.set] == nil && len(p.sets) < maxSets && len(a.current) > 0 { // nothing listed pins nothing
		p.sets[a.set] = &pinnedSet{first: a.first, pinned: make(map[string]PinDigest)}
	}
	if mine := p.sets[a.set]; mine != nil {
		for name, t := range a.current {
			mine.pinned[name] = t.digest
		}
	}
	s.mu.Unlock()
	notices = append(notices, by.unusedRules(upstream, admitted)...)
	return append(notices, by.contracts.Bind(upstream, admitted)...), nil
}

// forgetList makes every tool of an upstream refused until the next list.
func (s *Session) forgetList(upstream string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.upstream(upstream)
	p.known, p.current, p.changed, p.admitted = false, nil, nil, nil
}

// Learning reports whether names of an upstream that are new are still pinned as they
// are: its list should be read again at once when it changes.
func (s *Session) Learning(upstream string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pins[upstream]
	if p == nil || !p.known {
		return false
	}
	by := s.by.Load()
	now := by.opt.Now()
	for _, set := range p.sets {
		if by.settling(set.first, now) {
			return true
		}
	}
	return false
}

// Refuses reports whether an upstream lists a tool that is refused, because it is new or
// changed or its name is no name.
func (s *Session) Refuses(upstream, tool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pins[upstream]
	return p != nil && p.changed[tool] != ""
}

// settling reports whether a set that was first pinned then is still learnt.
func (e *Engine) settling(first, now time.Time) bool {
	age := now.Sub(first)
	return age >= 0 && age < e.opt.PinSettle
}

// unusedRules says which rules name tools that the upstream does not have. Of one of
// several servers that says nothing: rules name the tools of the others.
func (e *Engine) unusedRules(upstream string, tools []contract.Tool) (notices []contract.Notice) {
	names := make([]string, len(tools))
	for i, t := range tools {
		if t.Shown != "" {
			return nil
		}
		names[i] = t.Name
	}
	for _, u := range e.opt.Policy.MatchesNothing(upstream, names) {
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

// upstream is called with mu held.
func (s *Session) upstream(name string) *upstreamPins {
	p := s.pins[name]
	if p == nil {
		p = &upstreamPins{sets: make(map[string]*pinnedSet), listed: make(map[string]bool)}
		s.pins[name] = p
	}
	return p
}

// tool looks a call's tool up. why is not "" when the pin check refuses.
func (s *Session) tool(c Call) (t contract.Tool, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pins[c.Upstream]
	if p == nil || !p.known {
		return t, "the tool list of this server is not known yet"
	}
	if why := p.changed[c.Name]; why != "" {
		return t, fmt.Sprintf("tool %s is refused: %s", quoted(c.shown()), why)
	}
	now, ok := p.current[c.Name]
	if !ok {
		return t, fmt.Sprintf("the server lists no tool %s", quoted(c.shown()))
	}
	return now.Tool, ""
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

func warning(format string, args ...any) contract.Notice {
	return contract.Notice{Text: fmt.Sprintf(format, args...), Warning: true}
}

// Listing reports whether every tool of a list, or of one page of it, is as pinned. When
// it is not, what the session knows is out of date: call Pin with the whole list.
func (s *Session) Listing(upstream string, tools []contract.Tool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pins[upstream]
	if p == nil || !p.known {
		return false
	}
	for _, t := range tools {
		if now, ok := p.current[t.Name]; !ok || now.digest != DigestDefinition(t.Definition) {
			return false
		}
	}
	return true
}
