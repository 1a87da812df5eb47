package approval

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// maxPrompted bounds the arguments that a client's own prompt shows, in characters. The
// terminal shows more of them.
const maxPrompted = 1000

// PromptMessage is what the client's own prompt says. Its first word is the gateway's name:
// questions of servers begin with the server's. All hostile text in it is quoted and on the
// line that names what it is; destinations are whole.
func (a *Approval) PromptMessage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Sallyport, the gateway in front of the server %s, asks you: may this call run?\n", quote.Value(a.Upstream, 120))
	fmt.Fprintf(&b, "%s: %s\n", a.Subject, quote.Value(a.Name(), 240))
	for _, q := range a.Questions {
		if q.Argument != "" && q.Destination != "" {
			fmt.Fprintf(&b, "destination in %s: %s\n", quote.Value(q.Argument, 0), quote.Value(q.Destination, 0))
		}
		if q.Origin != "" {
			fmt.Fprintf(&b, "known from: %s\n", OriginText(q.Origin))
		}
		for _, e := range q.Evidence {
			if text := EvidenceText(e); text != "" {
				fmt.Fprintf(&b, "evidence: %s\n", text)
			}
		}
		fmt.Fprintf(&b, "question: %s\n", quote.Text(quote.Unpadded(q.Text), 1000))
	}
	switch {
	case len(a.Arguments) > 0:
		fmt.Fprintf(&b, "all arguments: %s\n", quote.Text(quote.Unpadded(string(a.Arguments)), maxPrompted))
	case a.LeftOut > 0:
		b.WriteString("arguments that cannot be shown here\n")
	}
	if a.CanLast() {
		b.WriteString("A yes is for this server, tool, argument and destination; the other arguments may be others.")
	} else {
		b.WriteString("A yes is for exactly this call.")
	}
	return b.String()
}

// The fields of the form.
const (
	formAllow    = "allow"
	formRemember = "remember"
)

// PromptSchema is the form of the client's own prompt: one yes or no, and where a yes can last
// for the session, whether it is to.
func (a *Approval) PromptSchema() []byte {
	remember := ""
	if a.CanLast() {
		remember = `,"` + formRemember + `":{"type":"boolean","title":"Remember for this session","description":"Also let later calls of this tool to the same destination run until the session ends","default":false}`
	}
	return []byte(`{"type":"object","properties":{"` + formAllow + `":{"type":"boolean","title":"Let it run","description":"Yes lets this call run once","default":false}` +
		remember + `},"required":["` + formAllow + `"]}`)
}

// ReadPrompt reads the client's answer to the form: an ElicitResult. Only a form that was sent
// off with a clear yes is one. Where nobody said yes or no, because the form was closed or the
// answer makes no sense, why says so, and the question has no answer.
func (a *Approval) ReadPrompt(result doc.Value) (ans Answer, why string) {
	const nonsense = "the client's answer makes no sense"
	ans.Channel = ChannelClient
	content := result.Get("content")
	allow, remember := content.Get(formAllow), content.Get(formRemember)
	switch action := result.Get("action"); {
	case action.Kind() != doc.String:
		return ans, nonsense
	case action.String() == "decline":
		return ans, ""
	case action.String() == "cancel":
		return ans, "the question was closed without an answer"
	case action.String() != "accept" || content.Kind() != doc.Object || allow.Kind() != doc.Bool:
		return ans, nonsense
	case remember.Kind() != doc.Absent && remember.Kind() != doc.Null && remember.Kind() != doc.Bool:
		return ans, nonsense
	}
	ans.Yes = allow.Bool()
	ans.Lasting = ans.Yes && remember.Bool() && a.CanLast()
	return ans, ""
}

// PromptParams are the params of an elicitation/create that asks in form mode. mode is written
// where the protocol version has it.
func (a *Approval) PromptParams(mode bool) []byte {
	text, err := doc.FromGo(strings.ToValidUTF8(a.PromptMessage(), "\ufffd"))
	if err != nil {
		panic(err) // valid text
	}
	var b bytes.Buffer
	b.WriteByte('{')
	if mode {
		b.WriteString(`"mode":"form",`)
	}
	b.WriteString(`"message":`)
	b.Write(text.AppendJSON(nil))
	b.WriteString(`,"requestedSchema":`)
	b.Write(a.PromptSchema())
	b.WriteByte('}')
	return b.Bytes()
}

// OriginText says in words where a destination is known from.
func OriginText(origin string) string {
	switch origin {
	case "unknown":
		return "unknown: never seen in this session"
	case "untrusted":
		return "untrusted: first seen in text from outside"
	case "inside":
		return "inside: only known from text of people inside"
	case "party":
		return "party: named as a party, vouched for by nobody"
	}
	return quote.Text(origin, 40)
}

// EvidenceText says where a destination was first seen; "" if it never was.
func EvidenceText(e sallyport.Evidence) string {
	if e.Tool == "" && e.Call == 0 {
		return ""
	}
	s := "first seen in the output of " + quote.Value(e.Tool, 120)
	if e.Upstream != "" {
		s += " of server " + quote.Value(e.Upstream, 120)
	}
	if e.Call != 0 {
		s += fmt.Sprintf(" (call %d, %s)", e.Call, e.Time.Local().Format(time.TimeOnly))
	}
	if e.Place != "" {
		s += " at " + quote.Text(e.Place, 120)
	}
	if e.Partial {
		s += "; only a part of it, such as its domain"
	}
	return s
}
