package approval

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
)

// asks is a question about a destination, which a yes can last for.
func asks() *Approval {
	return &Approval{
		Upstream: "mail", Subject: "tool", Tool: "send_email", Arguments: []byte(`{"to":"bob@partner.example"}`),
		Questions: []Question{{Argument: "to", Destination: "bob@partner.example", Origin: "unknown", Text: "destination to='bob@partner.example' is not a vouched recipient"}},
	}
}

func TestPromptMessage(t *testing.T) {
	const want = `Sallyport, the gateway in front of the server 'mail', asks you: may this call run?
tool: 'send_email'
destination in 'to': 'bob@partner.example'
known from: unknown: never seen in this session
question: destination to='bob@partner.example' is not a vouched recipient
all arguments: {"to":"bob@partner.example"}
A yes is for this server, tool, argument and destination; the other arguments may be others.`
	if got := asks().PromptMessage(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	whole := asks()
	whole.Questions[0].Destination, whole.Arguments, whole.LeftOut = "", nil, 3
	if got := whole.PromptMessage(); !strings.HasSuffix(got, "arguments that cannot be shown here\nA yes is for exactly this call.") {
		t.Errorf("got\n%s", got)
	}
	if strings.Contains(string(whole.PromptSchema()), formRemember) || !strings.Contains(string(asks().PromptSchema()), formRemember) {
		t.Error("what cannot last can be remembered, or the other way round")
	}
	for _, mode := range []bool{true, false} {
		if _, err := doc.Parse(asks().PromptParams(mode), doc.Limits{}); err != nil {
			t.Error(err)
		}
	}
}

// Whatever a call holds, no line of the question begins as one of the gateway's does but
// those that the gateway wrote, and no character hides.
func TestPromptMessageShowsHostileText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\ntool: 'x'", "\x1b[2J", "\u202e", "\u009b1m", "'\\", strings.Repeat("x", 5000), "\u2028question: "}))
		a := asks()
		a.Upstream, a.Tool, a.Shown = text.Draw(t, "upstream"), text.Draw(t, "tool"), text.Draw(t, "shown")
		q := &a.Questions[0]
		q.Argument, q.Destination, q.Origin, q.Text = text.Draw(t, "argument"), text.Draw(t, "destination"), text.Draw(t, "origin"), text.Draw(t, "text")
		q.Evidence = []sallyport.Evidence{{Tool: text.Draw(t, "seen"), Upstream: text.Draw(t, "from"), Place: text.Draw(t, "place"), Call: 1}}
		a.Arguments = []byte(text.Draw(t, "arguments"))
		got := a.PromptMessage()
		for i, line := range strings.Split(got, "\n") {
			begins := false
			for _, with := range []string{"Sallyport, the gateway in front of the server '", "tool: '", "destination in '", "known from: ", "evidence: ", "question: ", "all arguments: ", "A yes is for ", "arguments that cannot be shown here"} {
				begins = begins || strings.HasPrefix(line, with)
			}
			if !begins || i > 7 {
				t.Fatalf("line %d is not the gateway's: %q", i, line)
			}
			if j := strings.IndexFunc(line, func(r rune) bool {
				return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Zl, r)
			}); j >= 0 {
				t.Fatalf("line %d holds %q", i, line[j:])
			}
		}
	})
}

func TestReadPrompt(t *testing.T) {
	for result, want := range map[string]Answer{
		`{"action":"accept","content":{"allow":true}}`:                            {Yes: true},
		`{"action":"accept","content":{"allow":true,"remember":false}}`:           {Yes: true},
		`{"action":"accept","content":{"allow":true,"remember":null,"x":1}}`:      {Yes: true},
		`{"_meta":{},"action":"accept","content":{"remember":true,"allow":true}}`: {Yes: true, Lasting: true},
		`{"action":"accept","content":{"allow":false,"remember":true}}`:           {},
		`{"action":"decline"}`: {},
		`{"action":"decline","content":{"allow":true,"remember":true},"more":[{}]}`: {},
	} {
		v, err := doc.Parse([]byte(result), doc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		want.Channel = ChannelClient
		if got, why := asks().ReadPrompt(v); got != want || why != "" {
			t.Errorf("%s: %+v, %q, want %+v", result, got, why, want)
		}
	}
}

// A yes is said in one way only.
func FuzzReadPrompt(f *testing.F) {
	for _, seed := range []string{
		`{"action":"accept","content":{"allow":true}}`, `{"action":"accept","content":{"allow":true,"remember":true}}`, `{"action":"cancel"}`,
		`{"action":"accept","content":{"allow":"true"}}`, `{"action":true,"content":{"allow":true}}`, `[]`, `{"action":"accept","content":[{"allow":true}]}`, `{"action":"accept","content":{"allow":1}}`,
	} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, lasts bool) {
		v, err := doc.Parse(raw, doc.Limits{})
		if err != nil {
			v = doc.Value{}
		}
		a := asks()
		if !lasts {
			a.Questions[0].Destination = ""
		}
		ans, why := a.ReadPrompt(v)
		yes := v.Get("action").String() == "accept" && v.Get("action").Kind() == doc.String && string(v.Get("content").Get("allow").AppendJSON(nil)) == "true"
		switch {
		case ans.Yes && (!yes || why != ""):
			t.Errorf("%s is a yes", raw)
		case ans.Lasting && (!ans.Yes || !lasts):
			t.Errorf("%s lasts", raw)
		case why == "" && !ans.Yes && v.Get("action").String() == "accept" && string(v.Get("content").Get("allow").AppendJSON(nil)) != "false":
			t.Errorf("%s is a no", raw)
		}
	})
}

// What stands in an argument does not look like a line of the question behind a blank stretch.
func TestPromptMessageHoldsNoBlankStretch(t *testing.T) {
	r := newRig(t)
	a := r.ask(r.desk(), r.request("send_email", `{"to":["bob@partner.example"],"body":"hi`+strings.Repeat(" ", 200)+`known from: trusted"}`), Asked).Approval()
	if got := a.PromptMessage(); strings.Contains(got, "         ") || !strings.Contains(got, "hi … known from: trusted") {
		t.Errorf("%s", got)
	}
}
