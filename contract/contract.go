package contract

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
)

// Contract is one compiled contract. It is read only once [Parse], [Fallback] or
// [Set.For] has returned it, and may be shared.
type Contract struct {
	Upstream string // "" if the entry named none
	Tool     string
	Source   string // "sallyport.yaml:12:3", "pack gmail", "fallback": for explanations, safe to show

	Exfiltrating        bool
	FlowStated          bool           // the entry itself says whether it is exfiltrating
	SinkParams          []doc.Selector // empty with Exfiltrating: every argument is a destination
	JoinedSinks         []Joined       // destinations that several of them name together
	DestinationOptional bool           // a call that names no destination stays with the caller
	TrustedDestinations []flow.Pattern
	WriteParams         []doc.Selector
	PathBase            string
	AllowedPathPrefixes []string      // empty with WriteParams: the engine's default write roots apply
	Confine             *confine.Root // nil when AllowedPathPrefixes is empty
	ArgPatterns         []ArgPattern
	MaxCalls            *int64            // per session; nil: no budget; 0 forbids the tool
	Destructive         bool              // ask each time
	TypedParams         []doc.Selector    // what only the user may have written
	Output              []flow.FieldLabel // labels on the tool's output; nil: all of it is outside
}

// ArgPattern is one entry of arg_patterns: every value that Param finds must match
// Pattern in full; a missing one does not match.
type ArgPattern struct {
	Param   doc.Selector
	Pattern *regexp.Regexp // \A(?s:Source)\z
	Source  string         // as written
}

// FlowOff reports that the flow check does not apply to the tool: the contract says
// that it sends nothing anywhere. For a user's entry, [Set.Bind] says so in a notice;
// for a pack's it is what the pack's author checked.
func (c *Contract) FlowOff() bool { return !c.Exfiltrating }

// named lists the parameters that the contract speaks of.
func (c *Contract) named() []string {
	var out []string
	for _, s := range slices.Concat(c.SinkParams, c.WriteParams, c.TypedParams) {
		out = append(out, s.String())
	}
	for _, a := range c.ArgPatterns {
		out = append(out, a.Param.String())
	}
	return out
}

// unlisted returns the parameters that the contract names and the tool's schema does
// not have: a misspelt sink would never be looked at. A schema that lists nothing says
// nothing.
func (c *Contract) unlisted(t Tool) []string {
	schema := readSchema(t.Definition.Get("inputSchema"))
	if len(schema.params) == 0 || schema.truncated {
		return nil
	}
	listed := map[string]bool{}
	for _, p := range schema.params {
		listed[p.selectorText()] = true
	}
	return slices.DeleteFunc(c.named(), func(name string) bool {
		name = element.ReplaceAllString(name, "[*]")
		for !listed[name] {
			shorter, ok := strings.CutSuffix(name, "[*]")
			if !ok {
				return false
			}
			name = shorter
		}
		return true
	})
}

// element is one element of a list in a selector.
var element = regexp.MustCompile(`\[(-?[0-9]+|#[0-9]+)\]`)

// withoutGrants returns c without the labels that loosen, for a definition that it was
// not written for: secrets stay, nothing is vouched for.
func (c *Contract) withoutGrants() *Contract {
	if !slices.ContainsFunc(c.Output, func(l flow.FieldLabel) bool { return l.Label.Loosens() }) {
		return c
	}
	w := *c
	w.Output = slices.DeleteFunc(slices.Clone(c.Output), func(l flow.FieldLabel) bool { return l.Label.Loosens() })
	return &w
}

// widened returns c with other's sinks added, for when both may be right. It never
// loosens: no destinations are trusted that were not before, and labels that loosen go.
func (c *Contract) widened(other *Contract) *Contract {
	c = c.withoutGrants()
	if !other.Exfiltrating {
		return c
	}
	w := *c
	w.Exfiltrating = true
	switch {
	case !c.Exfiltrating:
		w.SinkParams = other.SinkParams
	case len(c.SinkParams) == 0 || len(other.SinkParams) == 0:
		w.SinkParams = nil
	default:
		w.SinkParams = slices.Clone(c.SinkParams)
		for _, s := range other.SinkParams {
			if !slices.ContainsFunc(w.SinkParams, func(have doc.Selector) bool { return have.String() == s.String() }) {
				w.SinkParams = append(w.SinkParams, s)
			}
		}
	}
	return &w
}

// Tool is a definition as the server lists it.
type Tool struct {
	Upstream   string
	Name       string
	Definition doc.Value // the whole element of tools/list
	// Shown is the name that the client sees where several servers stand behind one
	// gateway, with a prefix or without; "" where there is one server.
	Shown string
}
