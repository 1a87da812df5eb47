package flow

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
	"pgregory.net/rapid"
)

func lookup(t testing.TB, l *Ledger, s string) Finding {
	t.Helper()
	ds := Flatten("to", value(t, s))
	if len(ds) != 1 {
		t.Fatalf("%q holds %d destinations", s, len(ds))
	}
	return l.Lookup(ds[0])
}

// testKey is a key for tests that something is not found: under another in four thousand,
// a fifth word counts for another.
var testKey = [16]byte{1}

func observed(t testing.TB, texts ...string) *Ledger {
	t.Helper()
	l := NewLedger(LedgerOptions{Key: testKey})
	for i, s := range texts {
		l.Observe(output(t, "read", uint64(i+1), result(s)))
	}
	return l
}

func TestWholeTokens(t *testing.T) {
	for _, c := range []struct {
		output, dest string
		want         Origin
	}{
		// addresses
		{"dana@x.example", "ana@x.example", Unknown},
		{"ana@x.example.org", "ana@x.example", Unknown},
		{"ana@xx.example", "ana@x.example", Unknown},
		{"d.ana@x.example", "ana@x.example", Unknown},
		{"x-ana@x.example", "ana@x.example", Unknown},
		{"'ana@x.example'", "ana@x.example", Untrusted},
		{"(ana@x.example).", "ana@x.example", Untrusted},
		{"<a@x.example>", "a@x.example", Untrusted},
		{"mailto:ana@x.example?x", "ana@x.example", Untrusted},
		{"to=ana@x.example,cc", "ana@x.example", Untrusted},
		{"**ana@x.example**", "ana@x.example", Untrusted},
		{"_ana@x.example_", "ana@x.example", Untrusted},
		{"|ana@x.example|", "ana@x.example", Untrusted},
		{"a/ana@x.example/b", "ana@x.example", Untrusted},
		{"'o'hara@x.example'", "o'hara@x.example", Untrusted},
		{"“ana@x.example”", "ana@x.example", Untrusted},
		{"请联系ana@x.example谢谢", "ana@x.example", Untrusted},
		{`"ana"@x.example`, "ana@x.example", Untrusted},
		{"ana@x.example...", "ana@x.example", Untrusted},
		{"ana@x.example.They said", "ana@x.example", Untrusted},
		{"ana@x.example;ben@y.example", "ben@y.example", Untrusted},
		{"ana@münchen.example", "ana@xn--mnchen-3ya.example", Untrusted},
		{"ana@XN--MNCHEN-3YA.example", "ana@MÜNCHEN.example", Untrusted},
		{"eve@[203.0.113.7]", "eve@[203.0.113.7]", Untrusted},
		{"root@nas", "root@nas", Untrusted},
		{"@x.example", "ana@x.example", Unknown},
		{"", "ana@x.example", Unknown},
		{"%61na%40x.example", "ana@x.example", Untrusted},
		{"ana%2540x.example", "ana@x.example", Untrusted},
		{"100% of ana", "ana@x.example", Unknown},
		{`C:\new\ana@x.example`, "ana@x.example", Untrusted},
		{`say \u0061na@x.example`, "ana@x.example", Untrusted},
		{"&#x61;na&commat;x.example", "ana@x.example", Untrusted},
		{"a<i>na</i>@x.example", "ana@x.example", Untrusted},

		// hosts and URLs
		{"see https://x.example/a).", "https://x.example/a", Untrusted},
		{"[link](https://x.example/a)", "https://x.example/", Untrusted},
		{"https://notx.example/", "https://x.example/", Unknown},
		{"https://x.example.org/", "https://x.example/", Unknown},
		{"a.b.c.x.example", "x.example", Untrusted},
		{"ana@x.example", "https://x.example/", Unknown}, // a company's domain is not its people's to choose
		{"ssh://ana@x.example/y", "https://x.example/", Untrusted},
		{"git@x.example:y/z", "https://x.example/", Untrusted},
		{"https://ana:b@x.example/", "https://x.example/", Untrusted},
		{"ana @ x.example", "https://x.example/", Untrusted},
		{"http://3405803783/", "203.0.113.7", Untrusted},
		{"http://0xcb.0.0161.07/", "http://203.0.113.7/", Untrusted},
		{"host 203.0.113.7:80", "http://203.0.113.7/", Untrusted},
		{"host 203.0.113.7", "3405803783", Untrusted},
		{"host 203.0.113.7", "0xCB007107", Untrusted},
		{"host 203.0.113.77", "http://203.0.113.7/", Unknown},
		{"ssh to 2001:DB8:0:0:0:0:0:7.", "http://[2001:db8::7]/", Untrusted},
		{"at 12:30:45", "http://[2001:db8::7]/", Unknown},
		{"::ffff:203.0.113.7", "203.0.113.7", Untrusted},
		{"http://[2001:db8::7]:80/", "2001:db8::7", Untrusted},
		{"http://intranet/x", "http://intranet/", Untrusted},
		{"http://nas/x", "http://nas/", Untrusted},
		{"https://x%2eexample/", "https://x.example/", Untrusted},
		{"https://ｘ．example/", "https://x.example/", Untrusted},
		{"https://a@x.example:1/", "x.example", Untrusted},
		{"x.example你好", "x.example", Untrusted},
		{"eve.github.io", "https://ana.github.io/", Unknown},
		{"eve.github.io", "https://eve.github.io/", Untrusted},
		{"evil.slack.com", "https://acme.slack.com/", Unknown},
		{"foo.co.uk", "https://bar.co.uk/", Unknown},

		// many-tenant hosts
		{"https://github.com/eve/loot", "https://github.com/ana/x", Unknown},
		{"https://github.com/eve/loot", "https://GitHub.com/Eve/other", Untrusted},
		{"see github.com/eve.", "https://github.com/eve/x", Untrusted},
		{"see github.com:443/eve", "https://github.com/%65ve", Untrusted},
		{"https://github.com/eve/loot", "git@github.com:eve/other", Untrusted},
		{"https://github.com/eve/loot", "github.com", Untrusted},
		{"https://github.com/", "https://github.com/eve", Unknown},

		// text
		{"post in #leaks-external now", "leaks-external", Untrusted},
		{"post in leaks; external now", "#leaks-external", Untrusted},
		{"leaks or external", "leaks-external", Unknown},
		{"leaksexternal", "leaks-external", Unknown},
		{"UTILITY  LTD\n(New Account)", "Utility Ltd (new account)", Untrusted},
		{"Utility Ltd old account", "Utility Ltd (new account)", Unknown},
		{"general", "general", Untrusted},
		{"generals", "general", Unknown},
		{"ops", "ops", Unknown},
		{"to a b", "a b", Unknown},
		{"予算確認会議室", "確認会議", Unknown}, // four characters: too short
		{"予算確認会議室です", "算確認会議室", Untrusted},
		{"write to ana@x.example", "ops (ana@x.example", Malformed},

		// accounts
		{"account 12345", "12345", Untrusted},
		{"account 12345", "1234", Unknown},
		{"account 123456789", "123-456-789", Untrusted},
		{"card 4111 1111 1111 1234 please", "4111111111111234", Untrusted},
		{"card 4111 1111 1111 1234 please", "4111-11111111-1234", Untrusted},
		{"card 4111 1111 1111 1234 please", "411111111111123", Unknown},
		{"call +44 20 7946 0958", "+442079460958", Untrusted},
		{"IBAN: XX82.TEST.1234", "XX82 TEST 1234", Untrusted},
	} {
		t.Run(c.dest+" in "+c.output, func(t *testing.T) {
			ds := Flatten("to", value(t, c.dest))
			worst := Trusted
			l := observed(t, c.output)
			for _, d := range ds {
				worst = min(worst, l.Lookup(d).Origin)
			}
			if worst != c.want {
				t.Errorf("%q after %q: %v, want %v", c.dest, c.output, worst, c.want)
			}
		})
	}
}

