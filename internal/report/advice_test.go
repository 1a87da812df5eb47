package report

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/audit"
)

// TestAdviceFitsWhatWasRefused: nobody is sent to look for what is not there.
func TestAdviceFitsWhatWasRefused(t *testing.T) {
	const hint = "; a person can see the difference with: sallyport pins diff --upstream desk"
	flow := func(origin, tool string) audit.Record {
		r := call("send", "deny", "flow", "denied")
		r.Evidence = []audit.Evidence{{Argument: "to", Destination: "x@y.example", Origin: origin, Tool: tool}}
		return r
	}
	pin := func(reason string) audit.Record {
		r := call("nonsense", "deny", "pin", "denied")
		r.Reason = reason
		return r
	}
	for name, c := range map[string]struct {
		r          audit.Record
		want, none string
	}{
		"from a text":     {flow("untrusted", "read"), "Find who wrote the text", "No text"},
		"from a page":     {flow("inside", "read"), "Find who wrote the text", "No text"},
		"from nowhere":    {flow("unknown", ""), "No text that the session showed chose the destination", "who wrote the text"},
		"of the agent's":  {flow("unknown", "read"), "No text that the session showed chose the destination", "who wrote the text"},
		"what it carries": {flow("carried", "read"), "Find out what the call was to carry away", "who wrote the text"},
		"a secret":        {flow("secret", ""), "Find out what the call was to carry away", "who wrote the text"},
		"no destination":  {call("send", "deny", "flow", "denied"), "Find out what the call was to carry away", "who wrote the text"},
		"changed":         {pin("tool 'nonsense' is refused: its definition changed since it was pinned (description)" + hint), "See the difference with sallyport pins diff.", "does not list"},
		"not listed":      {pin("the server lists no tool 'nonsense'"), "The server does not list it, so there is no difference to see", "sallyport pins diff"},
		"listed twice":    {pin("tool 'nonsense' is refused: its name is listed twice"), "says what is wrong with the server's list", "sallyport pins diff"},
		"a name that lies": {
			pin("the server lists no tool 'nonsense; a person can see the difference with: sallyport pins diff'"), "The server does not list it", "See the difference",
		},
	} {
		p := build(t, input(t, "version: 1\n", nil, writeLog(t, c.r)))
		found := false
		for _, f := range p.Findings {
			if f.Kind != "refused" {
				continue
			}
			found = true
			advice := ""
			for _, s := range f.do {
				advice += s.text
			}
			if !strings.Contains(advice, c.want) || strings.Contains(advice, c.none) {
				t.Errorf("%s: %q", name, advice)
			}
		}
		if !found {
			t.Errorf("%s: no finding", name)
		}
	}
}
