package relay

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/approval"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/policy"
)

// prompting is a rig whose client may be asked.
func prompting(t *testing.T, o rigOptions) *rig {
	t.Helper()
	if o.config == "" {
		o.config = mailConfig
	}
	if o.asks == nil {
		o.asks = asking
	}
	more := o.options
	o.options = func(p *PipeOptions) {
		p.AskClient, p.PromptTick = true, time.Hour // a slow machine must not change what happens
		if more != nil {
			more(p)
		}
	}
	return newRig(t, o)
}

// greets begins a session of a handshake version.
func (g *rig) greets(version, capabilities string) {
	g.t.Helper()
	g.client(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":` + capabilities + `,"clientInfo":{"name":"c","version":"1"}}}`)
	g.serverHears()
	g.server(`{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"` + version + `","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)
	g.clientHears()
}

func (g *rig) initialized() {
	g.t.Helper()
	g.client(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	g.serverHears()
}

const canAsk = `{"elicitation":{}}`

// elicitation is a question that the client hears.
type elicitation struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Mode, Message   string
		RequestedSchema struct {
			Properties map[string]struct{ Type string }
			Required   []string
		}
	}
}

// isAsked reads the question that the client hears.
func (g *rig) isAsked() (e elicitation) {
	g.t.Helper()
	f := g.clientHears()
	if err := json.Unmarshal([]byte(f), &e); err != nil {
		g.t.Fatal(err)
	}
	if e.Method != "elicitation/create" || !strings.HasPrefix(e.Params.Message, "Sallyport, the gateway in front of the server 'srv', asks you: may this call run?\n") {
		g.t.Fatalf("the client hears %s", brief(f))
	}
	return e
}

func (g *rig) replies(e elicitation, result string) {
	g.t.Helper()
	g.client(`{"jsonrpc":"2.0","id":` + string(e.ID) + `,"result":` + result + `}`)
}

const (
	sendToBob = `{"to":"bob@partner.example","body":"first"}`
	saysYes   = `{"action":"accept","content":{"allow":true}}`
)

// runs checks that a call reaches the server and its answer the client.
func (g *rig) runs(id any, args string) {
	g.t.Helper()
	g.serverWants(callFrame(id, "send_email", args))
	g.server(textResult(id, "sent"))
	g.clientWants(textResult(id, "sent"))
}

func TestTheClientIsAsked(t *testing.T) {
	for _, c := range []struct{ version, capabilities, mode string }{
		{mcp.V20250618, canAsk, ""},
		{mcp.V20251125, canAsk, "form"},
		{mcp.V20251125, `{"elicitation":{"form":{},"url":{}}}`, "form"},
	} {
		t.Run(c.version, func(t *testing.T) {
			g := prompting(t, rigOptions{})
			g.greets(c.version, c.capabilities)
			g.initialized()
			g.call(1, "send_email", sendToBob)
			e := g.isAsked()
			for _, want := range []string{
				"tool: 'send_email'\n", "destination in 'to': 'bob@partner.example'\n", "known from: unknown: never seen in this session\n",
				"question: destination to='bob@partner.example' is not a vouched recipient\n", `"body":"first"`,
			} {
				if !strings.Contains(e.Params.Message, want) {
					t.Errorf("the question does not say %q:\n%s", want, e.Params.Message)
				}
			}
			if e.Params.Mode != c.mode || len(e.Params.RequestedSchema.Properties) != 2 || fmt.Sprint(e.Params.RequestedSchema.Required) != "[allow]" {
				t.Errorf("asked %+v", e)
			}
			g.replies(e, saysYes)
			g.runs(1, sendToBob)
			g.call(2, "send_email", sendToBob)
			g.isAsked() // it counted once
			var phases []string
			for _, r := range records(t, g) {
				if r["event"] == "approval" {
					phases = append(phases, r["phase"].(string))
				}
			}
			if by := mustJSON(records(t, g)); !strings.Contains(by, "yes, once, channel client, by whoever sits at the client 'c'") {
				t.Error("the log does not say who answered")
			}
			if got := strings.Join(phases, " "); got != "asked answered used asked" {
				t.Errorf("the log has %s", got)
			}
		})
	}
}

// A client that did not say that it can be asked gets a code.
func TestClientsThatCannotAsk(t *testing.T) {
	for name, begin := range map[string]func(*rig){
		"no capability":    func(g *rig) { g.greets(mcp.V20251125, `{"roots":{}}`); g.initialized() },
		"pages only":       func(g *rig) { g.greets(mcp.V20251125, `{"elicitation":{"url":{}}}`); g.initialized() },
		"before its time":  func(g *rig) { g.greets(mcp.V20250326, canAsk); g.initialized() },
		"not initialized":  func(g *rig) { g.greets(mcp.V20251125, canAsk) },
		"nothing was said": func(*rig) {},
		"not allowed": func(g *rig) {
			g.greets(mcp.V20251125, canAsk)
			g.initialized()
			g.relay.SetPolicy(Rules{Policy: policy.BuiltIn(), Decides: "p1"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := prompting(t, rigOptions{})
			begin(g)
			g.call(1, "send_email", sendToBob)
			g.asked(1, "flow")
		})
	}
}

// Whatever is no clear yes denies, and the call never runs later.
func TestAnAnswerThatIsNoYesDenies(t *testing.T) {
	nobody := "nobody agreed: "
	for answer, want := range map[string]string{
		`"result":{"action":"decline"}`:                                          "the user said no",
		`"result":{"action":"accept","content":{"allow":false}}`:                 "the user said no",
		`"result":{"action":"cancel"}`:                                           nobody + "the question was closed without an answer",
		`"result":{"action":"accept"}`:                                           nobody,
		`"result":{"action":"accept","content":{}}`:                              nobody,
		`"result":{"action":"accept","content":{"allow":"true"}}`:                nobody,
		`"result":{"action":"accept","content":{"allow":1}}`:                     nobody,
		`"result":{"action":"accept","content":{"allow":[true]}}`:                nobody,
		`"result":{"action":"accept","content":{"allow":true,"remember":"yes"}}`: nobody,
		`"result":{"action":"accept","content":[{"allow":true}]}`:                nobody,
		`"result":{"action":"Accept","content":{"allow":true}}`:                  nobody,
		`"result":{"action":["accept"],"content":{"allow":true}}`:                nobody,
		`"result":{"action":"decline","content":{"allow":true}}`:                 "the user said no",
		`"result":{}`: nobody,
		`"result":{"task":{"taskId":"t","status":"working"}}`:                    nobody,
		`"result":{"action":"accept","content":{"Allow":true}}`:                  nobody,
		`"error":{"code":-32601,"message":"no"}`:                                 nobody + "the client answered with an error",
		`"result":{"action":"accept","content":{"allow":true}},"Result":1`:       nobody + "the client's answer cannot be read",
		`"result":{"action":"accept","content":{"allow":true,"allow":true}}`:     nobody,
		`"result":{"action":"accept","content":{"allow":false,"remember":true}}`: "the user said no",
	} {
		t.Run(answer, func(t *testing.T) {
			g := prompting(t, rigOptions{})
			g.greets(mcp.V20251125, canAsk)
			g.initialized()
			g.call(1, "send_email", sendToBob)
			e := g.isAsked()
			g.client(`{"jsonrpc":"2.0","id":` + string(e.ID) + `,` + answer + `}`)
			if text := g.refused(1, "approval"); !strings.Contains(text, "is not a vouched recipient; "+want) {
				t.Errorf("refusal reads\n%s", text)
			}
			g.replies(e, saysYes) // too late
			g.quiet()
			g.call(2, "send_email", sendToBob)
			if strings.HasPrefix(want, nobody) {
				g.isAsked() // nobody has answered
			} else if text := g.refused(2, "approval"); !strings.Contains(text, "it is not asked again") {
				t.Errorf("refusal reads\n%s", text)
			}
		})
	}
}

// B097: a client that gives the call up is asked no more, and a late yes runs nothing.
func TestB097ACancelledCallNeverRuns(t *testing.T) {
	g := prompting(t, rigOptions{})
	g.greets(mcp.V20251125, canAsk)
	g.initialized()
	g.call(1, "send_email", sendToBob)
	e := g.isAsked()
	g.client(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	g.clientWants(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + string(e.ID) + `,"reason":"the client gave the call up"}}`)
	g.replies(e, saysYes)
	g.quiet()
	g.call(2, "send_email", sendToBob)
	if again := g.isAsked(); string(again.ID) == string(e.ID) {
		t.Error("the same question came back")
	}
}

func TestB097APromptEndsBeforeItsClientGivesUp(t *testing.T) {
	g := prompting(t, rigOptions{options: func(o *PipeOptions) { o.PromptWait = 30 * time.Millisecond }})
	g.greets(mcp.V20251125, canAsk)
	g.initialized()
	g.call(1, "send_email", sendToBob)
	e := g.isAsked()
	g.clientWants(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + string(e.ID) + `,"reason":"nobody answered in time"}}`)
	if text := g.refused(1, "approval"); !strings.Contains(text, "nobody agreed: nobody answered in time") {
		t.Errorf("refusal reads\n%s", text)
	}
	g.replies(e, saysYes)
	g.quiet()
}

// A client that wants progress hears that its call waits, and the question stays.
func TestB097ProgressKeepsTheCallAlive(t *testing.T) {
	g := prompting(t, rigOptions{options: func(o *PipeOptions) { o.PromptWait, o.PromptTick = time.Millisecond, 5*time.Millisecond }})
	g.greets(mcp.V20251125, canAsk)
	g.initialized()
	frame := strings.Replace(callFrame(1, "send_email", sendToBob), `"params":{`, `"params":{"_meta":{"progressToken":"p\u00fc"},`, 1)
	g.client(frame)
	e := g.isAsked()
	for _, n := range []string{"0.000001", "0.000002"} {
		g.clientWants(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p\u00fc","progress":` + n + `,"message":"waiting for the user to answer Sallyport's question"}}`)
	}
	g.replies(e, saysYes)
	g.serverWants(frame)
}

