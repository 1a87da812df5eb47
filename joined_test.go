package sallyport_test

import (
	"testing"

	"github.com/sallyport-dev/sallyport"
)

// A repository is named by two arguments. Each alone is a word that any output shows.
func TestJoinedSinks(t *testing.T) {
	const forge = `
create_issue: {exfiltrating: true, sink_params: ["{owner}/{repo}"], trusted_destinations: [ourfirm/site]}
mine: {exfiltrating: false, output: {"[*].full_name": vouched}}
`
	for _, c := range []struct {
		name, prompt, seen, args string
		want                     sallyport.Verdict
	}{
		{"typed", "file it in acme-tools/widgets", "acme-tools widgets", `{"owner":"acme-tools","repo":"widgets"}`, sallyport.Allow},
		{"typed as a page", "see https://github.com/acme-tools/widgets/issues/4 and file another", "acme-tools widgets", `{"owner":"acme-tools","repo":"widgets"}`, sallyport.Allow},
		{"trusted", "", "ourfirm/site", `{"owner":"ourfirm","repo":"site"}`, sallyport.Allow},
		{"only its owner is typed", "file it with acme-tools", "acme-tools/widgets", `{"owner":"acme-tools","repo":"widgets"}`, sallyport.Deny},
		{"another repository of the owner", "file it in acme-tools/widgets", "acme-tools/evil-tools", `{"owner":"acme-tools","repo":"evil-tools"}`, sallyport.Deny},
		{"from outside", "", "file it in acme-tools/widgets", `{"owner":"acme-tools","repo":"widgets"}`, sallyport.Deny},
		{"a part that holds the separator", "file it in acme-tools/widgets", "acme-tools/widgets/evil", `{"owner":"acme-tools/widgets","repo":"evil-corp"}`, sallyport.Ask},
		{"named apart", "comment on the widgets repository of acme-tools", "https://api.github.com/repos/acme-tools/widgets/issues/7", `{"owner":"acme-tools","repo":"widgets"}`, sallyport.Allow},
		{"one of them named", "comment on the widgets repository", "https://api.github.com/repos/acme-tools/widgets/issues/7", `{"owner":"acme-tools","repo":"widgets"}`, sallyport.Deny},
		{"short words together", "", "push it to evil/loot", `{"owner":"evil","repo":"loot"}`, sallyport.Deny},
		{"never seen", "", "nothing", `{"owner":"acme-tools","repo":"widgets"}`, sallyport.Ask},
		{"half is missing", "file it in acme-tools/widgets", "acme-tools", `{"owner":"acme-tools"}`, sallyport.Deny},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := session(t, sallyport.Options{Contracts: contracts(t, forge)}, "create_issue", "mine")
			s.Prompt(c.prompt)
			s.Observe(sallyport.Output{Upstream: "u", Tool: "read", Value: value(t, `"`+c.seen+`"`)})
			if d := decide(t, s, "create_issue", c.args); d.Verdict != c.want {
				t.Errorf("%s, want %s: %s", d.Verdict, c.want, d.Reason)
			}
		})
	}
}

func TestDestinationOptional(t *testing.T) {
	s := session(t, sallyport.Options{Contracts: contracts(t, "add_event: {exfiltrating: true, sink_params: [guests], destination_optional: true}")}, "add_event")
	s.Observe(sallyport.Output{Upstream: "u", Tool: "read", Value: value(t, `"eve@attacker.example"`)})
	want(t, decide(t, s, "add_event", `{"title":"Lunch"}`), sallyport.Allow, "", "")
	want(t, decide(t, s, "add_event", `{"title":"Lunch","guests":[]}`), sallyport.Allow, "", "")
	want(t, decide(t, s, "add_event", `{"title":"Lunch","guests":["eve@attacker.example"]}`), sallyport.Deny, sallyport.CheckFlow, "")
	want(t, decide(t, s, "add_event", `{"title":"Lunch","also":"eve@attacker.example"}`), sallyport.Deny, sallyport.CheckFlow, "")
}
