package sallyport_test

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/policy"
)

// Nobody learns by calling whether a tool exists that the policy hides: not before the
// first list, and not when it is new or changed.
func TestHiddenToolsAreRefusedAsThoseThatDoNotExist(t *testing.T) {
	s := session(t, sallyport.Options{Policy: rules(t, `
p:
  hide_denied_tools: true
  rules:
    - {name: shown, effect: allow, tools: [read, gone]}
    - {name: wipes, effect: deny, tools: ["wipe*"]}
`)})
	of := func(name string) sallyport.Call {
		return sallyport.Call{Subject: policy.Tool, Upstream: "a", Name: name, Args: value(t, `{}`)}
	}
	list := func(description string, names ...string) {
		var all []contract.Tool
		for _, n := range names {
			all = append(all, contract.Tool{Upstream: "a", Name: n, Definition: value(t, `{"name":"`+n+`","description":"`+description+`"}`)})
		}
		s.Pin("a", all)
	}
	same := func(when string) {
		t.Helper()
		for _, names := range [][2]string{{"secret", "absent"}, {"wipe", "wipes"}} {
			is, not := s.Decide(t.Context(), of(names[0])), s.Decide(t.Context(), of(names[1]))
			if is.Verdict != sallyport.Deny || is.Check != sallyport.CheckPolicy || is.Check != not.Check || is.Rule != not.Rule || strings.ReplaceAll(is.Reason, names[0]+"'", names[1]+"'") != not.Reason {
				t.Errorf("%s: %s: %s %s; %s: %s %s", when, names[0], is.Check, is.Reason, names[1], not.Check, not.Reason)
			}
		}
	}
	same("before the first list")
	list("one", "read", "secret", "wipe")
	same("listed")
	list("another", "read", "secret", "wipe", "wipenew")
	same("changed")
	want(t, s.Decide(t.Context(), of("gone")), sallyport.Deny, sallyport.CheckPin, "lists no tool 'gone'")
	want(t, s.Decide(t.Context(), of("read")), sallyport.Deny, sallyport.CheckPin, "its definition is not the one")
	if x := s.Explain(t.Context(), of("secret")); x.Decision.Check != sallyport.CheckPin {
		t.Errorf("explained by %s", x.Decision.Check)
	}
}
