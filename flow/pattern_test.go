package flow

import (
	"strings"
	"testing"
)

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		pattern, dest string
		want          bool
	}{
		{"you@x.example", "you@x.example", true},
		{"You@X.example", "YOU@x.EXAMPLE", true},
		{"you@x.example", "You <you@x.example>", true},
		{"you@x.example", "mailto:you@x.example", true},
		{"you@x.example", "you+tag@x.example", false},
		{"you@x.example", "y.ou@x.example", false},
		{"you@x.example", "xyou@x.example", false},
		{"you@x.example", "you@x.example.org", false},
		{"you@x.example", "you@mx.x.example", false},
		{"you@x.example", `"you"@x.example`, false},
		{"you@x.example", "x.example", false},
		{"you@münchen.example", "you@xn--mnchen-3ya.example", true},

		{"*@x.example", "anyone@x.example", true},
		{"*@x.example", "any.one+tag@X.example", true},
		{"*@x.example", "anyone@sub.x.example", false},
		{"*@x.example", "anyone@xx.example", false},
		{"*@x.example", "eve%attacker.example@x.example", false},
		{"*@x.example", "attacker.example!eve@x.example", false},
		{"*@x.example", `"eve"@x.example`, false},
		{"*@x.example", "https://x.example/", false},
		{"*@x.example", "x.example", false},
		{"*@*.x.example", "anyone@sub.x.example", true},
		{"*@*.x.example", "anyone@x.example", false},

		{"x.example", "x.example", true},
		{"x.example", "X.example.", true},
		{"x.example", "https://x.example:8443/a?b", true},
		{"x.example", "sub.x.example", false},
		{"x.example", "ana@x.example", false},
		{"x.example", "https://x.example.org/", false},
		{"x.example:8443", "https://x.example:8443/", true},
		{"x.example:443", "https://x.example/", true},
		{"x.example:8443", "https://x.example/", false},
		{"x.example:8443", "x.example", false},
		{"*.x.example", "a.x.example", true},
		{"*.x.example", "https://a.b.x.example/y", true},
		{"*.x.example", "x.example", false},
		{"*.x.example", "ax.example", false},
		{"*.x.example", "ana@a.x.example", false},
		{"203.0.113.7", "http://0xcb.0.0161.07/", true},
		{"2001:db8::7", "http://[2001:DB8:0::7]/", true},
		{"*.internal", "https://wiki.internal/", true},

		{"https://x.example", "https://x.example/a/b?c", true},
		{"https://x.example/", "https://x.example:443/a", true},
		{"https://x.example/", "x.example", true},
		{"https://x.example/", "x.example:443", true},
		{"https://x.example/", "x.example:80", false},
		{"https://x.example/", "http://x.example/", false},
		{"https://x.example/", "//x.example/a", false},
		{"https://x.example/", "https://x.example:8443/", false},
		{"https://x.example/", "https://evilx.example/", false},
		{"https://x.example/hook", "https://x.example/hook", true},
		{"https://x.example/hook", "https://x.example/hook?id=1#f", true},
		{"https://x.example/hook", "https://x.example/a/../hook", true},
		{"https://x.example/hook", "https://x.example/hook/", false},
		{"https://x.example/hook", "https://x.example/Hook", false},
		{"https://x.example/hook", "https://x.example/hooks", false},
		{"https://x.example/hook", "x.example", false},
		{"https://*.x.example", "https://a.x.example/b", true},
		{"https://*.x.example", "https://x.example/b", false},
		{"ssh://x.example/a", "git@x.example:a", true},

		{"general", "general", true},
		{"#general", " general ", true},
		{"general", "General", false},
		{"general", "general-2", false},
		{"@ann.smith", "@ann.smith", true},
		{"Utility Ltd", "Utility  Ltd", false},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if p.String() != c.pattern {
			t.Errorf("%s: String %s", c.pattern, p)
		}
		ds := Flatten("to", value(t, c.dest))
		if len(ds) != 1 {
			t.Fatalf("%s: %s", c.dest, show(ds))
		}
		if got := p.Matches(ds[0]); got != c.want {
			t.Errorf("%s matches %s: %v, want %v", c.pattern, show(ds), got, c.want)
		}
	}
}

func TestPatternRefusals(t *testing.T) {
	for _, s := range []string{
		"", " ", "*", "*@*", "**", "*.*", "*.", "*@", "a*@x.example", "*a@x.example", "x.*", "te*t", "https://x.example/*", "https://*/",
		"*@com", "*@co.uk", "*.com", "*.co.uk", "*.github.io", "*.203.0.113.7", "*.general", "*@a@x.example",
		"a@x.example, b@x.example", "Ana <a@x.example>", `"a"@x.example`, "a%b@x.example", "a!b@x.example", "a(b)@x.example",
		"https://a@x.example/", `https:\\x.example`, "https://x.example/?a=b", "https://x.example/#a", "data:x", "file:///a", "javascript:x",
		"a@x.example\n", "gen\u200beral", "mailto:a@x.example?bcc=b@y.example", "---", "@x.example", "@corp.com",
	} {
		p, err := ParsePattern(s)
		if err == nil {
			t.Errorf("%q: accepted as %v", s, p.kind)
			continue
		}
		if s != "" && len(s) > 8 && strings.Contains(err.Error(), s) {
			t.Errorf("%q: the error quotes it: %v", s, err)
		}
		if p.Matches(Flatten("to", value(t, "general"))[0]) {
			t.Errorf("%q: the refused pattern matches", s)
		}
	}
	if (Pattern{}).Matches(parseOne("x.example")) || (Pattern{}).Matches(Destination{}) {
		t.Error("the zero Pattern matches")
	}
	p, _ := ParsePattern("eve@x.example")
	if p.Matches(Destination{Kind: Email, Raw: "eve@x.example", Canonical: "eve@x.example"}) {
		t.Error("a pattern matches what this package did not parse")
	}
}

func FuzzParsePattern(f *testing.F) {
	for _, s := range []string{"*@x.example", "*.x.example", "https://*.x.example/a", "x", "*", "a@b", "[::1]:80", "#a", "*@*.x.example"} {
		f.Add(s, "a@x.example")
		f.Add(s, "https://a.x.example/")
	}
	f.Fuzz(func(t *testing.T, s, dest string) {
		p, err := ParsePattern(s)
		if err != nil {
			return
		}
		if p.String() != s {
			t.Fatalf("String %q of %q", p, s)
		}
		d := parseOne(dest)
		if !p.Matches(d) {
			return
		}
		if d.Malformed != "" || hostileText(d.Canonical) != "" {
			t.Fatalf("%q matches %q", s, dest)
		}
		if !strings.Contains(s, "*") && d.Kind == Email && parseOne(s).Canonical != d.Canonical {
			t.Fatalf("%q matches another address: %q", s, dest)
		}
	})
}