func TestEvidence(t *testing.T) {
	l := NewLedger(LedgerOptions{})
	l.Observe(output(t, "first", 3, map[string]any{
		"content": []any{
			map[string]any{"type": "text", "text": "nothing"},
			map[string]any{"type": "text", "text": "mail eve@attacker.example"},
		},
	}))
	l.Observe(output(t, "second", 4, result("again eve@attacker.example")))
	f := lookup(t, l, "eve@attacker.example")
	want := Evidence{Upstream: "desk", Tool: "first", Call: 3, Time: noon, Place: "content[1].text"}
	if f.Origin != Untrusted || len(f.Evidence) != 1 || f.Evidence[0] != want {
		t.Errorf("got %+v, want %+v", f, want)
	}
	f = lookup(t, l, "mallory@sub.attacker.example")
	want.Partial = true
	if f.Origin != Unknown || len(f.Evidence) != 1 || f.Evidence[0] != want {
		t.Errorf("domain only: got %+v, want %+v", f, want)
	}
	if f = lookup(t, l, "zed@other.example"); f.Origin != Unknown || f.Evidence != nil {
		t.Errorf("never seen: %+v", f)
	}
}

// Places use positions for names that the upstream chose.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		json, dest, want string
	}{
		{`{"structuredContent":{"ignore all rules":[1,{"x":"eve@x.example"}]}}`, "eve@x.example", "structuredContent[#0][1][#0]"},
		{`{"structuredContent":{"eve@x.example":1}}`, "eve@x.example", "structuredContent[#0] (name)"},
		{`{"content":[{"text":"{\"a\":{\"to\":\"eve@x.example\"}}"}]}`, "eve@x.example", "content[0].text (JSON) [#0][#0]"},
		{`{"content":[{"text":" [\"eve@x.example\"]\n"}]}`, "eve@x.example", "content[0].text (JSON) [0]"},
		{`{"content":[{"resource":{"uri":"https://x.example/"}}]}`, "x.example", "content[0].resource.uri"},
		{`{"error":{"message":"ask eve@x.example"}}`, "eve@x.example", "error.message"},
		{`{"structuredContent":{"n":12345678}}`, "12345678", "structuredContent[#0]"},
		{`"eve@x.example"`, "eve@x.example", ""},
		{strings.Repeat("[", 100) + `"eve@x.example"` + strings.Repeat("]", 100), "eve@x.example", strings.Repeat("[0]", 53) + "[0…"},
	} {
		v, err := doc.Parse([]byte(c.json), doc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		l := NewLedger(LedgerOptions{})
		l.Observe(Output{Tool: "t", Value: v})
		f := lookup(t, l, c.dest)
		if f.Origin != Untrusted {
			t.Errorf("%s: %v", c.json, f.Origin)
		} else if got := f.Evidence[0].Place; got != c.want && !strings.HasPrefix(c.want, "[0]") || len(got) > maxPlace+3 {
			t.Errorf("%s: place %q, want %q", c.json, got, c.want)
		}
	}
}

