package policy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSpellingOfAResourceDoesNotCount(t *testing.T) {
	p, err := New(Spec{Name: "p", Rules: []RuleSpec{
		{Effect: Deny, Resources: []string{"file:///manuals/secret/*", "https://evil.example/*", "note:secret", "bare/secret"}},
		{Effect: Allow, Resources: []string{"file:///manuals/*", "file:/manuals/*", "file://localhost/*", "https://*", "note:*", "file:///a%20b/*", "bare/*", ".*"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]Effect{
		"file:///manuals/a.txt":              Allow,
		"file:///manuals/a..b/.x":            Allow,
		"file:///manuals/a/../b":             Allow,
		"file:///manuals/%C3%A4":             Allow,
		"file:///a%20b/c":                    Allow,
		"https://docs.example/a?u=../../x":   Allow,
		"note:x":                             Allow,
		"file:///manuals/../etc/passwd":      Deny,
		"file:///manuals/..":                 Deny,
		"file:///manuals/%2e%2e/etc/passwd":  Deny,
		"file:///manuals/%2E./etc/passwd":    Deny,
		"file:///manuals/..%2fetc/passwd":    Deny,
		"file:///manuals/%252e%252e%252fetc": Deny,
		`file:///manuals/..\..\etc`:          Deny,
		"file:///manuals/..%5cetc":           Deny,
		"file:///manuals/x/./../../etc":      Deny,
		"file:///manuals/secret/x":           Deny,
		"file:///manuals//secret/x":          Deny,
		"file:///manuals/./secret/x":         Deny,
		"file:///manuals/%73ecret/x":         Deny,
		"file:///manuals/%2573ecret/x":       Deny,
		"https://EVIL.example/x":             Deny,
		"https://docs.example/../../x":       Allow,
		"file:///etc/passwd":                 Deny,
		// A server that takes the rest of the text for a path knows no query.
		"file:///manuals/?/../../etc/passwd":   Deny,
		"file:///manuals/#/../../etc/passwd":   Deny,
		"file:///manuals/a?b/../secret/x":      Deny,
		"bare/x?:/../../../etc":                Deny,
		"file:///manuals/a?b/../c":             Allow,
		"https://docs.example/?u=/../../../..": Allow,
		// RFC 8089: these are the same file.
		"file:/manuals/a.txt":                      Allow,
		"file:/manuals/secret/x":                   Deny,
		"file://localhost/manuals/a.txt":           Allow,
		"file://localhost/manuals/secret/x":        Deny,
		"file://LOCALHOST/manuals/secret/x":        Deny,
		"file://localhost/etc/passwd":              Deny,
		"note:./secret":                            Deny,
		"note:a/../secret":                         Deny,
		"bare//secret":                             Deny,
		"./bare/secret":                            Deny,
		"file:///manuals/" + "%2e%2e/%2e%2e/" + "": Deny,
	} {
		if got := p.Evaluate(Target{Subject: Resource, Name: uri}, nil).Effect; got != want {
			t.Errorf("%s: %v, want %v", uri, got, want)
		}
		// No constraint decides here, so what is denied is hidden too.
		if got := p.Denies(Target{Subject: Resource, Name: uri}); got != (want == Deny) {
			t.Errorf("%s: denied whatever the arguments: %v", uri, got)
		}
	}
	if n := testing.AllocsPerRun(100, func() { p.Evaluate(Target{Subject: Resource, Name: "file:///manuals/a.txt"}, nil) }); n > 0 {
		t.Errorf("%v allocations for a plain URI", n)
	}
}

// Making a URI plain twice changes nothing more, and leaves nothing to climb with.
func TestPlainURIIsStable(t *testing.T) {
	if got := plainURI("//..?file:"); got != "/?file:" {
		t.Errorf("%q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"file:", "//", "/", ".", "..", "%2e", "%2F", "%25", "%", "a", "B", `\`, "?", "#", "é", "%C3", "https://H.example"}), 0, 12).Draw(t, "parts")
		s := strings.Join(parts, "")
		once := plainURI(s)
		path, _, _ := strings.Cut(once, "?")
		path, _, _ = strings.Cut(path, "#")
		if _, rest, ok := strings.Cut(path, ":"); ok {
			path = strings.TrimPrefix(rest, "//")
		}
		if strings.Contains(path, "/../") || strings.HasSuffix(path, "/..") {
			t.Fatalf("%q: %q climbs", s, once)
		}
		whole := wholePath(once)
		if _, rest, ok := strings.Cut(whole, "://"); ok {
			whole = rest
		}
		if network := strings.HasPrefix(once, "https:"); !network && (strings.Contains(whole, "/../") || strings.HasSuffix(whole, "/..")) {
			t.Fatalf("%q: %q climbs in what some take for a query", s, whole)
		}
	})
}
