package flow

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

func secrets(t testing.TB, l *Ledger, values ...string) {
	t.Helper()
	for _, s := range values {
		l.Observe(Output{Tool: "vault", Call: 7, Time: noon, Value: value(t, map[string]any{"structuredContent": map[string]any{"s": s}}), Labels: labels(t, "s: secret")})
	}
}

func TestSecret(t *testing.T) {
	for _, c := range []struct {
		secret, text string
		want         bool
	}{
		{"hunter2", "the password is hunter2", true},
		{"hunter2", "the password is HUNTER2.", true},
		{"hunter2", "hunter22", false},
		{"hunter2", "myhunter2", false},
		{"hunter2", "hunter 2", true},
		{"hunter2", "h-u-n-t-e-r-2", true},
		{"hunter2", "ｈｕｎｔｅｒ２", true},
		{"hunter2", "hun\u200bter2", true},
		{"hunter2", "hunter%32", true},
		{"hunter2", "&#104;unter2", true},
		{"hunter2", `\u0068unter2`, true},
		{"hunter2", "hunter", false},
		{"1234", "my PIN is 1234", true},
		{"1234", "1 2 3 4", true},
		{"1234", "12345", false},
		{"1234", "PIN:1234!", true},
		{"123", "123", false}, // too short to be looked for
		{"correct horse battery", "correcthorsebattery", true},
		{"correct horse battery", "CORRECT_HORSE_BATTERY", true},
		{"correct horse battery", "xxcorrecthorsebatteryxx", true},
		{"correct horse battery", "correct horse", false},
		{"sk_live_" + strings.Repeat("a1b2c3d4", 8), "key sk_live_" + strings.Repeat("a1b2c3d4", 8), true},
		{"sk_live_" + strings.Repeat("a1b2c3d4", 8), "a1b2c3d4a1b2c3d4a1b2c3d4a1b2", true}, // a piece of it
		{"sk_live_" + strings.Repeat("a1b2c3d4", 8), "a1b2c3d4a1b2", false},
		{"пароль123", "мой ПАРОЛЬ123", true},
		{"密码密码密码", "我的密码密码密码。", true},
		{"", "", false},
		{"    ", "    ", false},
	} {
		l := NewLedger(LedgerOptions{})
		secrets(t, l, c.secret)
		e, got := l.Secret(c.text)
		if got != c.want {
			t.Errorf("%q in %q: %v", c.secret, c.text, got)
		}
		if got && (e.Tool != "vault" || e.Call != 7) {
			t.Errorf("%q in %q: evidence %+v", c.secret, c.text, e)
		}
	}
}

func TestSecretFields(t *testing.T) {
	for _, c := range []struct {
		name, labels string
		value        doc.Value
		yes, no      []string
	}{
		{"below", "login: secret", structured(t, `{"login":{"user":"ana.example","password":"hunter22","hints":["blue whale"]},"note":"nothing here"}`), []string{"hunter22", "ana.example", "blue whale"}, []string{"password", "nothing here", "hints"}},
		{"names that are values", "keys: secret", structured(t, `{"keys":{"k3y-12345":"admin"}}`), []string{"k3y 12345"}, nil},
		{"numbers", "[*]: secret", structured(t, `[1810.0, 12345.5, 1e3, 42]`), []string{"rent is 1810", "rent is 1,810.00", "it holds 12,345.50", "1810.0"}, []string{"18100", "1811", "42"}},
		{"JSON in a field", "f: secret", structured(t, `{"f":"{\"password\":\"hunter2\"}"}`), []string{"hunter2"}, []string{"password"}},
		{"header", "Token: secret", textual(t, "Token: tok-99887766\nToken: tok-55443322\nOther: something\n\nbody text"), []string{"tok-99887766", "tok-55443322"}, []string{"something", "body text"}},
		{"an error", "token: secret", parsed(t, `{"isError":true,"structuredContent":{"token":"tok-99887766"}}`), []string{"tok-99887766"}, nil},
		{"a second text", "token: secret", textual(t, "hello", `{"token":"tok-99887766"}`), []string{"tok-99887766"}, []string{"hello"}},
		{"and vouched", "a: secret, a.mail: vouched", structured(t, `{"a":{"mail":"ana@corp.example"}}`), []string{ana}, nil},
		{"all of it", "secret", textual(t, "the launch is on Tuesday morning"), []string{"the launch is on tuesday morning"}, []string{"the launch"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ledgerOf(t, shown{labels: c.labels, value: c.value})
			for _, s := range c.yes {
				if _, found := l.Secret("see " + s + " there"); !found {
					t.Errorf("%q is no secret", s)
				}
			}
			for _, s := range c.no {
				if _, found := l.Secret("see " + s + " there"); found {
					t.Errorf("%q is a secret", s)
				}
			}
		})
	}
}

// A ledger that can hold no more does not forget that there are secrets, and does not let
// what it cannot know pass.
func TestFullLedgerKnowsNoContent(t *testing.T) {
	l := NewLedger(LedgerOptions{MaxBytes: 300 << 10})
	for call := uint64(1); !l.Full(); call++ {
		if l.Observe(listing(t, call, 100)); call > 1000 {
			t.Fatal("never full")
		}
	}
	for _, content := range []string{"write to ana@partner.example", "pay XX82 TEST 1234 5698 7654 32", "https://docs.partner.example/"} {
		if len(l.Carried(content, nil)) == 0 {
			t.Errorf("%q carries nothing", content)
		}
	}
	if len(l.Carried("See you at 10.", nil)) > 0 {
		t.Error("prose carries something")
	}
	if _, found := l.Secret("anything"); found {
		t.Error("a secret before there was one")
	}
	secrets(t, l, "hunter2")
	if e, found := l.Secret("the word is hunter2"); !found || e.Tool != "vault" {
		t.Errorf("%v %+v", found, e)
	}
}