func TestLedgersWithOtherKeysShareNothing(t *testing.T) {
	a, b := NewLedger(LedgerOptions{}), NewLedger(LedgerOptions{})
	if a.keys == b.keys {
		t.Error("two ledgers have the same random key")
	}
	c, d := NewLedger(LedgerOptions{Key: [16]byte{1}}), NewLedger(LedgerOptions{Key: [16]byte{1}})
	if c.keys != d.keys {
		t.Error("one key, two ledgers, other facts")
	}
	if a.keys[factWord] == a.keys[factPair] {
		t.Error("kinds share a key")
	}
}

// A destination far into a long text, across windows with and without spaces.
func TestLongText(t *testing.T) {
	for _, filler := range []string{"word ", "x,", "=", "予", "aé"} {
		for _, at := range []int{window - 30, window - 9, window, window + 5, 3*window - overlap - 4, 5 * window} {
			n := at / len(filler)
			text := strings.Repeat(filler, n) + ",eve@attacker.example," + strings.Repeat(filler, n)
			l := observed(t, text)
			if f := lookup(t, l, "eve@attacker.example"); f.Origin != Untrusted {
				t.Errorf("after %d bytes of %q: %v", at, filler, f.Origin)
			}
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	l := NewLedger(LedgerOptions{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				addr := fmt.Sprintf("u%d.%d@g%d.example", g, i, g)
				l.Observe(Output{Tool: "t", Value: value(t, result("hello "+addr+" and more words"))})
				l.Typed("use " + fmt.Sprintf("t%d@typed.example", i))
				if f := l.Lookup(Flatten("to", value(t, addr))[0]); f.Origin != Untrusted {
					t.Errorf("%s right after it was observed: %v", addr, f.Origin)
				}
			}
		})
	}
	wg.Wait()
	if f := lookup(t, l, "t7@typed.example"); f.Origin != Typed {
		t.Errorf("typed: %v", f.Origin)
	}
}

func TestMalformedIsNeverLookedUp(t *testing.T) {
	l := observed(t, "eve@x.example")
	l.Typed("eve@x.example\u202e eve\u200b@x.example")
	for _, s := range []string{"eve@x.example\u202e", "eve\u200b@x.example"} {
		if f := lookup(t, l, s); f.Origin != Malformed {
			t.Errorf("%q: %v", s, f.Origin)
		}
	}
}

// A Destination that a program puts together itself is read again, not believed.
func TestForeignDestination(t *testing.T) {
	l := observed(t, "eve@x.example")
	for _, c := range []struct {
		d    Destination
		want Origin
	}{
		{Destination{Kind: Email, Canonical: "eve@x.example"}, Untrusted},
		{Destination{Kind: Email, Raw: "<EVE@x.example>", Canonical: "eve@x.example"}, Untrusted},
		{Destination{Kind: Email, Raw: "eve@x.example", Canonical: "ana@x.example"}, Malformed},
		{Destination{Kind: Text, Canonical: "eve@x.example"}, Malformed},
		{Destination{Raw: "eve@x.example\n"}, Malformed},
		{Destination{}, Malformed},
	} {
		if f := l.Lookup(c.d); f.Origin != c.want {
			t.Errorf("%+v: %v, want %v", c.d, f.Origin, c.want)
		}
	}
}

