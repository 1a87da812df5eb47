package policy

import (
	"regexp"
	"slices"

	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// Limits of one constraint. What goes beyond cannot be evaluated.
const (
	MaxPatternText = 4096    // bytes of one text that reach a regular expression
	MaxValues      = 10_000  // values that a selector finds
	MaxText        = 1 << 20 // bytes of all text that a selector finds with a wildcard
)

// Outcome of a constraint for one call. Weakest first: several that must all hold have
// the lowest of their outcomes, several of which one is enough the highest.
type Outcome uint8

const (
	// Fail is certain.
	Fail Outcome = iota
	// Cannot be evaluated: the value is of another type, too long or unreadable. An allow
	// rule then does not match; a deny or ask rule does, so that none is escaped by a value
	// that nobody can judge.
	Cannot
	// Pass is certain.
	Pass
)

// String is FAIL, CANNOT or PASS.
func (o Outcome) String() string {
	switch o {
	case Pass:
		return "PASS"
	case Cannot:
		return "CANNOT"
	}
	return "FAIL"
}

// Quantifier says how many of the values that a wildcard finds must pass.
type Quantifier uint8

const (
	All Quantifier = iota // every one; with none the constraint fails
	Any                   // one is enough
)

// String is all or any.
func (q Quantifier) String() string {
	if q == Any {
		return "any"
	}
	return "all"
}

// root is the first word of a selector.
type root uint8

const (
	argsRoot root = iota
	toolRoot
	upstreamRoot
	resourceRoot
	promptRoot
	callerRoot
	roots
)

var rootNames = [roots]string{"args", "tool", "upstream", "resource", "prompt", "caller"}

// Constraint is one entry of when: a selector and what its value must be. Several
// operators must all hold. An argument that is missing fails its constraint, unless it
// is optional or must be absent; that holds in deny rules too, because a call without
// the argument is not the one that the author wrote about. Read only.
type Constraint struct {
	Selector   string // in canonical form, with its root: args.to[*]
	Optional   bool   // a missing argument passes
	Quantifier Quantifier
	Place      string           // file:line:column, "" when it comes from no file
	Key        *strictyaml.Node // where the selector is written, nil when it comes from no file
	Node       *strictyaml.Node // what it is set to, nil when it comes from no file

	root    root
	steps   []doc.Step
	wild    bool // has [*]
	placing bool // an operator needs places
	outside bool // an operator needs Facts
	ops     []Operation
	shown   string // the selector for messages
	text    string // all of it for messages
}

// Operations lists what must hold, in the order of the file. The slice is the caller's.
func (c *Constraint) Operations() []Operation { return slices.Clone(c.ops) }

// Wildcard reports a selector with [*].
func (c *Constraint) Wildcard() bool { return c.wild }

// Root is the first word of the selector: args, tool, upstream, resource, prompt or
// caller.
func (c *Constraint) Root() string { return rootNames[c.root] }

// Steps are what follows the root. The slice is the caller's.
func (c *Constraint) Steps() []doc.Step { return slices.Clone(c.steps) }

// String is the constraint in words, escaped and bounded.
func (c *Constraint) String() string { return c.text }

// Operation is one operator with its operand. Read only.
type Operation struct {
	Operator Operator
	Place    string           // file:line:column, "" when it comes from no file
	Node     *strictyaml.Node // its operand, nil when it comes from no file

	operands []doc.Value
	kinds    kindSet             // of the operands of Eq, Ne, In, NotIn, Contains
	texts    map[string]struct{} // the texts of a long list
	re       *regexp.Regexp
	length   int
	hosts    []hostPattern
	dirs     [styles]*directories
	origins  originSet
	text     string // the operand for reasons
}

// Operands are the values that it compares with: one, or the elements of a list.
func (o *Operation) Operands() []doc.Value { return slices.Clone(o.operands) }

// Pattern is the regular expression of Matches and NotMatches as it was written, "" for
// other operators.
func (o *Operation) Pattern() string {
	if o.re == nil {
		return ""
	}
	return o.operands[0].String()
}

// kindSet is a set of JSON types.
type kindSet uint8

func (s kindSet) has(k doc.Kind) bool { return s&(1<<k) != 0 }

func kindsOf(values []doc.Value) (s kindSet) {
	for _, v := range values {
		s |= 1 << v.Kind()
	}
	return s
}

// originSet is a set of origins.
type originSet uint16

func (s originSet) has(o flow.Origin) bool { return s&(1<<o) != 0 }

// styles is how many styles of paths there are.
const styles = int(confine.Windows) + 1

// Facts is what constraints ask of the outside. Where a fact is not known, the
// constraint that needs it cannot be evaluated.
type Facts struct {
	// Style of the paths of the upstream, for within.
	Style confine.Style
	// Resolve resolves links, for within. nil: paths are compared as they are written.
	Resolve confine.Resolver
	// Origins returns the origin of each destination in v, which stands at place in the
	// arguments (to[0]; "" for all of them; uri for a resource). ok is false when they are
	// not known. nil: none are.
	Origins func(place string, v doc.Value) (o []flow.Origin, ok bool)
}
