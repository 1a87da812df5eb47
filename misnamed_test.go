package sallyport_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/policy"
)

const misnamedRules = `p:
  rules:
    - name: allows
      effect: allow
      tools: ["*"]
      prompts: [hello]
    - name: exact
      effect: deny
      tools: [read*, send, crm__wipe]
    - name: one
      effect: deny
      upstreams: [desk]
      tools: [wipe]
    - name: selected
      effect: deny
      when: {tool: {in: [none, wipe]}}
`

func TestNamesThatExistOnlyTheOtherWay(t *testing.T) {
	e, err := sallyport.New(sallyport.Options{
		Policy:    rules(t, misnamedRules),
		Contracts: contracts(t, "send: {exfiltrating: false}\ncrm__wipe: {destructive: true}\ndesk/desk__wipe: {destructive: true}\ndesk/crm__wipe: {max_calls: 1}\nnone: {max_calls: 1}\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	named := func(format string, upstreams ...string) (all []sallyport.Named) {
		for _, u := range upstreams {
			for _, name := range []string{"send", "read_all", "wipe"} {
				all = append(all, sallyport.Named{Upstream: u, Name: name, Shown: fmt.Sprintf(format, u, name)})
			}
			all = append(all, sallyport.Named{Subject: policy.Prompt, Upstream: u, Name: "hello", Shown: fmt.Sprintf(format, u, "hello")})
		}
		return all
	}
	entries := []string{
		"test.yaml:2:1: the entry names the tool 'crm__wipe', which its server calls something else: write 'crm/wipe'",
	}
	for _, c := range []struct {
		name string
		all  []sallyport.Named
		want []string
	}{
		{"two servers, with a prefix", named("%s__%s", "crm", "desk"), append([]string{
			"test.yaml:6:17: rule 'allows' names the prompt 'hello', which the client sees as 'crm__hello' or 'desk__hello'",
			"test.yaml:9:22: rule 'exact' names the tool 'send', which the client sees as 'crm__send' or 'desk__send'",
			"test.yaml:13:15: rule 'one' names the tool 'wipe', which the client sees as 'desk__wipe': a rule is about what the client sees",
			"test.yaml:16:25: rule 'selected' names the tool 'wipe', which the client sees as 'crm__wipe' or 'desk__wipe'",
		}, append(slices.Clone(entries), "test.yaml:3:1: the entry names the tool 'desk__wipe', which its server calls something else: write 'desk/wipe'")...)},
		{"one server, without", []sallyport.Named{{Upstream: "crm", Name: "send"}, {Upstream: "crm", Name: "wipe"}}, append([]string{
			"test.yaml:9:28: rule 'exact' names the tool 'crm__wipe', which the client sees as 'wipe'",
		}, entries...)},
		{"nothing is known", nil, nil},
		{"a tool is really called so", []sallyport.Named{
			{Upstream: "crm", Name: "wipe", Shown: "crm__wipe"}, {Upstream: "crm", Name: "crm__wipe", Shown: "crm__crm__wipe"}, {Upstream: "x", Name: "wipe"}, {Upstream: "x", Name: "send"},
		}, nil},
	} {
		got := e.Misnamed(c.all, "__")
		for i, m := range got {
			if i >= len(c.want) || !strings.HasPrefix(m.String(), c.want[i]) {
				t.Errorf("%s: %s", c.name, m)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %d findings, want %d", c.name, len(got), len(c.want))
		}
	}
	if got := (sallyport.Misnamed{Text: "x"}).String(); got != "x" {
		t.Error(got)
	}
}
