package policy

import (
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// want is what an operator or a step looks for.
type want uint8

const (
	wantNothing want = iota
	wantOperand
	wantText
	wantNumber
	wantLength
	wantParts
	wantElements
	wantPath
	wantDestination
	wantObject
	wantList
	wantMany
)

var wants = [...]string{
	wantOperand:     "what it is compared with is of another type",
	wantText:        "a pattern is tried on text only",
	wantNumber:      "only numbers have an order",
	wantLength:      "only text and lists have a length",
	wantParts:       "only text and lists contain something",
	wantElements:    "what the list must contain is of another type",
	wantPath:        "a path is text",
	wantDestination: "a destination is text",
	wantObject:      "only an object has named members",
	wantList:        "only a list has numbered elements",
	wantMany:        "[*] needs a list or an object",
}

// why says why something could not be evaluated, without building the words before
// somebody asks.
type why struct {
	words string // when want is wantNothing
	kind  doc.Kind
	want  want
}

func (w why) String() string {
	if w.want == wantNothing {
		return w.words
	}
	if w.want == wantElements {
		return "it has " + an(w.kind) + " inside, and " + wants[w.want]
	}
	return "it is " + an(w.kind) + ", and " + wants[w.want]
}

func kindWord(k doc.Kind) string {
	if k == doc.String {
		return "text"
	}
	return k.String()
}

// an is the kind with its article.
func an(k doc.Kind) string {
	switch k {
	case doc.Null, doc.String, doc.Absent:
		return kindWord(k)
	case doc.Object:
		return "an object"
	}
	return "a " + k.String()
}

func (e *evaluator) cannot(words string) Outcome {
	return e.because(why{words: words})
}

func (e *evaluator) wrongKind(k doc.Kind, w want) Outcome {
	return e.because(why{kind: k, want: w})
}

func (e *evaluator) because(w why) Outcome {
	if e.why == (why{}) {
		e.why = w
	}
	return e.noted(Cannot, nil, doc.Value{}, "")
}

// missed is the first rule that names a call and would not refuse it, were it not for a
// constraint.
type missed struct {
	rule       *Rule
	constraint *Constraint
}

// defaultReason is the reason of the default, with what an agent or author can do about
// it.
func (p *Policy) defaultReason(s Subject, m missed) string {
	reason := p.reasons[s]
	if m.rule == nil || s == Tool && p.fallback == Allow {
		return reason
	}
	return reason + "; rule " + m.rule.shown + " would let it through with " + m.constraint.text
}

// matchedReason is the reason of a rule that matched because a constraint could not be
// evaluated.
func (r *Rule) matchedReason(c *Constraint, w why) string {
	reason := r.Reason
	if reason != "" {
		reason += "; "
	}
	return reason + quote.Text(c.Selector, maxOperand) + " cannot be checked: " + w.String()
}
