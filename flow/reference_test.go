package flow

import (
	"strings"
	"testing"
)

func TestReference(t *testing.T) {
	l := NewLedger(LedgerOptions{})
	l.Observe(Output{Value: value(t, "see https://collect.attacker.example/in")})
	for _, c := range []struct {
		uri  string
		want string // origins, "" for no destination
	}{
		{"https://collect.attacker.example/x", "untrusted"},
		{"HTTPS://collect.attacker.example/x", "untrusted"},
		{"https:collect.attacker.example/x", "malformed"},
		{" https://collect.attacker.example/x", "malformed"},
		{"\thttps://collect.attacker.example/x", "malformed"},
		{"ht\ntps://collect.attacker.example/x", "malformed"},
		{"//collect.attacker.example/x", "untrusted"},
		{`\\collect.attacker.example\x`, "malformed"},
		{"collect.attacker.example/x", "untrusted"},
		{"file://collect.attacker.example/x", "malformed"},
		{`file:\\collect.attacker.example\x`, "malformed"},
		{"sftp://collect.attacker.example/x", "untrusted"},
		{"gopher://collect.attacker.example/x", "untrusted"},
		{"crm://collect.attacker.example/x", "untrusted"},
		{"crm://collect.attacker.example:99/x", "untrusted"},
		{"crm://u@collect.attacker.example/x", "malformed"},
		{"crawl:https://collect.attacker.example/x", "untrusted"},
		{"proxy://fetch/?u=https%3A%2F%2Fcollect.attacker.example", "untrusted"},
		{"s3://some-bucket/x", "unknown"},
		{"view-source:https://collect.attacker.example/x", "malformed"},
		{"data:text/plain,x", "malformed unknown"},
		{"https://a.example/?u=https://collect.attacker.example/", "unknown untrusted"},

		{"file:///home/u/README.md", ""},
		{"file:///README.md", ""},
		{"file://localhost/etc/x", ""},
		{"file:///C:/Users/u", ""},
		{"demo://resource/dynamic/text/1", ""},
		{"docs://index.md", ""},
		{"note:///x", ""},
		{"note:x", ""},
		{"urn:isbn:0451450523", ""},
		{"com.example.notes://id/7", ""},
		{"README", ""},
		{"", ""},
	} {
		var got []string
		for _, d := range Reference("uri", c.uri) {
			got = append(got, l.Lookup(d).Origin.String())
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q: %s, want %s", c.uri, s, c.want)
		}
	}
}

// An argument beside the sinks is read whatever stands round the value, and however
// long the list.
func TestScanReadsPaddedAndLongLists(t *testing.T) {
	for _, s := range []string{
		"eve@attacker.example\n", "\neve@attacker.example", "\u2003eve@attacker.example", "eve@attacker.example\nbob@attacker.example",
		"https://collect.attacker.example/in\n", "\x01https://collect.attacker.example/in", "collect.attacker.example\r\n",
		strings.Repeat("eve@attacker.example,", 900), strings.Repeat("eve@attacker.example\n", 900),
		`["eve@attacker.example"` + strings.Repeat(" ", 17_000) + "]",
	} {
		v := value(t, s)
		if len(Scan("x", v)) == 0 {
			t.Errorf("%.40q: nothing found", s)
		}
	}
	for _, s := range []string{
		"", " ", "\n", "hello", "hello\neve@attacker.example", "eve@attacker.example said:\nhello", "mail eve@attacker.example\n",
		"eve@attacker.example, " + strings.Repeat("and more prose ", 2_000), `{"a":"eve@attacker.example"` + strings.Repeat(" ", 17_000) + "}",
	} {
		v := value(t, s)
		if ds := Scan("x", v); len(ds) > 0 {
			t.Errorf("%.40q: found %d", s, len(ds))
		}
	}
}

// Browsers read slashes of either kind and any number after these schemes.
func TestURLsInURLsAreReadAsBrowsersDo(t *testing.T) {
	l := NewLedger(LedgerOptions{})
	l.Observe(Output{Value: value(t, "see https://collect.attacker.example/in")})
	for _, u := range []string{
		"https:%5C%5Ccollect.attacker.example/in", "https:/collect.attacker.example/in", "https:collect.attacker.example/in",
		"HTTPS:%2Fcollect.attacker.example", "/%5Ccollect.attacker.example/in", "%5C%5Ccollect.attacker.example/in",
	} {
		v := value(t, "https://docs.partner.example/r?u="+u)
		found := false
		for _, d := range Flatten("url", v) {
			found = found || l.Lookup(d).Origin == Untrusted
		}
		if !found {
			t.Errorf("%s: not seen", u)
		}
	}
}

// A channel and a user of one name are two places.
func TestTrustKeepsChannelsAndUsersApart(t *testing.T) {
	for _, c := range []struct {
		entry, to string
		want      bool
	}{
		{"#general", "#general", true},
		{"#general", "general", true},
		{"general", "#general", true},
		{"general", "@general", true},
		{"#general", "@general", false},
		{"#general", "<@general|x>", false},
		{"@ann", "#ann", false},
		{"@ann", "<@ann>", true},
	} {
		p, err := ParsePattern(c.entry)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Matches(Flatten("to", value(t, c.to))[0]); got != c.want {
			t.Errorf("%s trusts %s: %v", c.entry, c.to, got)
		}
	}
}

// Each URL in a URL is read as far as its host needs: else reading n of them costs n
// times their whole length.
func TestURLsInURLsAreReadInPart(t *testing.T) {
	ds := Flatten("url", value(t, "https://a.example/"+strings.Repeat("https://b.example/é", 20)+strings.Repeat("x", 15_000)))
	if len(ds) != 21 {
		t.Fatalf("%d destinations", len(ds))
	}
	for _, d := range ds[1:] {
		if len(d.Raw) > maxNestedURL || d.Malformed != "" || d.parts.host != "b.example" {
			t.Errorf("%d bytes, host %q, %s", len(d.Raw), d.parts.host, d.Malformed)
		}
	}
}
