package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/lint"
)

// Rank says how soon a finding is worth a look.
type Rank uint8

const (
	High   Rank = iota // something is open, or the log cannot be relied on
	Medium             // a guard is weaker than it could be, or something was tried
	Low                // worth knowing at the next review
	Note               // often meant
)

// String is high, medium, low or note.
func (r Rank) String() string { return [...]string{"high", "medium", "low", "note"}[r] }

func (r Rank) tone() tone { return [...]tone{bad, caution, neutral, neutral}[r] }

// Finding is one thing that is worth a look.
type Finding struct {
	Rank Rank
	Kind string // a word or two of this package: "sink without a contract"
	Text string // what it is, in one sentence; escaped for a terminal and bounded

	text, where, do line
}

const (
	maxFindings = 250 // in the pack
	maxOfKind   = 25  // of one kind
	maxAlike    = 20  // denials of one kind
	minAnswers  = 3   // answers before "always granted" says anything
)

// add takes a finding: what it is, where it can be seen, what to do.
func (b *builder) add(r Rank, kind string, text, where, do line) {
	b.findings = append(b.findings, Finding{r, kind, lineText(text), text, where, do})
}

// ownCodes are findings of lint that the pack says itself, with what the log adds.
var ownCodes = map[string]bool{"SP106": true, "SP107": true, "SP311": true, "SP506": true}

func (b *builder) find() {
	b.findLog()
	b.findPolicies()
	b.findTools()
	b.findFlow()
	b.findApprovals()
	b.findDenials()
	b.findPins()
	for _, f := range b.in.Lint.Findings {
		if ownCodes[f.Code] {
			continue
		}
		b.add(lintRank(f.Severity), lintKind(f.Code), prose(f.Text), val(f.Place()), prose(f.Hint))
	}
	slices.SortStableFunc(b.findings, func(x, y Finding) int { return cmp.Compare(x.Rank, y.Rank) })
	kinds, kept := map[string]int{}, b.findings[:0]
	for _, f := range b.findings {
		if kinds[f.Kind]++; kinds[f.Kind] <= maxOfKind && len(kept) < maxFindings {
			kept = append(kept, f)
		} else {
			b.moreRows++
		}
	}
	b.findings = kept
}

// lintKind is a code with its name.
func lintKind(code string) string {
	for _, c := range lint.Codes {
		if c.ID == code {
			return code + " " + strings.ReplaceAll(c.Name, "-", " ")
		}
	}
	return code
}

func lintRank(s lint.Severity) Rank {
	switch s {
	case lint.Error:
		return High
	case lint.Warning:
		return Medium
	}
	return Note
}

func (b *builder) showFindings() []block {
	blocks := []block{paragraph(say("The most urgent first. A finding is a place to look at, not a verdict: some are meant, and the configuration can say so in place."))}
	if len(b.findings) == 0 {
		blocks = append(blocks, block{note: &note{good, say("Nothing was found.")}})
	} else {
		t := &table{head: []string{"Rank", "What", "Finding", "Where", "What to do"}, more: b.moreRows}
		for _, f := range b.findings {
			t.rows = append(t.rows, []line{mark(f.Rank.tone(), f.Rank.String()), say(f.Kind), f.text, f.where, f.do})
		}
		blocks = append(blocks, block{table: t})
	}
	if accepted := b.in.Lint.Accepted; len(accepted) > 0 {
		t := &table{head: []string{"Code", "Finding", "Where", "Accepted because"}}
		for _, a := range accepted {
			t.rows = append(t.rows, []line{say(a.Code), prose(a.Text), val(a.Place()), long(a.Reason)})
		}
		blocks = append(blocks, block{sub: "Accepted in the configuration"}, block{table: t.capped(100)})
	}
	return blocks
}
