package report

import (
	"errors"
	"fmt"
	"time"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/auditread"
)

// Pack is a review pack that was made: [Pack.WriteMarkdown] and [Pack.WriteHTML] write it.
// It is read only.
type Pack struct {
	// Findings are what is worth a look, the most urgent first.
	Findings []Finding
	sheet    sheet
}

// builder is the pack under way.
type builder struct {
	in       Input
	log      *auditread.Summary // never nil
	at       *Pointers          // never nil
	tools    []tool
	several  bool // the tools are of more than one upstream
	controls []control
	findings []Finding
	moreRows int
}

// Build makes a pack. Equal input makes an equal pack. The error is one of the
// configuration's contracts, which loading has checked already.
func Build(in Input) (*Pack, error) {
	if in.Config == nil || len(in.Policies) == 0 {
		return nil, errors.New("report: a configuration and at least one policy are needed")
	}
	set, err := contract.NewSet(in.Config.Contracts, in.Contracts)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	b := &builder{in: in, log: &auditread.Summary{}, at: &Pointers{}}
	if in.Log != nil {
		b.log, b.at = in.Log.Summary, in.Log.Pointers
	}
	b.readTools(set)
	b.readControls()
	b.find()
	p := &Pack{Findings: b.findings}
	p.sheet = sheet{
		title: "Sallyport review pack",
		lead:  b.lead(),
		sections: []section{
			{"scope", "Scope and versions", b.scope()},
			{"findings", "Findings", b.showFindings()},
			{"tools", "Tools, contracts and controls", b.showTools()},
			{"policy", "Policy in words", b.showPolicies()},
			{"audit", "What the log says", b.showLog()},
			{"integrity", "Integrity of the log", b.showIntegrity()},
			{"covered", "What is covered and what is not", b.showCovered()},
			{"controls", "Controls and their evidence", b.showControls()},
			{"frameworks", "Mappings to frameworks", b.showFrameworks()},
		},
	}
	return p, nil
}

// lead is what a reader sees first.
func (b *builder) lead() []block {
	high, medium := 0, 0
	for _, f := range b.findings {
		switch f.Rank {
		case High:
			high++
		case Medium:
			medium++
		}
	}
	blocks := []block{paragraph(say("What a Sallyport gateway was set up to do, what its audit log says that it did, and where to look. Made " + date(b.in.Made) + "."))}
	t := good
	if high > 0 {
		t = bad
	} else if medium > 0 {
		t = caution
	}
	text := join(bold(count(len(b.findings), "finding")), sayf(": %d high, %d medium, %d lower. ", high, medium, len(b.findings)-high-medium))
	if b.in.Log == nil {
		return append(blocks, block{note: &note{caution, join(text, say("There is no log, so nothing here says what happened."))}})
	}
	total := b.log.Total
	text = append(text, sayf("%s: %d ran, %d refused, %d asked about. ", count(int(total.Calls), "call"), total.Ran(), total.Decided.Denied+total.Decided.RateLimited, total.Decided.Asked)...) //nolint:gosec // a count
	if v := b.in.Log.Verified; v.Intact() {
		text = append(text, say("No sign that the log was changed.")...)
	} else {
		t = bad
		text = append(text, say("The log is not as it was written: see its integrity.")...)
	}
	return append(blocks, block{note: &note{t, text}})
}

func date(t time.Time) string {
	if t.IsZero() {
		return "at no known time"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
