package flow

import (
	"strings"
	"testing"
)

func TestTyped(t *testing.T) {
	for _, c := range []struct {
		prompt, dest string
		want         Origin
	}{
		{"Send it to bob@x.example", "bob@x.example", Typed},
		{"Send it to Bob@X.example.", `"Bob" <bob@x.example>`, Typed},
		{"(bob@x.example)", "bob@x.example", Typed},
		{"to:bob@x.example,ana@x.example", "ana@x.example", Typed},
		{"'bob@x.example'", "bob@x.example", Typed},
		{"[mail](mailto:bob@x.example)", "bob@x.example", Typed},
		{"bob@x.example", "bob+tag@x.example", Untrusted},
		{"bob@x.example", "b.ob@x.example", Untrusted},
		{"bob@x.example", "x.example", Untrusted},
		{"notbob@x.example", "bob@x.example", Untrusted},
		{"bob@x.example.org", "bob@x.example", Untrusted},

		{"post to www.x.example.They said", "www.x.example", Typed},
		{"post to www.x.example.They said", "https://www.x.example/", Typed},
		{"post to www.x.example.they said", "www.x.example", Untrusted},
		{"look at [this](https://x.example/a)!", "https://x.example/a", Typed},
		{"look at https://x.example/a, then", "https://X.example:443/a", Typed},
		{"look at <https://x.example/a>", "https://x.example/a", Typed},
		{"look at https://x.example/a", "https://x.example/b", Unknown},
		{"look at https://x.example/a", "https://x.example/", Unknown},
		{"look at x.example", "https://x.example/", Typed},
		{"look at x.example", "https://x.example/a", Unknown},
		{"look at x.example", "sub.x.example", Untrusted},
		{"ping 203.0.113.7", "203.0.113.7", Typed},

		{"Pay Utility Ltd (new account) 50", "Utility Ltd (new account)", Typed},
		{"Pay 'Utility Ltd' 50", "Utility Ltd", Typed},
		{"post to #general please", "general", Typed},
		{"post to general.", "#general", Typed},
		{"post to #general please", "@general", Unknown},
		{"write to @general please", "#general", Unknown},
		{"write to @general please", "<@general>", Typed},
		{"post to General", "general", Unknown},
		{"pay Utility and Ltd", "Utility Ltd", Unknown},
		{"pay XX82TEST1234", "XX82TEST1234", Typed},
	} {
		l := observed(t, "bob@x.example www.x.example https://x.example/ 203.0.113.7 Pay Utility Ltd (new account)")
		if c.want == Unknown {
			l = observed(t, "nothing")
		}
		l.Typed(c.prompt)
		if f := lookup(t, l, c.dest); f.Origin != c.want {
			t.Errorf("%q after %q: %v, want %v", c.dest, c.prompt, f.Origin, c.want)
		} else if c.want == Typed && (len(f.Evidence) != 1 || f.Evidence[0].Place != "prompt 1") {
			t.Errorf("%q: evidence %+v", c.dest, f.Evidence)
		}
	}
}

func TestTypedIsBounded(t *testing.T) {
	l := NewLedger(LedgerOptions{})
	l.Typed(strings.Repeat("a ", maxPrompt/2) + "late@x.example")
	if f := lookup(t, l, "late@x.example"); f.Origin != Unknown {
		t.Errorf("beyond the bound: %v", f.Origin)
	}
}

func TestIsTyped(t *testing.T) {
	for _, c := range []struct {
		prompt, value string
		want          bool
	}{
		{"change my password to new_password", "new_password", true},
		{"change my password to 'new_password'.", "new_password", true},
		{`change my password to "P@ss!w0rd?"`, "P@ss!w0rd?", true},
		{"change my password to P@ss!w0rd?", "P@ss!w0rd?", true},
		{"change my password to new_password", "New_password", false},
		{"change my password to new_password", "new_password1", false},
		{"change it to new_password", "password", false},
		{"change my password to new_password", "to new_password", true}, // their words, in their order
		{"change my password to new_password", "new_password to", false},
		{"pay 1,100.00 to Spotify", "1100", true},
		{"pay $1100 to Spotify", "1100.00", true},
		{"pay 1100€ to Spotify", "1100.0", true},
		{"pay €1'100 to Spotify", "1100", false}, // not read as a number
		{"pay 1100 EUR", "1100", true},
		{"pay 1100.", "1100", true},
		{"pay 1100.50", "1100.5", true},
		{"pay 1100", "110", false},
		{"pay 1100", "11000", false},
		{"pay 1100", "-1100", false},
		{"pay 1100.50", "1100", false},
		{"pay 1100", "1,100", true},
		{"pay 1.100,00", "1100", false},
		{"pay 1100 now", "1e3", false},
		{"pay 007", "7", true},
		{`Send "Hello, Ana! See you at ten, as always, in the hall." to her`, "Hello, Ana! See you at ten, as always, in the hall.", true},
		{`Send "Hello, Ana! See you at ten, as always, in the hall." to her`, "Hello, Ana! See you at ten, as always, in the hall", true},
		{`Send "Hello, Ana! See you at ten, as always, in the hall." to her`, "Hello, Ana!  See you at ten,\nas always, in the hall.", true},
		{`Send "Hello, Ana! See you at ten, as always, in the hall." to her`, "Hello, Ana! See you at nine, as always, in the hall.", false},
		{`Send "Hello, Ana! See you at ten, as always, in the hall." to her`, "Hello, Ana! See you at ten, as always, in the hall. Bring the papers.", false},
		{"the subject is «Invoice 17»", "Invoice 17", true},
		{"the subject is Invoice 17, paid.", "Invoice 17", true},
		{"write to bob@x.example", "bob@x.example", true},
		{"write to Bob@X.example", "bob@x.example", true},
		{"write to bob@x.example", "bob@x.example.org", false},
		{"open https://x.example/a", "https://X.example:443/a", true},
		{"open https://x.example/a", "https://x.example/a?x=1", false},
		{"open www.x.example.Then go on", "www.x.example", true},
		{"say hi", "", false},
		{"say hi", "   ", false},
		{"", "hi", false},
		{"say hi\u200b there", "hi", false},
		{"say hi", "hi\u200b", false},
	} {
		l := NewLedger(LedgerOptions{})
		l.Typed(c.prompt)
		if got := l.IsTyped(c.value); got != c.want {
			t.Errorf("%q after %q: %v", c.value, c.prompt, got)
		}
	}
}

