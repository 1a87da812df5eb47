package sallyport

import "slices"

// FlowSettings say which verdict an origin gets, and what carries along what. A profile
// sets them together; see [Profile].
type FlowSettings struct {
	Untrusted Verdict // a destination first seen in text from outside: Deny or Ask
	Inside    Verdict // in text by people inside, or on a page that the user named: Ask or Deny
	Party     Verdict // the whole of a field that names a party: Ask, Deny or Allow
	Unknown   Verdict // never seen: Ask, Deny or Allow
	// Carried is for a link, address or account from outside in the content of a call
	// whose destination is fine, Copies for content that is copied from outside word for
	// word, half of it or more, Secret for a value that must not leave: Ask, Deny or, but
	// for secrets, Allow.
	Carried, Copies, Secret Verdict
	// Endorse makes the page or file that the user named, or agreed to fetch, text from
	// inside instead of outside, for what no other outside text shows.
	Endorse bool
	// LedgerBytes bounds the memory of a session's ledger; 0: flow.DefaultMaxBytes. When it
	// is reached, the oldest evidence goes first, the hashes last; a ledger that can hold no
	// more makes what it does not know untrusted.
	LedgerBytes int
}

// profiles are the settings by name, strictest first.
var profiles = []struct {
	name     string
	settings FlowSettings
}{
	{"strict", FlowSettings{Inside: Deny, Party: Ask, Unknown: Ask, Carried: Ask, Copies: Ask, Secret: Ask}},
	{"balanced", FlowSettings{Inside: Ask, Party: Ask, Unknown: Ask, Carried: Ask, Copies: Ask, Secret: Ask}},
	{"assist", FlowSettings{Inside: Ask, Party: Ask, Unknown: Ask, Carried: Ask, Copies: Ask, Secret: Ask, Endorse: true}},
}

// DefaultProfile is the profile of a configuration that names none.
const DefaultProfile = "balanced"

// Profiles lists the profiles' names, strictest first.
func Profiles() []string {
	var names []string
	for _, p := range profiles {
		names = append(names, p.name)
	}
	return names
}

// Profile returns the settings of a profile. All refuse what is untrusted, ask about
// parties, about what was never seen, and about what content carries; none of them allows
// any of it. "strict" refuses what is only known from text by people inside, "balanced"
// asks, and "assist" also endorses the page or file that the user named.
func Profile(name string) (FlowSettings, bool) {
	i := slices.IndexFunc(profiles, func(p struct {
		name     string
		settings FlowSettings
	},
	) bool {
		return p.name == name
	})
	if i < 0 {
		return FlowSettings{}, false
	}
	return profiles[i].settings, true
}

func defaultFlow() *FlowSettings {
	s, _ := Profile(DefaultProfile)
	return &s
}
