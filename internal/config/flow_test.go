package config

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
)

func TestFlowSection(t *testing.T) {
	const allow, ask, deny = sallyport.Allow, sallyport.Ask, sallyport.Deny
	profile := func(name string) sallyport.FlowSettings {
		f, ok := sallyport.Profile(name)
		if !ok {
			t.Fatal(name)
		}
		return f
	}
	changed := func(name string, change func(*sallyport.FlowSettings)) sallyport.FlowSettings {
		f := profile(name)
		change(&f)
		return f
	}
	for text, want := range map[string]sallyport.FlowSettings{
		"{}":                  profile("balanced"),
		"{profile: strict}":   profile("strict"),
		"{profile: balanced}": profile("balanced"),
		"{profile: assist}":   profile("assist"),
		// What stands beside a profile counts, wherever it stands.
		"{inside: ask, profile: strict}":       changed("strict", func(f *sallyport.FlowSettings) { f.Inside = ask }),
		"{profile: strict, inside: ask}":       changed("strict", func(f *sallyport.FlowSettings) { f.Inside = ask }),
		"{endorse: false, profile: assist}":    changed("assist", func(f *sallyport.FlowSettings) { f.Endorse = false }),
		"{endorse: true}":                      changed("balanced", func(f *sallyport.FlowSettings) { f.Endorse = true }),
		"{untrusted: ask}":                     changed("balanced", func(f *sallyport.FlowSettings) { f.Untrusted = ask }),
		"{inside: deny}":                       changed("balanced", func(f *sallyport.FlowSettings) { f.Inside = deny }),
		"{party: allow}":                       changed("balanced", func(f *sallyport.FlowSettings) { f.Party = allow }),
		"{party: deny}":                        changed("balanced", func(f *sallyport.FlowSettings) { f.Party = deny }),
		"{unknown: allow}":                     changed("balanced", func(f *sallyport.FlowSettings) { f.Unknown = allow }),
		"{unknown: deny}":                      changed("balanced", func(f *sallyport.FlowSettings) { f.Unknown = deny }),
		"{carried: allow, copies: allow}":      changed("balanced", func(f *sallyport.FlowSettings) { f.Carried, f.Copies = allow, allow }),
		"{carried: deny, copies: deny}":        changed("balanced", func(f *sallyport.FlowSettings) { f.Carried, f.Copies = deny, deny }),
		"{secret: deny, party: ask}":           changed("balanced", func(f *sallyport.FlowSettings) { f.Secret = deny }),
		"{untrusted: deny, profile: balanced}": profile("balanced"),
	} {
		c, err := Load("s.yaml", []byte("version: 1\nflow: "+text), Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if c.Flow != want {
			t.Errorf("%s: %+v, want %+v", text, c.Flow, want)
		}
	}
	for text, want := range map[string]string{
		"{untrusted: allow}":       "'allow' is not one of deny, ask",
		"{inside: allow}":          "'allow' is not one of ask, deny",
		"{secret: allow}":          "'allow' is not one of ask, deny",
		"{profile: Strict}":        "'Strict' is not one of",
		"{profile: [strict]}":      "write text here",
		"{endorse: ask}":           "write true or false",
		"{carry: ask}":             "unknown key 'carry'",
		"{party: ask, party: ask}": "party",
		"strict":                   "",
	} {
		if _, err := Load("s.yaml", []byte("version: 1\nflow: "+text), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// None of the profiles allows anything, and each is at least as strict as the next.
func TestProfilesAreInOrder(t *testing.T) {
	var last sallyport.FlowSettings
	for i, name := range sallyport.Profiles() {
		f, _ := sallyport.Profile(name)
		all := func(f sallyport.FlowSettings) []sallyport.Verdict {
			return []sallyport.Verdict{f.Untrusted, f.Inside, f.Party, f.Unknown, f.Carried, f.Copies, f.Secret}
		}
		for j, v := range all(f) {
			if v == sallyport.Allow || i > 0 && v < all(last)[j] {
				t.Errorf("%s: %v", name, all(f))
			}
		}
		if f.Untrusted != sallyport.Deny || i > 0 && last.Endorse && !f.Endorse {
			t.Errorf("%s: %+v", name, f)
		}
		last = f
	}
	if _, ok := sallyport.Profile("none"); ok {
		t.Error("there is a profile none")
	}
}
