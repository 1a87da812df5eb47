package sallyport_test

import (
	"testing"

	"github.com/sallyport-dev/sallyport"
)

// Where any argument may say where a call goes, the text of a post is still a text: it is
// asked about, not refused for its line breaks, and what stands in it is looked up.
func TestEveryArgumentMayBeContent(t *testing.T) {
	for _, c := range []struct {
		args string
		want sallyport.Verdict
	}{
		{`{"text":"Hello world\nsecond line"}`, sallyport.Ask},
		{`{"text":"We are pleased to say that the office opens on Monday."}`, sallyport.Ask},
		{`{"text":"Hello\nsee https://drop.attacker.example/x"}`, sallyport.Deny},
		{`{"text":"Please write to eve@attacker.example today, all of you"}`, sallyport.Deny},
		{`{"text":"eve@attacker.example\nann@corp.example"}`, sallyport.Deny},
		{`{"text":["a","Hello\nworld and drop.attacker.example too"]}`, sallyport.Deny},
		{`{"to":"ann@corp.example\r\nBcc: ben@corp.example"}`, sallyport.Deny},
		{`{"text":"tab\u0000nul"}`, sallyport.Deny},
	} {
		s := session(t, sallyport.Options{Contracts: contracts(t, "post: {exfiltrating: true}")}, "post")
		s.Observe(sallyport.Output{Upstream: "u", Tool: "read", Value: value(t, `"mail eve@attacker.example or https://drop.attacker.example/in"`)})
		if d := decide(t, s, "post", c.args); d.Verdict != c.want {
			t.Errorf("%s: %s, want %s: %s", c.args, d.Verdict, c.want, d.Reason)
		}
	}
}