// The client's end of input is no answer.
func TestAClientThatGoesAwayDenies(t *testing.T) {
	g := prompting(t, rigOptions{})
	g.greets(mcp.V20251125, canAsk)
	g.initialized()
	g.call(1, "send_email", sendToBob)
	g.isAsked()
	g.clientIn.Close()
	if text := g.refused(1, "approval"); !strings.Contains(text, "nobody agreed: the conversation is ending") {
		t.Errorf("refusal reads\n%s", text)
	}
	g.waitEnd(ClientEnded)
	if all, err := g.store.List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("open: %v, %v", all, err)
	}
}

// B095: what was shown is what goes out, byte for byte; nothing rewrites a call between.
func TestB095WhatWasShownIsSent(t *testing.T) {
	g := prompting(t, rigOptions{tools: `[{"name":"send_email","inputSchema":{"type":"object"}}]`})
	g.greets(mcp.V20251125, canAsk)
	g.initialized()
	const frame = `{"params":{"arguments":{ "n":1.50, "to" : "bob@partner.example","body":"h\u00e9"},"name":"send_email"}, "method":"tools/call","id":"one","jsonrpc":"2.0"}`
	g.client(frame)
	e := g.isAsked()
	if !strings.Contains(e.Params.Message, `"n":1.50`) || !strings.Contains(e.Params.Message, `"body":"hé"`) {
		t.Errorf("asked\n%s", e.Params.Message)
	}
	g.replies(e, saysYes)
	g.serverWants(frame)
}

