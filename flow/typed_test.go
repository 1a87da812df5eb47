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
		{"look at https://x.example/a", "https://x.example/b", Untrusted},
		{"look at https://x.example/a", "https://x.example/", Untrusted},
		{"look at x.example", "https://x.example/", Typed},
		{"look at x.example", "https://x.example/a", Untrusted},
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
