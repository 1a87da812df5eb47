package auditread

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Answers counts the steps of approvals, which are records with the event approval.
type Answers struct {
	Asked      uint64 `json:"asked,omitempty"`
	Yes        uint64 `json:"yes,omitempty"`         // answered yes, for one call or more
	YesSession uint64 `json:"yes_session,omitempty"` // of Yes: for the session
	No         uint64 `json:"no,omitempty"`
	Used       uint64 `json:"used,omitempty"`
	Expired    uint64 `json:"expired,omitempty"`
	Revoked    uint64 `json:"revoked,omitempty"`
	// Waited is how long the answers took in all, and Longest the longest.
	Waited  time.Duration `json:"waited_ns,omitempty"`
	Longest time.Duration `json:"longest_ns,omitempty"`
}

// AlwaysGranted reports whether a person answered, and never with no.
func (a *Answers) AlwaysGranted() bool { return a.Yes > 0 && a.No == 0 }

// Approvals is what people were asked.
type Approvals struct {
	Answers
	Tools    []ApprovalRow `json:"tools"`    // the most asked first; at most [MaxRows]
	Channels []ApprovalRow `json:"channels"` // of the answers: Upstream and Tool are empty; at most [MaxRows]
	Others   Answers       `json:"others,omitzero"`
}

// ApprovalRow is what people were asked about one tool, or answered through one channel.
type ApprovalRow struct {
	Upstream string `json:"upstream,omitempty"`
	Tool     string `json:"tool,omitempty"`
	Channel  string `json:"channel,omitempty"`
	Answers
}

type approvals struct {
	all, others     Answers
	tools, channels map[pair]*Answers
}

func (a *approvals) add(r *Record) {
	detail := r.Detail()
	a.all.add(r, detail)
	a.row(&a.tools, pair{name(r.Upstream), name(r.Target)}).add(r, detail)
	if r.Phase == "answered" {
		a.row(&a.channels, pair{"", name(channel(detail))}).add(r, detail)
	}
}

func (a *approvals) row(rows *map[pair]*Answers, key pair) *Answers {
	if t, ok := (*rows)[key]; ok {
		return t
	}
	if len(*rows) >= MaxRows {
		return &a.others
	}
	if *rows == nil {
		*rows = make(map[pair]*Answers)
	}
	t := new(Answers)
	(*rows)[key] = t
	return t
}

func (a *Answers) add(r *Record, detail string) {
	switch r.Phase {
	case "asked":
		a.Asked++
	case "used":
		a.Used++
	case "expired":
		a.Expired++
	case "revoked":
		a.Revoked++
	case "answered":
		if r.Outcome == "allowed" {
			a.Yes++
			if strings.HasPrefix(detail, "yes, for the session") {
				a.YesSession++
			}
		} else {
			a.No++
		}
		a.Waited += r.Duration()
		a.Longest = max(a.Longest, r.Duration())
	}
}

// channel is how an answer was given: its detail is "yes, once, channel code, by ana".
func channel(detail string) string {
	_, rest, ok := strings.Cut(detail, ", channel ")
	if !ok {
		return "unknown"
	}
	rest, _, _ = strings.Cut(rest, ", by ")
	return rest
}

func (a *approvals) sorted() Approvals {
	out := Approvals{Answers: a.all, Others: a.others}
	out.Tools = answerRows(a.tools, func(p pair, n Answers) ApprovalRow { return ApprovalRow{p.group, p.name, "", n} })
	out.Channels = answerRows(a.channels, func(p pair, n Answers) ApprovalRow { return ApprovalRow{"", "", p.name, n} })
	return out
}

func answerRows(rows map[pair]*Answers, row func(pair, Answers) ApprovalRow) []ApprovalRow {
	out := make([]ApprovalRow, 0, len(rows))
	for key, n := range rows {
		out = append(out, row(key, *n))
	}
	slices.SortFunc(out, func(a, b ApprovalRow) int {
		return cmp.Or(
			cmp.Compare(b.Asked+b.Yes+b.No, a.Asked+a.Yes+a.No), cmp.Compare(a.Upstream, b.Upstream),
			cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Channel, b.Channel),
		)
	})
	return out
}