func TestRememberForTheSession(t *testing.T) {
	g := prompting(t, rigOptions{})
	g.greets(mcp.V20251125, canAsk)
	g.initialized()
	g.call(1, "send_email", sendToBob)
	g.replies(g.isAsked(), `{"action":"accept","content":{"allow":true,"remember":true}}`)
	g.runs(1, sendToBob)
	g.answered(2, "send_email", `{"to":"bob@partner.example","body":"second"}`, "sent")
	g.call(3, "send_email", `{"to":"carol@partner.example"}`)
	g.isAsked()
}

// All destinations stand in one question; a call as a whole has no "remember".
func TestOneQuestionForAllDestinations(t *testing.T) {
	g := prompting(t, rigOptions{tools: `[{"name":"send_email","inputSchema":{"type":"object"}}]`})
	g.greets(mcp.V20251125, canAsk)
	g.initialized()
	const args = `{"to":["bob@partner.example","carol@partner.example"]}`
	g.call(1, "send_email", args)
	e := g.isAsked()
	for _, who := range []string{"'bob@partner.example'\n", "'carol@partner.example'\n"} {
		if !strings.Contains(e.Params.Message, who) {
			t.Errorf("the question does not say %s:\n%s", who, e.Params.Message)
		}
	}
	g.replies(e, saysYes)
	g.runs(1, args)
}

