package flow

import (
	"slices"

	"github.com/sallyport-dev/sallyport/doc"
)

// Label is what a contract says of a field of a tool's output. The zero Label is
// LabelOutside.
type Label uint8

const (
	LabelOutside Label = iota // everything else
	LabelInside               // text by people inside the trust domain
	LabelID                   // an opaque id that means something to its server only
	LabelParty                // a field that names a party: sender, participant, shared with
	LabelVouched              // an address book, the caller's own account, a provider's catalogue
	LabelSecret               // a value that must not leave
)

var labelNames = []string{"outside", "inside", "id", "party", "vouched", "secret"}

// LabelNames lists the labels as they are written in contracts.
func LabelNames() []string { return slices.Clone(labelNames) }

// ParseLabel reads a label's name.
func ParseLabel(s string) (Label, bool) {
	i := slices.Index(labelNames, s)
	return Label(max(i, 0)), i >= 0
}

// String gives the name used in contracts.
func (l Label) String() string {
	if int(l) < len(labelNames) {
		return labelNames[l]
	}
	return "invalid"
}

// Loosens reports that a field with the label is treated better than text from outside:
// the label is a grant.
func (l Label) Loosens() bool {
	return l == LabelInside || l == LabelID || l == LabelParty || l == LabelVouched
}

// FieldLabel gives a label to what a path finds in an output. The zero Path is the whole
// of it.
//
// Inside, outside and secret hold for everything below what the path finds. Id, party and
// vouched hold for a field: a text or number found there, one in a list found there, or a
// member's name of an object found there (shared_with: {"ana@x.example": "read"}); what
// lies deeper is not the field. Where several paths find the same field the deepest
// counts, among those that end at the same place the strictest, in the order outside,
// inside, id, party, vouched. A field is a secret whatever else it is.
type FieldLabel struct {
	Path  doc.Selector
	Label Label
}
