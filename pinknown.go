package sallyport

import (
	"fmt"
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport/contract"
)

// MaxPinned bounds a definition that PinKnown pins, in bytes of compact JSON: a person
// has to be able to look at it. A larger one is refused.
const MaxPinned = 256 << 10

// Pinned is one definition that was pinned.
type Pinned struct {
	Digest     PinDigest // of Definition
	Definition Value
}

// KnownPins are what earlier sessions have pinned of one upstream.
type KnownPins struct {
	// Set names the client capabilities that the list was given to; servers list other
	// tools to other clients.
	Set string
	// First is when something was first pinned under this set; zero: never.
	First time.Time
	// Later says that this was before the session began: no new name is learnt.
	Later bool
	// Own holds the pins of this set, by the tools' names.
	Own map[string]Pinned
	// Accepted holds what a person accepted under other sets since Own was pinned: an
	// update of a server is accepted once, not for every client.
	Accepted map[string][]PinDigest
	// Other holds what is pinned of the same upstream under other sets.
	Other map[string][]Pinned
	// Hint ends the reason of a refusal with what a person can do. Safe to show, or "".
	Hint string
}

// PinReport is what a list changes in the pins of its set.
type PinReport struct {
	First   bool         // nothing was pinned under this set before
	Learnt  []ListedTool // pinned now: to be kept
	Refused []ListedTool // new or changed: what a person has to see before it is pinned
}

// ListedTool is one tool of a report.
type ListedTool struct {
	contract.Tool
	Digest PinDigest
	Was    Pinned // what it differs from; the zero Pinned for a new name
	Why    string // it is refused; safe to show
}

// PinKnown is [Session.Pin] with pins that outlive the session. What is listed first under
// a set is pinned as it is, and in the same session new names for PinSettle after that. A name that is not
// pinned under the set, and is under others, must have a definition of one of those.
// Everything else that is new or changed is refused. Tools may be missing.
//
// keep is called once, before any tool of the list is allowed, and keeps the report; it
// must not call the session. With its error nothing of the upstream is allowed until the
// next list, and PinKnown returns it.
func (s *Session) PinKnown(upstream string, tools []contract.Tool, known KnownPins, keep func(PinReport) error) ([]contract.Notice, error) {
	return s.pin(upstream, tools, &known, keep)
}

// admission judges one list. It changes nothing of the session.
type admission struct {
	upstream string
	set      string
	known    *KnownPins // nil: the session remembers, and nothing else does
	mine     map[string]PinDigest
	now      time.Time
	first    time.Time // when the set was first pinned; zero: nothing is learnt any more
	learn    bool
	full     bool // the session cannot remember another set

	order   []string
	current map[string]currentTool
	refused map[string]string
	count   int // names pinned under the set
	report  PinReport
}

