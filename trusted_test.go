package sallyport_test

import (
	"context"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/flow"
)

// The user's own list lets through what a contract's trusted_destinations would: for its
// tool, until it expires, and no further than the pattern.
func TestUserListIsLayeredUnderTrustedDestinations(t *testing.T) {
	start := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	now := start
	entry := func(pattern, upstream, tool string, expires time.Time) sallyport.TrustedDestination {
		p, err := flow.ParsePattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return sallyport.TrustedDestination{Pattern: p, Upstream: upstream, Tool: tool, Expires: expires, Name: "the user's trust list (" + pattern + ")"}
	}
	list := []sallyport.TrustedDestination{
		entry("bob@partner.example", "", "", start.Add(time.Hour)),
		entry("carol@partner.example", "u", "send_email", time.Time{}),
		entry("dan@partner.example", "", "other_tool", time.Time{}),
		entry("eve@partner.example", "other", "", time.Time{}),
	}
	calls := 0
	e, err := sallyport.New(sallyport.Options{Now: func() time.Time { return now }, Trusted: func() []sallyport.TrustedDestination { calls++; return list }})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Session(sallyport.SessionOptions{Caller: "local", Doubt: "d"})
	if err != nil {
		t.Fatal(err)
	}
	s.Pin("u", tools(t, "u", `{"name":"send_email","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"body":{"type":"string"}}}}`))
	verdict := func(to string) sallyport.Decision {
		return s.Decide(context.Background(), call(t, "send_email", `{"to":"`+to+`","body":"hello"}`))
	}
	for to, want := range map[string]sallyport.Verdict{
		"bob@partner.example": sallyport.Allow, "Bob <bob@PARTNER.example>": sallyport.Allow, "carol@partner.example": sallyport.Allow,
		"dan@partner.example": sallyport.Ask, "eve@partner.example": sallyport.Ask, "bob@partner.example.evil.example": sallyport.Ask, "xbob@partner.example": sallyport.Ask,
		"bob@partner.example, mallory@evil.example": sallyport.Ask,
	} {
		calls = 0
		d := verdict(to)
		if d.Verdict != want || calls > 1 {
			t.Errorf("%s: %v (%s), the list was read %d times", to, d.Verdict, d.Reason, calls)
		}
		if want == sallyport.Allow && (len(d.Evidence) != 1 || d.Evidence[0].Origin != "trusted" || d.Evidence[0].Place == "") {
			t.Errorf("%s: the decision does not say that it is on the list: %+v", to, d.Evidence)
		}
	}
	now = start.Add(time.Hour)
	if d := verdict("bob@partner.example"); d.Verdict != sallyport.Ask {
		t.Errorf("an expired entry: %v", d.Verdict)
	}
	list = nil
	if d := verdict("carol@partner.example"); d.Verdict != sallyport.Ask || d.Questions[0].Origin() != "unknown" {
		t.Errorf("a removed entry: %v %+v", d.Verdict, d.Questions)
	}
}