func TestAWholeCallHasNoRemember(t *testing.T) {
	g := prompting(t, rigOptions{config: strings.Replace(mailConfig, "echo: {max_calls: 1000}", "echo: {destructive: true}", 1)})
	g.greets(mcp.V20251125, canAsk)
	g.initialized()
	g.call(1, "echo", `{"x":1}`)
	e := g.isAsked()
	if _, ok := e.Params.RequestedSchema.Properties["remember"]; ok || !strings.Contains(e.Params.Message, "A yes is for exactly this call.") {
		t.Errorf("asked %+v", e)
	}
	g.replies(e, `{"action":"accept","content":{"allow":true,"remember":true}}`)
	g.serverWants(callFrame(1, "echo", `{"x":1}`))
	g.server(textResult(1, "ok"))
	g.clientWants(textResult(1, "ok"))
	g.call(2, "echo", `{"x":1}`)
	g.isAsked()
}

// The question that is open is not asked again beside: the second call gets its code.
func TestAnOpenPromptIsNotSentTwice(t *testing.T) {
	g := prompting(t, rigOptions{})
	g.greets(mcp.V20251125, canAsk)
	g.initialized()
	g.call(1, "send_email", sendToBob)
	e := g.isAsked()
	g.call(2, "send_email", sendToBob)
	code := g.asked(2, "flow")
	g.says(code, approval.Answer{Yes: true}) // at the terminal
	g.replies(e, saysYes)                    // and here: one yes, one call
	g.runs(1, sendToBob)
	g.call(3, "send_email", sendToBob)
	g.isAsked()
}

// Completions come with each letter: nobody is asked about them.
func TestNobodyIsAskedAboutCompletions(t *testing.T) {
	g := prompting(t, rigOptions{config: `
version: 1
policies:
  p:
    rules:
      - {effect: ask, prompts: ["*"]}
`})
	g.greets(mcp.V20251125, canAsk)
	g.initialized()
	g.client(`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"x"}}}`)
	if text := g.wantError("1", mcp.CodeRefused); !strings.Contains(text, "Nobody can be asked about this here") {
		t.Errorf("refusal reads\n%s", text)
	}
	get := `{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"p"}}`
	g.client(get)
	g.replies(g.isAsked(), saysYes)
	g.serverWants(get)
}

// A question that is answered at a terminal is answered in the client too.
func TestAnsweredAtATerminalMeanwhile(t *testing.T) {
	for _, yes := range []bool{true, false} {
		g := prompting(t, rigOptions{options: func(o *PipeOptions) { o.PromptTick = 5 * time.Millisecond }})
		g.greets(mcp.V20251125, canAsk)
		g.initialized()
		g.call(1, "send_email", sendToBob)
		e := g.isAsked()
		all, err := g.store.List(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		g.says(all[0].Code, approval.Answer{Yes: yes})
		g.clientWants(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + string(e.ID) + `,"reason":"it was answered at a terminal"}}`)
		if yes {
			g.runs(1, sendToBob)
		} else if text := g.refused(1, "approval"); !strings.Contains(text, "nobody said yes to this call as it is now") {
			t.Errorf("refusal reads\n%s", text)
		}
		g.replies(e, saysYes)
		g.quiet()
	}
}

// The last word is a no.
func TestANoInTheClientTakesTheTerminalsYesBack(t *testing.T) {
	g := prompting(t, rigOptions{})
	g.greets(mcp.V20251125, canAsk)
	g.initialized()
	g.call(1, "send_email", sendToBob)
	e := g.isAsked()
	g.call(2, "send_email", sendToBob)
	g.says(g.asked(2, "flow"), approval.Answer{Yes: true})
	g.replies(e, `{"action":"decline"}`)
	g.refused(1, "approval")
	g.call(3, "send_email", sendToBob)
	g.isAsked()
}

// What is asked about is shown, and is no link.
func TestAQuestionHoldsNoLinks(t *testing.T) {
	o := rigOptions{config: "version: 1\ntools:\n  fetch: {exfiltrating: true, sink_params: [url]}\n", tools: `[{"name":"fetch","inputSchema":{"type":"object","properties":{"url":{"type":"string"}}}}]`}
	g := prompting(t, o)
	g.greets(mcp.V20251125, canAsk)
	g.initialized()
	const args = `"name":"fetch","arguments":{"url":"https://drop.attacker.example/in"}`
	g.client(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + args + `}}`)
	if e := g.isAsked(); !strings.Contains(e.Params.Message, "'https[:]//drop.attacker.example/in'") || strings.Contains(e.Params.Message, "https://") {
		t.Errorf("asked\n%s", e.Params.Message)
	}
	g = prompting(t, o)
	g.client(modernFrame("1", "tools/call", args+","))
	if f := g.clientHears(); !strings.Contains(f, "'https[:]//drop.attacker.example/in'") || strings.Contains(f, "https://") {
		t.Errorf("asked\n%s", f)
	}
}
