package lint

import (
	"cmp"
	"slices"

	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// Severity says how sure it is that a finding is a mistake, and how much it costs.
type Severity uint8

const (
	Note    Severity = iota // worth knowing; often meant
	Warning                 // weakens the guard, or does nothing
	Error                   // a hole, or a rule that does not do what it says
)

// String is note, warning or error. SARIF uses the same words.
func (s Severity) String() string {
	return [...]string{"note", "warning", "error"}[s]
}

// Finding is one thing that loads and is probably not what its author wants.
type Finding struct {
	Code      string
	Severity  Severity
	File      string
	Line, Col int    // from 1; 0 when the whole file is meant
	Text      string // what is wrong; bounded and escaped, one line
	Hint      string // what to write instead; may be ""
}

// Accepted is a finding that the file accepts in place.
type Accepted struct {
	Finding
	Reason string // as written in the comment; bounded and escaped
}

// Report is the result of [Check].
type Report struct {
	Findings []Finding // in order of place
	Accepted []Accepted
}

// Count is how many findings have a severity.
func (r Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

const (
	maxText   = 400 // characters of a finding's text or hint
	maxReason = 200 // characters of a reason that is shown
)

// add notes a finding at n's place with the code's usual severity.
func (k *check) add(n *strictyaml.Node, code, hint, text string) {
	k.addAs(n, code, usual(code), hint, text)
}

func (k *check) addAs(n *strictyaml.Node, code string, s Severity, hint, text string) {
	f := Finding{Code: code, Severity: s, Text: quote.Text(text, maxText), Hint: quote.Text(hint, maxText)}
	if n == nil {
		f.File = k.config.File
	} else {
		f.File, f.Line, f.Col = n.File(), n.Line(), n.Col()
	}
	k.found = append(k.found, f)
}

// sorted orders findings by place, and lists what aliases make twice once.
func sorted(l []Finding) []Finding {
	slices.SortStableFunc(l, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(l)
}

func show(s string) string { return strictyaml.Quote(s) }
