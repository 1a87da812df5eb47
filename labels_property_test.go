package sallyport_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
)

// deskPeople are the destinations of the property tests.
var deskPeople = []string{"ana@partner.example", "ben@partner.example", "eve@attacker.example", "zoe@corp.example", "#project-team", "https://wiki.example/a"}

// verdicts are what becomes of a send to each, alone and with content.
func verdicts(t *testing.T, s *sallyport.Session) map[string]sallyport.Verdict {
	all := map[string]sallyport.Verdict{}
	for _, p := range deskPeople {
		for _, args := range []string{fmt.Sprintf(`{"to":%q}`, p), fmt.Sprintf(`{"to":"zoe@corp.example","body":"ask %s"}`, p)} {
			all[args] = s.Explain(t.Context(), call(t, "send", args)).Decision.Verdict
		}
	}
	return all
}

func drawResult(t *rapid.T) string {
	p := rapid.SampledFrom(deskPeople).Draw(t, "who")
	return fmt.Sprintf(rapid.SampledFrom([]string{
		`{"structuredContent":{"from":%q}}`, `{"structuredContent":[{"email":%q}]}`, `{"structuredContent":[{"to":%q}]}`, `{"structuredContent":{"team_note":%q}}`,
		`{"structuredContent":{"body":%q}}`, `{"content":[{"type":"text","text":%q}]}`, `{"isError":true,"structuredContent":[{"email":%q}]}`, `{"structuredContent":{"token":%q}}`,
	}).Draw(t, "form"), p)
}

// A call that is refused, or that nobody agrees to, changes nothing of what is known.
func TestPropertyRefusedCallsTeachNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(sallyport.Profiles()).Draw(rt, "profile")
		s := profile(t, name)
		for range rapid.IntRange(0, 4).Draw(rt, "outputs") {
			runs(t, s, rapid.SampledFrom([]string{"read_mail", "contacts", "drafts", "vault", "get_page"}).Draw(rt, "tool"), `{}`, drawResult(rt))
		}
		before := verdicts(t, s)
		for range rapid.IntRange(1, 4).Draw(rt, "calls") {
			p := rapid.SampledFrom(deskPeople).Draw(rt, "to")
			d := decide(t, s, rapid.SampledFrom([]string{"send", "draft", "nosuch", "set_password"}).Draw(rt, "sink"), fmt.Sprintf(`{"to":%q,"password":"x","body":"hello"}`, p))
			if d.Verdict == sallyport.Ask {
				d = s.Answer(t.Context(), d.ID, false)
			}
			if d.Verdict == sallyport.Allow {
				s.Forget(d.ID) // decided and never started
				continue
			}
			s.Start(t.Context(), d.ID)
			s.Forget(d.ID)
		}
		for args, v := range verdicts(t, s) {
			if v != before[args] {
				rt.Fatalf("%s was %v and is %v", args, before[args], v)
			}
		}
	})
}

// Output without a label that loosens never makes a verdict milder.
func TestPropertyOutputNeverMakesMilder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := profile(t, rapid.SampledFrom(sallyport.Profiles()).Draw(rt, "profile"))
		for range rapid.IntRange(0, 4).Draw(rt, "outputs") {
			runs(t, s, rapid.SampledFrom([]string{"read_mail", "contacts", "drafts", "vault", "get_page"}).Draw(rt, "tool"), `{}`, drawResult(rt))
		}
		before := verdicts(t, s)
		tool := rapid.SampledFrom([]string{"get_page", "vault", "observed"}).Draw(rt, "added")
		if tool == "observed" {
			v, err := doc.Parse([]byte(drawResult(rt)), doc.Limits{})
			if err != nil {
				rt.Fatal(err)
			}
			s.Observe(sallyport.Output{Upstream: "u", Tool: "contacts", Value: v})
		} else {
			runs(t, s, tool, `{}`, drawResult(rt))
		}
		for args, v := range verdicts(t, s) {
			if v > before[args] {
				rt.Fatalf("%s was %v and is %v", args, before[args], v)
			}
		}
	})
}
