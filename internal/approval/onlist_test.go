package approval

import (
	"slices"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/flow"
)

func TestOnList(t *testing.T) {
	now := time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)
	entry := func(pattern, tool string, expires time.Time) sallyport.TrustedDestination {
		p, err := flow.ParsePattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return sallyport.TrustedDestination{Pattern: p, Tool: tool, Expires: expires}
	}
	bob, carol := Question{Destination: "bob@partner.example", Origin: "unknown"}, Question{Destination: "carol@firm.example", Origin: "party"}
	for name, c := range map[string]struct {
		listed    bool
		questions []Question
		list      []sallyport.TrustedDestination
		want      bool
	}{
		"the address":        {true, []Question{bob}, []sallyport.TrustedDestination{entry("bob@partner.example", "", time.Time{})}, true},
		"a pattern":          {true, []Question{bob}, []sallyport.TrustedDestination{entry("*@partner.example", "send_email", now.Add(time.Hour))}, true},
		"another tool":       {true, []Question{bob}, []sallyport.TrustedDestination{entry("bob@partner.example", "pay", time.Time{})}, false},
		"over":               {true, []Question{bob}, []sallyport.TrustedDestination{entry("bob@partner.example", "", now)}, false},
		"another caller":     {false, []Question{bob}, []sallyport.TrustedDestination{entry("bob@partner.example", "", time.Time{})}, false},
		"one of two":         {true, []Question{bob, carol}, []sallyport.TrustedDestination{entry("bob@partner.example", "", time.Time{})}, false},
		"two of two":         {true, []Question{bob, carol}, []sallyport.TrustedDestination{entry("bob@partner.example", "", time.Time{}), entry("*@firm.example", "", time.Time{})}, true},
		"passed on":          {true, []Question{{Destination: "bob@partner.example", Origin: "carried"}}, []sallyport.TrustedDestination{entry("bob@partner.example", "", time.Time{})}, false},
		"the call as such":   {true, []Question{bob, {}}, []sallyport.TrustedDestination{entry("bob@partner.example", "", time.Time{})}, false},
		"nothing on it":      {true, []Question{bob}, nil, false},
		"no question at all": {true, nil, []sallyport.TrustedDestination{entry("bob@partner.example", "", time.Time{})}, false},
	} {
		a := Approval{Tool: "send_email", Upstream: "mail", Listed: c.listed, Questions: c.questions}
		if got := a.OnList(c.list, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What a person pastes into a shell holds nothing that an agent could have put there.
func TestTrustCommands(t *testing.T) {
	q := func(ds ...string) (all []Question) {
		for _, d := range ds {
			all = append(all, Question{Destination: d, Origin: "unknown"})
		}
		return all
	}
	const left = `sallyport trust DESTINATION --because "WHY"`
	for name, c := range map[string]struct {
		listed    bool
		questions []Question
		want      []string
	}{
		"an address":      {true, q("bob@partner.example"), []string{`sallyport trust bob@partner.example --because "WHY"`}},
		"two":             {true, q("bob@partner.example", "carol@x.example"), []string{`sallyport trust bob@partner.example --because "WHY"`, `sallyport trust carol@x.example --because "WHY"`}},
		"not this caller": {false, q("bob@partner.example"), nil},
		"a command":       {true, q("$(id)@x.example", "`id`", "a;id", "--for", "*@x.example", "a b", "a\nb", "\u202ea"), []string{left}},
		"no destination":  {true, []Question{{}}, nil},
	} {
		a := Approval{Listed: c.listed, Questions: c.questions}
		if got := a.TrustCommands(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
