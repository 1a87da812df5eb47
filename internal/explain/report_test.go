package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/policy"
)

func object(t interface{ Fatal(...any) }, members map[string]any) doc.Value {
	v, err := doc.FromGo(members)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ask explains one call in a new session.
func ask(t interface{ Fatal(...any) }, p *policy.Policy, c sallyport.Call, limits map[string]sallyport.RateLimit) sallyport.Explanation {
	e, err := sallyport.New(sallyport.Options{Policy: p, RateLimits: limits})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Session(sallyport.SessionOptions{Caller: "c", Doubt: "d"})
	if err != nil {
		t.Fatal(err)
	}
	s.Pin(c.Upstream, []contract.Tool{{Upstream: c.Upstream, Name: c.Name, Definition: object(t, map[string]any{"name": "x"})}})
	s.Observe(sallyport.Output{Upstream: c.Upstream, Tool: c.Name, Value: c.Args})
	return s.Explain(context.Background(), c)
}

// Whatever a call holds, the text fits a terminal, shows no byte that could act on it, and
// the JSON can be read.
func TestHostileTextIsShownHarmless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"\x1b[2J", "\u202eabc", strings.Repeat("x", 500), "a@b.example", "http://user@x.example/\u2066", "\u009b1m", "\n\r\tb  c",
		}))
		c := sallyport.Call{
			Subject: policy.Subject(rapid.IntRange(0, 2).Draw(t, "subject")), Upstream: text.Draw(t, "upstream"), Name: text.Draw(t, "name"),
			Args: object(t, map[string]any{text.Draw(t, "argument"): text.Draw(t, "value"), "to": text.Draw(t, "to")}),
		}
		p, err := policy.New(policy.Spec{Name: "p", Rules: []policy.RuleSpec{
			{Name: "one", Effect: policy.Allow, Tools: []string{"*"}, When: map[string]any{"args[*]": map[string]any{"matches": "a.*"}}},
			{Effect: policy.Ask, Tools: []string{"*"}, Resources: []string{"*"}, Prompts: []string{"*"}, Reason: "why " + strings.Repeat("word ", 30)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		r := New(ask(t, p, c, nil), Question{Call: c, Caller: text.Draw(t, "caller"), Policy: p, Notes: []string{text.Draw(t, "note")}})
		var out, js bytes.Buffer
		if err := r.WriteText(&out); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteJSON(&js); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("%d characters: %q", n, line)
			}
		}
		for _, s := range []string{out.String(), js.String()} {
			if i := strings.IndexFunc(s, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); i >= 0 {
				t.Fatalf("%q is not escaped", s[i:i+1])
			}
		}
		var back Report
		d := json.NewDecoder(&js)
		d.DisallowUnknownFields()
		if err := d.Decode(&back); err != nil || back.Verdict != r.Verdict || len(back.Rules) != len(r.Rules) {
			t.Fatalf("the JSON says %v, %v", back, err)
		}
	})
}

// A limit is consumed by what runs, and by nothing else.
func TestConsumes(t *testing.T) {
	limits := map[string]sallyport.RateLimit{"slow": {Rate: 1, Burst: 1}}
	described := map[string]RateLimit{"slow": Limit(60, 1, time.Minute, true)}
	for _, tt := range []struct {
		name   string
		effect policy.Effect
		want   string
	}{
		{"allowed", policy.Allow, "1 of rate limit slow: 60 per 1m for all callers together, burst 1"},
		{"asked", policy.Ask, "1 of rate limit slow: 60 per 1m for all callers together, burst 1"},
	} {
		p, err := policy.New(policy.Spec{Name: "p", Rules: []policy.RuleSpec{{Effect: tt.effect, Tools: []string{"read_a"}, RateLimits: []string{"slow"}}}})
		if err != nil {
			t.Fatal(err)
		}
		c := sallyport.Call{Upstream: "u", Name: "read_a"}
		r := New(ask(t, p, c, limits), Question{Call: c, Policy: p, Limits: described})
		if got := r.Consumes.words(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		c.Name = "read_b"
		r = New(ask(t, p, c, limits), Question{Call: c, Policy: p, Limits: described})
		if got := r.Consumes.words(); got != "nothing" {
			t.Errorf("denied: %q", got)
		}
	}
}

func TestShortDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "1s", time.Minute: "1m", time.Hour: "1h", 24 * time.Hour: "24h", 90 * time.Second: "1m30s",
		10 * time.Second: "10s", 10 * time.Minute: "10m", 61 * time.Minute: "1h1m", time.Hour + time.Second: "1h0m1s",
	} {
		if got := short(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// Joined with spaces, the lines are the text again: nothing is lost where it is wrapped.
func TestWrappedLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[a-z ]{0,60}`).Draw(t, "text")
		n := rapid.IntRange(1, 20).Draw(t, "width")
		lines := wrapped(s, n)
		for _, l := range lines {
			if utf8.RuneCountInString(l) > n {
				t.Fatalf("%q in %d: %q", s, n, l)
			}
		}
		if got := strings.ReplaceAll(strings.Join(lines, ""), " ", ""); got != strings.ReplaceAll(s, " ", "") {
			t.Fatalf("%q in %d: %q", s, n, lines)
		}
	})
}