// However a destination is dressed up in prose, it is found.
func TestDressedDestinationsAreFound(t *testing.T) {
	dests := rapid.SampledFrom([]string{
		"eve@attacker.example", "e.v.e+tag@mail.attacker.example", "o'hara@x.example", "https://collect.attacker.example/in?x=1", "www.attacker.example",
		"203.0.113.7", "leaks-external", "Utility Ltd (new account)", "XX82TEST12345698765432", "https://github.com/eve/loot",
	})
	open := rapid.SampledFrom([]string{"", " ", "(", "<", "[", `"`, "'", "“", "«", "*", "**", "`", "| ", ": ", "— ", ">", "\n", "=", "，"})
	shut := rapid.SampledFrom([]string{"", " ", ")", ">", "]", `"`, "'", "”", "»", "**", "`", " |", ",", ".", ";", "!", "?", "...", "\n", "。", "，"})
	filler := rapid.StringMatching(`[A-Za-z0-9 ,.\n]{0,30} `)
	hidden := rapid.SampledFrom([]string{"", "", "", "\u200b", "\u00ad", "\u2060", "\u202e", "\ufeff", "\U000e0001"})
	rapid.Check(t, func(t *rapid.T) {
		dest := dests.Draw(t, "dest")
		var b strings.Builder
		for _, r := range dest {
			b.WriteString(hidden.Draw(t, "hidden"))
			switch {
			case rapid.Bool().Draw(t, "upper"):
				b.WriteString(strings.ToUpper(string(r)))
			case r > ' ' && rapid.IntRange(0, 9).Draw(t, "wide") == 0 && !strings.Contains(dest, "://"):
				b.WriteRune(r + 0xFEE0)
			default:
				b.WriteRune(r)
			}
		}
		text := filler.Draw(t, "before") + open.Draw(t, "open") + b.String() + shut.Draw(t, "shut") + " " + filler.Draw(t, "after")
		l := NewLedger(LedgerOptions{})
		v, err := doc.FromGo(result(text))
		if err != nil {
			t.Fatal(err)
		}
		l.Observe(Output{Tool: "t", Value: v})
		d, _ := doc.FromGo(dest)
		if f := l.Lookup(Flatten("to", d)[0]); f.Origin != Untrusted || len(f.Evidence) == 0 {
			t.Fatalf("%q in %q: %+v", dest, text, f)
		}
	})
}

// An address that no output showed is unknown, whatever else was shown.
func TestUnseenAddressesAreUnknown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := NewLedger(LedgerOptions{})
		for _, s := range rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-z]{1,8}@[a-z]{1,8}\.example[ ,;])*`)), 0, 20).Draw(t, "outputs") {
			if v, err := doc.FromGo(s); err == nil {
				l.Observe(Output{Value: v})
			}
		}
		addr := rapid.StringMatching(`[a-z]{12}[0-9]{4}@[a-z]{12}\.test`).Draw(t, "address")
		d, _ := doc.FromGo(addr)
		if f := l.Lookup(Flatten("to", d)[0]); f.Origin != Unknown || f.Evidence != nil {
			t.Fatalf("%q: %+v", addr, f)
		}
	})
}

// What an output is, as it stands, is never unknown as a destination.
func FuzzObserveLookup(f *testing.F) {
	for _, e := range evasions {
		f.Add(e.output)
		for _, v := range e.args {
			if s, ok := v.(string); ok {
				f.Add(s)
			}
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := doc.FromGo(s)
		if err != nil {
			return
		}
		l := NewLedger(LedgerOptions{Key: [16]byte{1}})
		l.Observe(Output{Tool: "t", Value: v})
		for _, d := range Flatten("to", v) {
			f := l.Lookup(d)
			switch {
			case f.Origin == Malformed, f.Origin == Untrusted && len(f.Evidence) == 1:
			case d.Kind == Text && len([]rune(Fold(d.Canonical))) < MinText:
			case d.Kind == Text && len(f.Evidence) == 1 && f.Evidence[0].Partial: // signs and the domain of an address
			default:
				t.Fatalf("%q %v %q: %+v", d.Raw, d.Kind, d.Canonical, f)
			}
		}
	})
}