func TestTypedAcrossPrompts(t *testing.T) {
	l := NewLedger(LedgerOptions{})
	l.Typed("my password is one two three four five six seven eight")
	l.Typed("two three four five six seven eight nine")
	if !l.IsTyped("one two three four five six seven eight nine") {
		t.Error("each eight words were typed so")
	}
	if l.IsTyped("nine one") || l.IsTyped(strings.Repeat("one ", 200_000)) {
		t.Error("words that were not typed so")
	}
}

// What the user typed is known as programs write it: no quotes round a command, no groups
// in an IBAN, no fragment of a page.
func TestTypedAsProgramsWriteIt(t *testing.T) {
	l := NewLedger(LedgerOptions{})
	l.Typed("Run `go test ./...` and pay 5 EUR to DE89 3704 0044 0532 0130 00, then read https://docs.partner.example/guide")
	for _, c := range []struct {
		param, dest string
		typed       bool
	}{
		{"command", "go test ./...", true},
		{"command", "go test ./... && curl x.example", false},
		{"iban", "DE89370400440532013000", true},
		{"iban", "de89-3704-0044-0532-0130-00", true},
		{"iban", "DE89370400440532013001", false},
		{"iban", "DE8937040044053201300", false},
		{"iban", "89370400440532013000", false},
		{"url", "https://docs.partner.example/guide#install", true},
		{"url", "https://docs.partner.example/guide?x#install", false},
		{"url", "https://docs.partner.example/guide2", false},
	} {
		for _, d := range Flatten(c.param, value(t, c.dest)) {
			if got := l.Lookup(d).Origin == Typed; got != c.typed && (c.typed || d.Kind == Text || d.Kind == URL) {
				t.Errorf("%s %s: %v", c.param, c.dest, l.Lookup(d).Origin)
			}
		}
	}
}

// The ids of mails that an answer names have the form of addresses.
func TestMessageIDsAreNoDestinations(t *testing.T) {
	for _, c := range []struct {
		place, s string
		n        int
	}{
		{"inReplyTo", "<CAF1.abc@mail.client.example>", 0},
		{"references", "<a.1@x.example> <b.2@y.example>", 0},
		{"headers.In-Reply-To", "<a.1@x.example>", 0},
		{"inReplyTo", "a.1@x.example", 1},
		{"inReplyTo", "<a.1@x.example>, eve@attacker.example", 2},
		{"inReplyTo", "<a.1@x.example>\r\nBcc: eve@attacker.example", 1},
		{"replyTo", "<a.1@x.example>", 1},
	} {
		if ds := Scan(c.place, value(t, c.s)); len(ds) != c.n {
			t.Errorf("%s %q: %d destinations", c.place, c.s, len(ds))
		}
	}
}

// Files and the seams of sentences are no pages that the user named.
func TestTypedHostsThatNobodyMeant(t *testing.T) {
	l := NewLedger(LedgerOptions{})
	l.Typed("Read notes.zip and main.rs for Bob.It is urgent. Open www.site.example, wiki.corp and docs.partner.example.They know.")
	for dest, typed := range map[string]bool{
		"https://notes.zip/": false, "https://main.rs/": false, "https://bob.it/": false, "bob.it": false,
		"notes.zip": true, "https://www.site.example/": true, "https://wiki.corp/": true, "https://docs.partner.example/": true,
	} {
		if got := l.Lookup(Flatten("url", value(t, dest))[0]).Origin; (got == Typed) != typed {
			t.Errorf("%s: %v", dest, got)
		}
	}
}
