package sallyport_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/policy"
)

// A trusted value in another argument does not stand in for the sink that is missing.
func TestATrustedDecoyDoesNotReplaceTheSink(t *testing.T) {
	s := session(t, sallyport.Options{Contracts: contracts(t, `
send: {exfiltrating: true, sink_params: [to, cc], trusted_destinations: ["*@corp.example", "docs.corp.example"]}
nest: {exfiltrating: true, sink_params: ["action.forward", "items[*].email"], trusted_destinations: ["*@corp.example"]}
`)}, "send", "nest")
	s.Observe(sallyport.Output{Upstream: "u", Tool: "read", Value: value(t, `"eve@attacker.example"`)})
	for _, c := range []struct {
		tool, args string
		verdict    sallyport.Verdict
	}{
		{"send", `{"To":"leaks-external","note":"https://docs.corp.example/"}`, sallyport.Ask},
		{"send", `{"to":"","reply_to":"ann@corp.example"}`, sallyport.Ask},
		{"nest", `{"action":{"Forward":"leaks-external"},"from":"ann@corp.example"}`, sallyport.Ask},
		{"nest", `{"items":"[{\"email\":\"leaks-external\"}]","action":{"forward":"ann@corp.example"}}`, sallyport.Ask},
		{"nest", `{"items":["leaks-external"],"action":{"forward":"ann@corp.example"}}`, sallyport.Ask},
		{"nest", `{"action":"{\"forward\":\"eve@attacker.example\"}"}`, sallyport.Deny},
		{"nest", `{"action":"{\"forward\":\"ann@corp.example\"}"}`, sallyport.Allow},
		{"send", `{"to":"ann@corp.example","eve@attacker.example":"admin"}`, sallyport.Deny},
		{"send", `{"cc":"ann@corp.example"}`, sallyport.Allow},
		{"send", `{"to":"ann@corp.example","note":"https://docs.corp.example/"}`, sallyport.Allow},
	} {
		if d := decide(t, s, c.tool, c.args); d.Verdict != c.verdict {
			t.Errorf("%s %s: %v, want %v: %s", c.tool, c.args, d.Verdict, c.verdict, d.Reason)
		}
	}
}

// A resource is a destination whatever spelling leads its reader to the network.
func TestResourcesThatLeadToTheNetwork(t *testing.T) {
	s := session(t, sallyport.Options{})
	s.Observe(sallyport.Output{Upstream: "u", Tool: "read", Value: value(t, `"https://collect.attacker.example/in"`)})
	s.Listed("u", []string{"https://own.example/ page"})
	for uri, verdict := range map[string]sallyport.Verdict{
		"https://collect.attacker.example/x":   sallyport.Deny,
		" https://collect.attacker.example/x":  sallyport.Deny,
		"ht\ttps://collect.attacker.example/x": sallyport.Deny,
		"//collect.attacker.example/x":         sallyport.Deny,
		"sftp://collect.attacker.example/x":    sallyport.Deny,
		"file://collect.attacker.example/x":    sallyport.Deny,
		"https://new.example/":                 sallyport.Ask,
		"https://own.example/ page":            sallyport.Allow,
		"file:///home/u/README.md":             sallyport.Allow,
		"demo://resource/1":                    sallyport.Allow,
	} {
		d := s.Decide(t.Context(), sallyport.Call{Subject: policy.Resource, Upstream: "u", Name: uri})
		if d.Verdict != verdict {
			t.Errorf("%q: %v, want %v: %s", uri, d.Verdict, verdict, d.Reason)
		}
	}
}

// The names of a call's arguments are its own words as much as their values.
func TestPlacesInReasonsAreEscapedAndBounded(t *testing.T) {
	s := session(t, sallyport.Options{Contracts: contracts(t, "post: {exfiltrating: true}\nquery: {arg_patterns: {'[*]': x}}\nwrite: {write_params: ['[*]'], allowed_path_prefixes: [/p]}")}, "post", "query", "write")
	for _, name := range []string{"\u202eab", "a\nb", "\u200bab"} {
		for _, tool := range []string{"post", "query", "write"} {
			for _, v := range []string{`"eve@attacker.example"`, `7`, `"a\r\n"`} {
				args, err := json.Marshal(name)
				if err != nil {
					t.Fatal(err)
				}
				d := decide(t, s, tool, fmt.Sprintf(`{%s:%s}`, args, v))
				data, err := json.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range append([]string{d.Reason, string(data)}, texts(d)...) {
					if strings.ContainsAny(text, "\u202e\u200b\n") {
						t.Errorf("%s: not safe to show: %q", tool, text)
					}
				}
			}
		}
	}
	deep := strings.Repeat(`{"`+strings.Repeat("n", 60)+`":`, 300) + `"eve@attacker.example"` + strings.Repeat("}", 300)
	if d := decide(t, s, "post", deep); len(d.Reason) > 1000 {
		t.Errorf("%d bytes of reason", len(d.Reason))
	}
}

func texts(d sallyport.Decision) (all []string) {
	for _, q := range d.Questions {
		all = append(all, q.Text)
	}
	return all
}

// Each element of a list needs its own path, and its own match.
func TestEveryElementNeedsItsValue(t *testing.T) {
	s := session(t, sallyport.Options{Contracts: contracts(t, `
write: {write_params: ["files[*].path"], allowed_path_prefixes: [/p]}
query: {arg_patterns: {"queries[*].sql": "SELECT .*"}}
`)}, "write", "query")
	for args, verdict := range map[string]sallyport.Verdict{
		`{"files":[{"path":"/p/x"},{"path":"/p/y"}],"queries":[{"sql":"SELECT 1"},{"sql":"SELECT 2"}]}`: sallyport.Allow,
		`{"files":[{"path":"/p/x"},"/etc/passwd"],"queries":[{"sql":"SELECT 1"},"DROP x"]}`:             sallyport.Deny,
		`{"files":[{"path":"/p/x"},{"Path":"/etc/x"}],"queries":[{"sql":"SELECT 1"},{"SQL":"DROP x"}]}`: sallyport.Deny,
		`{"files":[{"path":"/p/x"},null],"queries":[{"sql":"SELECT 1"},null]}`:                          sallyport.Deny,
		`{"files":[],"queries":[]}`: sallyport.Deny,
	} {
		for _, tool := range []string{"write", "query"} {
			if d := decide(t, s, tool, args); d.Verdict != verdict {
				t.Errorf("%s %s: %v, want %v: %s", tool, args, d.Verdict, verdict, d.Reason)
			}
		}
	}
}
