package policy

import (
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// Operator compares one value of a call with what the author wrote. It passes, fails or
// cannot be evaluated, see [Outcome]. Every operator takes null, and any other value of
// a type that is not its own, as one that cannot be evaluated. No operator converts: a
// boolean is not a number, and "1" is not 1.
type Operator uint8

const (
	// Eq passes when the value is the same JSON value: numbers by exact value (1 and 1.0
	// are the same, beyond 2^53 too), text byte for byte, lists and objects as a whole.
	// Another type than the operand's cannot be evaluated.
	Eq Operator = iota
	// Ne passes where Eq fails.
	Ne
	// In passes when the value is one of a list. A type that no element of the list has
	// cannot be evaluated.
	In
	// NotIn passes where In fails.
	NotIn
	// Matches passes when an RE2 pattern covers the whole of a text, line ends included.
	// Text longer than MaxPatternText cannot be evaluated.
	Matches
	// NotMatches passes where Matches fails.
	NotMatches
	// Contains passes when a text has the operand as a part, byte for byte, or a list has
	// an element that is Eq to it. A list without it that has elements of other types, or
	// the text as a part of one, cannot be evaluated.
	Contains
	// Gt, Gte, Lt and Lte order numbers exactly.
	Gt
	Gte
	Lt
	Lte
	// MaxLength passes when a text has at most so many characters (Unicode code points),
	// or a list so many elements.
	MaxLength
	// Present passes when the argument is there. null cannot be evaluated, because servers
	// differ on whether it is. "present: false" is Absent.
	Present
	// Absent passes when the argument is not there. "absent: false" is Present.
	Absent
	// Within passes when a path lies inside one of the directories, by the rules of
	// package confine. A path that cannot be read, that may lie inside, or that has one of
	// them inside, cannot be evaluated.
	Within
	// Host passes when the host of a URL, host name, IP address or mail address is one of
	// the list. "*.example.com" stands for every name below example.com, not for itself.
	// Addresses compare by number. A text of several destinations passes or fails only when
	// all of them do. Whatever cannot be read as destination, and an IPv6 address with an
	// IPv4 address inside, cannot be evaluated.
	Host
	// Domain is Host for a domain and every name below it. An IP address is in no domain.
	Domain
	// Origin passes when the weakest origin of the destinations in the value is one of the
	// list. It takes text and lists of it. A malformed destination, and everything while the
	// ledger is not known, cannot be evaluated.
	Origin
	operators // how many there are
)

var operatorNames = [operators]string{
	"eq", "ne", "in", "not_in", "matches", "not_matches", "contains", "gt", "gte", "lt", "lte",
	"max_length", "present", "absent", "within", "host", "domain", "origin",
}

// String is the operator as it is written in a file.
func (o Operator) String() string {
	if o < operators {
		return operatorNames[o]
	}
	return "unknown operator"
}

// Operators lists all names, in the order of the documentation.
func Operators() []string { return slices.Clone(operatorNames[:]) }

const (
	optionalKey   = "optional"
	quantifierKey = "quantifier"
)

func parseOperator(name string) (Operator, bool) {
	i := slices.Index(operatorNames[:], name)
	return Operator(max(i, 0)), i >= 0
}

// otherNames are what other languages call an operator.
var otherNames = map[string]string{
	"equals": "eq", "equal": "eq", "is": "eq", "=": "eq", "==": "eq", "const": "eq",
	"not": "ne", "neq": "ne", "not_equals": "ne", "!=": "ne", "not_eq": "ne",
	"one_of": "in", "any_of": "in", "enum": "in", "allowed": "in", "values": "in",
	"nin": "not_in", "none_of": "not_in", "forbidden": "not_in", "notin": "not_in",
	"regex": "matches", "regexp": "matches", "pattern": "matches", "like": "matches", "glob": "matches",
	"starts_with": "matches", "prefix": "matches", "ends_with": "matches", "suffix": "matches",
	"not_regex": "not_matches", "not_contains": "not_matches",
	"includes": "contains", "has": "contains",
	">": "gt", ">=": "gte", "<": "lt", "<=": "lte", "ge": "gte", "le": "lte", "min": "gte", "max": "lte", "minimum": "gte", "maximum": "lte",
	"max_len": "max_length", "maxlength": "max_length", "maxLength": "max_length",
	"exists": "present", "required": "present", "missing": "absent", "path": "within", "under": "within", "inside": "within",
	"hostname": "host", "hosts": "host", "domains": "domain", "origins": "origin",
}

// unknownOperator is what to say of a key that is none.
func unknownOperator(name string) string {
	if known := otherNames[strings.ToLower(name)]; known != "" {
		return "; did you mean '" + known + "'?"
	}
	keys := append(Operators(), optionalKey, quantifierKey)
	if hint := strictyaml.Hint(name, keys); hint != "" {
		return hint
	}
	return "; known here: " + strings.Join(keys, ", ")
}
