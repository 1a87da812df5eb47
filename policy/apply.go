package policy

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
)

// apply judges one value, which is there, by one operator.
func (e *evaluator) apply(o *Operation, v doc.Value) Outcome {
	k := v.Kind()
	switch o.Operator {
	case Eq, Ne, In, NotIn:
		if !o.kinds.has(k) {
			return e.wrongKind(k, wantOperand)
		}
		held := o.holds(v)
		if !held && k == doc.List && o.holdsPart(v) {
			return e.cannot("it is a list that has one of the values as an element")
		}
		return outcome(held == (o.Operator == Eq || o.Operator == In))
	case Matches, NotMatches:
		switch {
		case k != doc.String:
			return e.wrongKind(k, wantText)
		case len(v.String()) > MaxPatternText:
			return e.cannot(tooLong)
		}
		return outcome(o.re.MatchString(v.String()) == (o.Operator == Matches))
	case Contains:
		return e.contains(o, v)
	case Gt, Gte, Lt, Lte:
		order, ok := doc.CompareNumbers(v, o.operands[0])
		if !ok {
			return e.wrongKind(k, wantNumber)
		}
		return outcome(ordered(o.Operator, order))
	case MaxLength:
		switch k {
		case doc.String:
			return outcome(len(v.String()) <= o.length || utf8.RuneCountInString(v.String()) <= o.length)
		case doc.List:
			return outcome(v.Len() <= o.length)
		}
		return e.wrongKind(k, wantLength)
	case Present, Absent:
		if k == doc.Null {
			return e.cannot("it is null, which some servers take for missing")
		}
		return outcome(o.Operator == Present)
	case Within:
		return e.within(o, v)
	case Host, Domain:
		return e.host(o, v)
	case Origin:
		return e.origin(o, v)
	}
	return e.cannot("not an operator")
}

const tooLong = "it is longer than 4096 bytes, which no pattern is tried on"

func outcome(pass bool) Outcome {
	if pass {
		return Pass
	}
	return Fail
}

// holds reports whether v is one of the operands.
func (o *Operation) holds(v doc.Value) bool {
	if o.texts != nil && v.Kind() == doc.String {
		_, found := o.texts[v.String()]
		return found
	}
	for i := range o.operands {
		if doc.Equal(v, o.operands[i]) {
			return true
		}
	}
	return false
}

// holdsPart reports that a list has one of the operands as an element, where they are not
// all lists: some servers take a list of one for the one.
func (o *Operation) holdsPart(list doc.Value) bool {
	if o.kinds == 1<<doc.List {
		return false
	}
	for i := range list.Len() {
		if _, element := list.Child(i); element.Kind() != doc.List && o.holds(element) {
			return true
		}
	}
	return false
}

func ordered(op Operator, order int) bool {
	switch op {
	case Gt:
		return order > 0
	case Gte:
		return order >= 0
	case Lt:
		return order < 0
	}
	return order <= 0
}

func (e *evaluator) contains(o *Operation, v doc.Value) Outcome {
	want := o.operands[0]
	switch v.Kind() {
	case doc.String:
		if want.Kind() != doc.String {
			return e.wrongKind(doc.String, wantOperand)
		}
		return outcome(strings.Contains(v.String(), want.String()))
	case doc.List:
	default:
		return e.wrongKind(v.Kind(), wantParts)
	}
	other, part := doc.Absent, false
	for i := range v.Len() {
		_, element := v.Child(i)
		switch {
		case doc.Equal(element, want):
			return Pass
		case element.Kind() != want.Kind():
			other = element.Kind()
		case element.Kind() == doc.String && strings.Contains(element.String(), want.String()):
			part = true
		}
	}
	switch {
	case other != doc.Absent:
		return e.wrongKind(other, wantElements)
	case part:
		return e.cannot("it is a list that has the text as part of an element, not as an element")
	}
	return Fail
}

func (e *evaluator) within(o *Operation, v doc.Value) Outcome {
	if v.Kind() != doc.String {
		return e.wrongKind(v.Kind(), wantPath)
	}
	if e.facts == nil || int(e.facts.Style) >= styles {
		return e.cannot("how paths are spelled is not known")
	}
	d := o.dirs[e.facts.Style]
	if d == nil {
		return e.cannot("the directories are spelled for another system")
	}
	_, err := d.inside.Check(v.String(), e.facts.Resolve)
	switch {
	case err == nil:
		return Pass
	case !errors.Is(err, confine.ErrOutside):
		return e.cannot(err.Error())
	}
	if _, err := d.outside.Check(v.String(), e.facts.Resolve); err != nil {
		return e.cannot("it is above one of the directories, or can be read as inside and as outside")
	}
	if e.facts.Resolve != nil {
		// Who removes or moves a link touches the directory that it is in, wherever it leads.
		if _, err := d.outside.Check(v.String(), nil); err != nil {
			return e.cannot("it is inside or above one of the directories as it is written, and leads outside")
		}
	}
	return Fail
}

func (e *evaluator) origin(o *Operation, v doc.Value) Outcome {
	switch v.Kind() {
	case doc.String, doc.List, doc.Object, doc.Number:
	default:
		return e.wrongKind(v.Kind(), wantDestination)
	}
	if e.facts == nil || e.facts.Origins == nil {
		return e.cannot("what this session has seen is not known")
	}
	place := "uri"
	if rest, ok := strings.CutPrefix(string(e.place), rootNames[argsRoot]); ok {
		place = strings.TrimPrefix(rest, ".")
	}
	all, known := e.facts.Origins(place, v)
	if !known || len(all) == 0 {
		return e.cannot("where it is known from cannot be said")
	}
	switch weakest := slices.Min(all); {
	case weakest == flow.Malformed:
		return e.cannot("it is no destination that can be read")
	case o.origins.has(weakest):
		return Pass
	case slices.ContainsFunc(all, o.origins.has): // a deny rule is not escaped by what stands beside
		return e.cannot("it has several destinations, and the weakest of their origins is not listed")
	}
	return Fail
}