func (s *Session) newAdmission(upstream string, known *KnownPins) *admission {
	by := s.by.Load()
	a := &admission{
		upstream: upstream, known: known, now: by.opt.Now(),
		current: make(map[string]currentTool), refused: make(map[string]string),
	}
	a.first = a.now
	if known != nil {
		a.set = known.Set
		switch {
		case known.Later:
			a.first = time.Time{}
		case !known.First.IsZero():
			a.first = known.First
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.upstream(upstream)
	mine := p.sets[a.set]
	a.full = mine == nil && len(p.sets) >= maxSets
	a.learn = !a.full && (mine == nil || by.settling(mine.first, a.now))
	if mine != nil {
		a.mine, a.count = mine.pinned, len(mine.pinned) // changed only with pinning held
	}
	if known != nil {
		a.learn = a.learn && (known.First.IsZero() || by.settling(a.first, a.now))
		a.report.First = known.First.IsZero()
		a.count = max(a.count, len(known.Own))
	}
	return a
}

// all judges a whole list and returns what the log says of it.
func (a *admission) all(tools []contract.Tool) (notices []contract.Notice) {
	if len(tools) > maxTools {
		notices = append(notices, warning("%s lists more than %d tools: the rest is refused", quoted(a.upstream), maxTools))
		tools = tools[:maxTools]
	}
	times := make(map[string]int, len(tools))
	for _, t := range tools {
		times[t.Name]++
	}
	late := 0
	for _, t := range tools {
		before := len(a.report.Learnt)
		why := "its name is listed twice"
		if times[t.Name] == 1 || badName(t.Name) != "" {
			why = a.admit(t)
		}
		if why != "" {
			if a.refused[t.Name] == "" {
				notices = append(notices, warning("tool %s of %s is refused: %s", quoted(t.Name), quoted(a.upstream), why))
			}
			a.refused[t.Name] = why
			continue
		}
		a.order = append(a.order, t.Name)
		late += len(a.report.Learnt) - before
	}
	switch {
	case a.known == nil:
	case a.report.First:
		notices = append(notices, contract.Notice{Text: fmt.Sprintf("this is the first list of %s to a client with these capabilities: its tools (%d) are pinned as they are; what changes later waits until a person accepts it", quoted(a.upstream), len(a.current))})
	case late > 0:
		notices = append(notices, contract.Notice{Text: fmt.Sprintf("%d more of the tools of %s are pinned", late, quoted(a.upstream))})
	}
	return notices
}

// admitted are the tools that may be called, in the order of the list.
func (a *admission) admitted() []contract.Tool {
	all := make([]contract.Tool, len(a.order))
	for i, name := range a.order {
		all[i] = a.current[name].Tool
	}
	return all
}

// admit returns why a listed tool is refused, or "".
func (a *admission) admit(t contract.Tool) string {
	if why := badName(t.Name); why != "" {
		return why
	}
	if a.known != nil && len(t.Definition.AppendJSON(nil)) > MaxPinned {
		return fmt.Sprintf("its definition is larger than %d KiB, which nobody could look at", MaxPinned>>10)
	}
	digest := DigestDefinition(t.Definition)
	if a.full {
		return fmt.Sprintf("this session has listed this server's tools to %d sets of client capabilities already", maxSets)
	}
	if a.known != nil {
		if own, ok := a.known.Own[t.Name]; ok {
			if own.Digest != digest && slices.Contains(a.known.Accepted[t.Name], digest) {
				a.learnt(t, digest)
				return ""
			}
			if own.Digest != digest {
				return a.refuse(t, digest, own, "its definition changed since it was pinned ("+changedParts(own.Definition, t.Definition)+")")
			}
			a.current[t.Name] = currentTool{t, digest}
			return ""
		}
	}
	if old, ok := a.mine[t.Name]; ok {
		if old != digest {
			const why = "its definition is not the one that this session pinned"
			if a.known == nil {
				return why
			}
			return a.refuse(t, digest, Pinned{}, why)
		}
		return a.pinned(t, digest)
	}
	if a.known != nil {
		if others := a.known.Other[t.Name]; len(others) > 0 {
			if !slices.ContainsFunc(others, func(o Pinned) bool { return o.Digest == digest }) {
				return a.refuse(t, digest, others[0], "its definition is not the one pinned for a client with other capabilities ("+changedParts(others[0].Definition, t.Definition)+")")
			}
			return a.pinned(t, digest)
		}
	}
	switch {
	case !a.learn && a.known == nil:
		return "it was not in the list that this session pinned"
	case !a.learn:
		return a.refuse(t, digest, Pinned{}, "it is new since the tools of this server were pinned")
	}
	return a.pinned(t, digest)
}

// pinned admits a tool that is not among the set's pins.
func (a *admission) pinned(t contract.Tool, digest PinDigest) string {
	if _, again := a.mine[t.Name]; !again {
		if a.count >= maxTools {
			return "this session has pinned as many tools of the server as it can"
		}
		a.count++
	}
	a.learnt(t, digest)
	return ""
}

func (a *admission) learnt(t contract.Tool, digest PinDigest) {
	a.report.Learnt = append(a.report.Learnt, ListedTool{Tool: t, Digest: digest})
	a.current[t.Name] = currentTool{t, digest}
}

func (a *admission) refuse(t contract.Tool, digest PinDigest, was Pinned, why string) string {
	if a.known.Hint != "" {
		why += "; " + a.known.Hint
	}
	a.report.Refused = append(a.report.Refused, ListedTool{Tool: t, Digest: digest, Was: was, Why: why})
	return why
}
