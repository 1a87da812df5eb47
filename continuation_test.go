package sallyport_test

import (
	"testing"

	"github.com/sallyport-dev/sallyport"
)

// A refused attempt is over: naming it does not make the next one free.
func TestContinuingARefusalIsANewAttempt(t *testing.T) {
	s := session(t, sallyport.Options{Contracts: contracts(t, `
once: {max_calls: 1}
pay: {max_calls: 2, exfiltrating: true, sink_params: [to]}
`)}, "once", "pay")
	want(t, decide(t, s, "once", `{}`), sallyport.Allow, "", "")
	c := call(t, "once", `{}`)
	for range 3 {
		d := s.Decide(t.Context(), c)
		want(t, d, sallyport.Deny, sallyport.CheckBudget, "max_calls is 1")
		c.Continues = d.ID
	}

	// The budget counts refused attempts too, however they are linked.
	s.Observe(sallyport.Output{Upstream: "u", Tool: "read", Value: value(t, `"eve@attacker.example"`)})
	c = call(t, "pay", `{"to":"eve@attacker.example"}`)
	for range 2 {
		d := s.Decide(t.Context(), c)
		want(t, d, sallyport.Deny, sallyport.CheckFlow, "first seen")
		c.Continues = d.ID
	}
	want(t, s.Decide(t.Context(), c), sallyport.Deny, sallyport.CheckBudget, "max_calls is 2")
}

// A call that was refused before its budget was charged is charged when it comes back.
func TestContinuingAnUnchargedCallIsCharged(t *testing.T) {
	e, err := sallyport.New(sallyport.Options{Contracts: contracts(t, "once: {max_calls: 1}")})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Session(sallyport.SessionOptions{Caller: "c", Doubt: "d"})
	if err != nil {
		t.Fatal(err)
	}
	first := decide(t, s, "once", `{}`) // the list is not known yet
	want(t, first, sallyport.Deny, sallyport.CheckPin, "")
	s.Pin("u", tools(t, "u", `{"name":"once"}`))
	c := call(t, "once", `{}`)
	c.Continues = first.ID
	want(t, s.Decide(t.Context(), c), sallyport.Allow, "", "")
	want(t, decide(t, s, "once", `{}`), sallyport.Deny, sallyport.CheckBudget, "")
}

// A yes covers what was asked, not what is known later.
func TestAYesCoversOnlyWhatWasAsked(t *testing.T) {
	for _, again := range []string{"start", "continue"} {
		s := session(t, sallyport.Options{Contracts: contracts(t, mail), Flow: settings(func(f *sallyport.FlowSettings) { f.Untrusted = sallyport.Ask })}, "send")
		ctx := t.Context()
		c := call(t, "send", `{"to":"cy@partner.example"}`)
		d := s.Decide(ctx, c)
		want(t, d, sallyport.Ask, sallyport.CheckFlow, "not a vouched recipient")
		want(t, s.Answer(ctx, d.ID, true), sallyport.Allow, "", "")
		s.Observe(sallyport.Output{Upstream: "u", Tool: "read", Value: value(t, `"cy@partner.example"`)})
		if again == "start" {
			want(t, s.Start(ctx, d.ID), sallyport.Deny, sallyport.CheckFlow, "not what a human agreed to")
			continue
		}
		c.Continues = d.ID
		want(t, s.Decide(ctx, c), sallyport.Ask, sallyport.CheckFlow, "first seen")
	}
}

// What was agreed to holds for the rounds of one call.
func TestAYesHoldsForAContinuation(t *testing.T) {
	s := session(t, sallyport.Options{Contracts: contracts(t, mail)}, "send", "wipe")
	for _, c := range []sallyport.Call{call(t, "send", `{"to":["cy@partner.example","di@partner.example"]}`), call(t, "wipe", `{}`)} {
		d := s.Decide(t.Context(), c)
		want(t, s.Answer(t.Context(), d.ID, true), sallyport.Allow, "", "")
		want(t, s.Start(t.Context(), d.ID), sallyport.Allow, "", "")
		c.Continues = d.ID
		d = s.Decide(t.Context(), c)
		want(t, d, sallyport.Allow, "", "")
		want(t, s.Start(t.Context(), d.ID), sallyport.Allow, "", "")
		c.Continues = 0
		if d = s.Decide(t.Context(), c); d.Verdict != sallyport.Ask {
			t.Errorf("a call of its own is not asked about: %v", d.Verdict)
		}
	}
}
