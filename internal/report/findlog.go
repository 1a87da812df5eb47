package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/internal/auditread"
)

// findLog looks at the log as a whole.
func (b *builder) findLog() {
	if b.in.Log == nil {
		b.add(Medium, "no log", say("No audit log was read, so the pack says nothing of what happened."), nil, say("Name one with --audit."))
		return
	}
	v := &b.in.Log.Verified
	if n := len(v.Problems); n > 0 {
		p := v.Problems[0]
		b.add(High, "log changed", sayf("The log is not as it was written: %s, the first of the kind %s.", count(n+int(v.More), "problem"), p.Kind),
			join(val(p.File), sayf(" line %d", p.Line)), say("See the integrity of the log, and compare with an older copy or hash."))
	}
	if v.Unchained > 0 {
		b.add(Medium, "log without a chain", sayf("%s have no hash, so a change to them cannot be seen.", count(int(v.Unchained), "record")), nil, say("Leave audit.hash_chain on."))
	}
	if dry := b.at.of(wasDry); dry.n > 0 {
		b.add(High, "ran although refused", sayf("%s ran that the policy refuses or asks about, because it runs dry.", count(int(dry.n), "call")), numbers(dry), say("Enforce the policy once its refusals are the right ones.")) //nolint:gosec // a count
	}
	if b.log.Total.Calls == 0 {
		b.add(Note, "nothing happened", say("The log has no call in the time that was looked at."), nil, say("Look at another time, or at another log."))
		return
	}
	b.findOtherPolicy()
	asked := b.at.of(opened)
	if answers := b.log.Approvals.Yes + b.log.Approvals.No; asked.n > answers {
		b.add(Low, "questions without an answer", sayf("Questions: %d. Answers in the log: %d. What nobody answered did not run.", asked.n, answers), numbers(asked), say("See that a person can be reached, or write a rule."))
	}
	if bad := b.at.of(notLoaded); bad.n > 0 {
		b.add(Medium, "configuration refused", sayf("%s refused a new configuration and went on with the old one.", count(int(bad.n), "reload")), numbers(bad), say("Run sallyport validate on the file.")) //nolint:gosec // a count
	}
}

// questions are the records of what was asked about.
func (b *builder) questions() seen {
	var l []evidence
	for _, c := range checks {
		l = append(l, questioned(c))
	}
	return b.at.of(l...)
}

// findOtherPolicy looks for calls that were decided by a policy as it is no more.
func (b *builder) findOtherPolicy() {
	var others []string
	now := 0
	for _, row := range b.log.Policies.Rows {
		mine := slices.ContainsFunc(b.in.Policies, func(p policyNow) bool { return p.Name() == row.Policy && p.Digest() == row.Digest })
		if mine {
			now++
		} else {
			others = append(others, row.Policy+" "+row.Digest)
		}
	}
	if len(others) == 0 {
		return
	}
	rank, text := Low, "Some calls were decided by another policy than the one shown, or by an older state of it."
	if now == 0 {
		rank, text = Medium, "No call was decided by the policy shown: the log was written under another one, or an older state of it."
	}
	b.add(rank, "another policy", say(text), vals(others, 3), say("Make the pack with the configuration of that time, or look at days after the change."))
}

// numbers are records by their seq.
func numbers(s seen) line {
	if s.n == 0 {
		return nil
	}
	l := slices.Sorted(slices.Values(s.first))
	l = slices.Compact(l)
	text := make([]string, 0, maxSamples)
	for _, n := range l[:min(len(l), maxSamples)] {
		text = append(text, strconv.FormatUint(n, 10))
	}
	words := "record "
	if len(text) > 1 {
		words = "records "
	}
	words += strings.Join(text, ", ")
	if s.n > uint64(len(text)) {
		words += ", …"
	}
	return say(words)
}

// alike is denials of one tool by one check, about one destination.
type alike struct {
	first auditread.Denial
	seqs  []uint64
}

func destination(d *auditread.Denial) (e auditread.Evidence) {
	if len(d.Evidence) > 0 {
		e = d.Evidence[0]
	}
	return e
}

// findDenials groups what was refused. The summary keeps the newest of each check.
func (b *builder) findDenials() {
	var groups []*alike
	for i := range b.log.Denials {
		d := &b.log.Denials[i]
		at := slices.IndexFunc(groups, func(g *alike) bool {
			return g.first.Upstream == d.Upstream && g.first.Target == d.Target && g.first.Check == d.Check && destination(&g.first).Destination == destination(d).Destination
		})
		if at < 0 {
			at = len(groups)
			groups = append(groups, &alike{first: *d})
		}
		groups[at].seqs = append(groups[at].seqs, d.Seq)
	}
	slices.SortStableFunc(groups, func(x, y *alike) int {
		return cmp.Or(cmp.Compare(denialRank(x.first.Check), denialRank(y.first.Check)), cmp.Compare(len(y.seqs), len(x.seqs)))
	})
	n := map[string]int{}
	for _, g := range groups {
		if n[g.first.Check]++; n[g.first.Check] <= maxAlike {
			b.addDenial(g)
		}
	}
}

func denialRank(check string) Rank {
	switch check {
	case "flow", "path", "pattern", "pin", "audit":
		return Medium
	}
	return Low
}

func (b *builder) addDenial(g *alike) {
	d := &g.first
	text := join(val(d.Target), sayf(" was refused %s by the check ", times(len(g.seqs))), val(cmp.Or(d.Check, "none")))
	if e := destination(d); e.Destination != "" {
		text = append(text, join(say(": destination "), val(e.Destination), say(", "), val(e.Origin))...)
		if e.Tool != "" {
			text = append(text, join(say(", first seen in the output of "), val(e.Tool))...)
		}
	} else if d.Reason != "" {
		text = append(text, join(say(": "), long(d.Reason))...)
	}
	b.add(denialRank(d.Check), "refused", text, numbers(seen{uint64(len(g.seqs)), g.seqs}), say(denialAdvice(d)))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return count(n, "time")
}

// findApprovals looks for questions that are answered without a second thought.
func (b *builder) findApprovals() {
	for _, row := range b.log.Approvals.Tools {
		a := row.Answers
		if !a.AlwaysGranted() || a.Yes < minAnswers {
			continue
		}
		text := join(say("Every question about "), val(row.Tool), sayf(" was answered yes, %d of %d", a.Yes, a.Yes))
		if took := time.Duration(int64(a.Waited) / int64(a.Yes)); took > 0 { //nolint:gosec // at least minAnswers
			text = append(text, sayf(", after %s on average", took.Round(100*time.Millisecond))...)
		}
		b.add(Medium, "always granted", append(text, say(".")...), numbers(b.at.of(saidYes)), say("If it is always right, a rule or a trusted destination says so better; if nobody looks, the question guards nothing."))
	}
}
