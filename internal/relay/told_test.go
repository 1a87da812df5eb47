package relay

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// What a refusal quotes reaches the agent and the logs of clients: nothing secret is in it.
func TestRefusalsQuoteNoSecret(t *testing.T) {
	token := "npm_" + strings.Repeat("a8Zq03", 6)
	args, err := doc.Parse([]byte(`{"password":"open sesame","to":"x"}`), doc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(filepath.Join(t.TempDir(), "audit.jsonl"), audit.Options{Redaction: audit.Redaction{DropArguments: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	text := "the value '" + token + "' and 'x.example' of args.password 'open sesame'"
	for name, r := range map[string]*Relay{"no log": {}, "log": {opt: Options{Audit: log}}} {
		c := &call{args: args, decision: sallyport.Decision{
			Reason:    text,
			Evidence:  []sallyport.Evidence{{Argument: token, Destination: "https://a:" + token + "@x.example/"}},
			Questions: []sallyport.Question{{Argument: token, Destination: token, Text: text}},
		}}
		data, err := r.told(c).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if s := string(data); strings.Contains(s, token[4:]) || !strings.Contains(s, "x.example") {
			t.Errorf("%s: %s", name, s)
		}
		if s := string(data); name == "log" && strings.Contains(s, "sesame") {
			t.Errorf("%s: what stands under a secret name is told: %s", name, s)
		}
		if c.decision.Reason != text || c.decision.Evidence[0].Argument != token {
			t.Errorf("%s: the decision itself was changed", name)
		}
	}
}

func TestTraceOf(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for parent, want := range map[string]string{
		`"00-` + id + `-00f067aa0ba902b7-01"`:                      id,
		`"01-` + id + `-00f067aa0ba902b7-01-more"`:                 id,
		`"00-` + strings.Repeat("0", 32) + `-00f067aa0ba902b7-01"`: "",
		`"00-` + strings.ToUpper(id) + `-00f067aa0ba902b7-01"`:     "",
		`"00-` + id + `"`: "",
		`""`:              "",
		`7`:               "",
		`null`:            "",
	} {
		m, bad := mcp.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"traceparent":` + parent + `}}}`))
		if bad != nil {
			t.Fatal(bad)
		}
		var c call
		if c.readsMeta(m); c.trace != want {
			t.Errorf("%s: %q, want %q", parent, c.trace, want)
		}
	}
}
