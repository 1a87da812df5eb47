package gateway

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/approval"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// asksFirst lets nothing run without a yes.
const asksFirst = `
p:
  default: allow
  rules:
    - {name: ask-first, effect: ask, tools: ["*ask*", "*look*"]}
`

// asking are options of a gateway that asks.
func asking(t *testing.T) (Options, *approval.Store) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := approval.NewStore(approval.StoreOptions{Dir: dir, LockWait: patience})
	return Options{Asking: &Asking{Store: s}}, s
}

// person is a caller whose client may be asked.
func person(t *testing.T, name string) Caller {
	t.Helper()
	c := newCaller(t, name, asksFirst, nil)
	c.Decides, c.AskClient = "p1", true
	return c
}

const yes = `{"action":"accept","content":{"allow":true}}`

// gatewaysQuestion checks that a request is the gateway's question about an upstream's tool.
func gatewaysQuestion(t *testing.T, raw, server, tool string) mcp.Message {
	t.Helper()
	m := message(raw)
	text, _ := get(t, raw, "params", "message").(string)
	if m.Method != "elicitation/create" || !strings.HasPrefix(text, "Sallyport, the gateway in front of the server '"+server+"', asks you: may this call run?\ntool: '"+tool+"'\n") {
		t.Fatalf("got %s", raw)
	}
	return m
}

// B094: a handshake client is asked by the gateway, whatever the server speaks; then by the server,
// under its name. The ids of both are the gateway's, and each answer goes where it belongs.
func TestB094TheGatewaysQuestionAndTheServers(t *testing.T) {
	for _, era := range []upstream.Era{upstream.Handshake, upstream.Stateless} {
		t.Run(fmt.Sprint(era), func(t *testing.T) {
			up := wanting("a")
			if era == upstream.Handshake {
				up = toolServer("a", "look")
				serve := up.serve
				up.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
					if m.Method != "tools/call" {
						return serve(ctx, c, m, about)
					}
					answer, err := c.ask(ctx, "elicitation/create", `{"message":"sure?","requestedSchema":{"type":"object","properties":{}}}`, about)
					return fmt.Sprintf(`{"content":[],"structuredContent":{"given":%s}}`, answer.Result), err
				}
			}
			o, _ := asking(t)
			r := newRig(t, o, up, toolServer("b", "look"))
			k := r.stdio(person(t, "local"))
			k.initialize()
			k.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"a__look","arguments":{"x":1}}}`)
			q := gatewaysQuestion(t, k.next(), "a", "a__look")
			if up.saw("tools/call") {
				t.Fatal("the call reached the server before the yes")
			}
			k.send(`{"jsonrpc":"2.0","id":` + q.ID.Raw() + `,"result":` + yes + `}`)
			theirs := k.next()
			if get(t, theirs, "params", "message") != "The server 'a' asks: sure?" {
				t.Fatalf("got %s", theirs)
			}
			if up.saw("allow") {
				t.Error("the answer to the gateway reached the server")
			}
			k.send(`{"jsonrpc":"2.0","id":` + q.ID.Raw() + `,"result":{"action":"accept","content":{"again":1}}}`) // answered already
			k.send(`{"jsonrpc":"2.0","id":` + message(theirs).ID.Raw() + `,"result":{"action":"accept","content":{"n":1}}}`)
			if got := k.next(); !strings.Contains(got, `"id":"c","result"`) || !strings.Contains(got, `{"action":"accept","content":{"n":1}}`) {
				t.Errorf("got %s", got)
			}
			if up.saw("again") {
				t.Error("a second answer to the gateway reached the server")
			}
			k.close()
		})
	}
}

// B094: a stateless client is asked by what answers its call, whatever the server speaks. The
// yes is for that caller and upstream, and nothing reaches a server before it.
func TestB094AStatelessClientIsAskedByAResult(t *testing.T) {
	for _, era := range []upstream.Era{upstream.Handshake, upstream.Stateless} {
		t.Run(fmt.Sprint(era), func(t *testing.T) {
			up := toolServer("a", "look")
			if era == upstream.Stateless {
				up = up.stateless()
			}
			o, store := asking(t)
			r := newRig(t, o, up, toolServer("b", "look"))
			other := newCaller(t, "cod", asksFirst, nil)
			s := r.overHTTP(person(t, "ann"), person(t, "bob"), other)
			call := func(caller, tool, rest string) string {
				t.Helper()
				meta := strings.Replace(modernMeta, `Capabilities":{}`, `Capabilities":{"elicitation":{}}`, 1)
				body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `,"name":"` + tool + `","arguments":{"x":1}` + rest + `}}`
				return post(t, s.URL, caller, body, "MCP-Protocol-Version", mcp.V20260728, "Mcp-Method", "tools/call", "Mcp-Name", tool).body
			}
			asked := call("ann", "a__look", "")
			state, _ := get(t, asked, "result", "requestState").(string)
			text, _ := get(t, asked, "result", "inputRequests", "io.sallyport/approval", "params", "message").(string)
			if state == "" || !strings.HasPrefix(text, "Sallyport, the gateway in front of the server 'a', asks you") {
				t.Fatalf("got %s", asked)
			}
			with := `,"inputResponses":{"io.sallyport/approval":` + yes + `},"requestState":"` + state + `"`
			// Another caller, another upstream, a client of that caller's that says other things of itself.
			if got := call("bob", "a__look", with); fmt.Sprint(get(t, got, "error", "code")) != "-32602" {
				t.Errorf("another caller with the state: %s", got)
			}
			if got := call("ann", "b__look", with); fmt.Sprint(get(t, got, "error", "code")) != "-32602" {
				t.Errorf("another upstream with the state: %s", got)
			}
			if up.saw("tools/call") || r.servers[1].saw("tools/call") {
				t.Fatal("something ran without a yes")
			}
			if got := call("ann", "a__look", with); !strings.Contains(got, "a ran") {
				t.Errorf("got %s", got)
			}
			if up.saw("sp1.") || up.saw("allow") {
				t.Errorf("the server heard of the question: %s", up.received())
			}
			if got := call("ann", "a__look", with); fmt.Sprint(get(t, got, "error", "code")) != "-32602" {
				t.Errorf("the state counts twice: %s", got)
			}
			// A token that does not say that a person sits at the client.
			got, _ := get(t, call("cod", "a__look", ""), "result", "content", 0, "text").(string)
			if !strings.Contains(got, "sallyport approve ") {
				t.Errorf("got %s", got)
			}
			if all, err := store.List(t.Context()); err != nil || len(all) != 1 {
				t.Errorf("open: %v, %v", all, err)
			}
		})
	}
}

// The question comes on the stream of its call, and is answered beside it.
func TestAHandshakeClientIsAskedOverHTTP(t *testing.T) {
	up := toolServer("a", "look")
	o, _ := asking(t)
	r := newRig(t, o, up)
	s := r.overHTTP(person(t, "ann"), newCaller(t, "cod", asksFirst, nil))
	for _, name := range []string{"ann", "cod"} {
		p := post(t, s.URL, name, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"0"}}}`)
		with := []string{"Mcp-Session-Id", p.header.Get("Mcp-Session-Id")}
		post(t, s.URL, name, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, with...)
		const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"look","arguments":{}}}`
		if name == "cod" {
			if got := post(t, s.URL, name, call, with...); !strings.Contains(got.body, "sallyport approve ") {
				t.Errorf("got %s", got.body)
			}
			continue
		}
		events, done := streamed(t, s.URL, name, call, with...)
		q := gatewaysQuestion(t, <-events, "a", "look")
		if got := post(t, s.URL, name, `{"jsonrpc":"2.0","id":`+q.ID.Raw()+`,"result":`+yes+`}`, with...); got.status != http.StatusAccepted {
			t.Fatalf("got %d %s", got.status, got.body)
		}
		if got := <-events; !strings.Contains(got, "a ran") {
			t.Errorf("got %s", got)
		}
		<-done
	}
}

// A cancelled call is asked about no more, and a client that ends takes all with it.
func TestTheGatewaysQuestionsEnd(t *testing.T) {
	up := toolServer("a", "look")
	o, store := asking(t)
	r := newRig(t, o, up, toolServer("b"))
	k := r.stdio(person(t, "local"))
	k.initialize()
	k.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"a__look","arguments":{"x":1}}}`)
	q := gatewaysQuestion(t, k.next(), "a", "a__look")
	k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}`)
	k.wants(k.next(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+q.ID.Raw()+`,"reason":"the client gave the call up"}}`)
	k.send(`{"jsonrpc":"2.0","id":` + q.ID.Raw() + `,"result":` + yes + `}`)
	k.send(`{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"a__look","arguments":{"x":2}}}`)
	gatewaysQuestion(t, k.next(), "a", "a__look")
	k.in.Close()
	if got := k.next(); !strings.Contains(got, `"id":"d"`) || !strings.Contains(got, "nobody agreed: the conversation is ending") {
		t.Errorf("got %s", got)
	}
	k.close()
	if all, err := store.List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("open: %v, %v", all, err)
	}
	if up.saw("tools/call") {
		t.Error("something ran without a yes")
	}
}

// A reload decides by what is asked from then on, in sessions that go on.
func TestAReloadAndTheGatewaysQuestion(t *testing.T) {
	up := toolServer("a", "look")
	o, _ := asking(t)
	r := newRig(t, o, up)
	c := person(t, "local")
	k := r.stdio(c)
	k.initialize()
	k.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"look","arguments":{"x":1}}}`)
	q := gatewaysQuestion(t, k.next(), "a", "look")
	next := r.setup.Load().Options
	c.Decides = "p2"
	if err := r.Reload(t.Context(), next, func(string) (Caller, bool) { return c, true }); err != nil {
		t.Fatal(err)
	}
	k.send(`{"jsonrpc":"2.0","id":` + q.ID.Raw() + `,"result":` + yes + `}`)
	for {
		got := k.next()
		if strings.Contains(got, "list_changed") {
			continue
		}
		if !strings.Contains(got, "nobody said yes to this call as it is now") {
			t.Errorf("got %s", got)
		}
		break
	}
	k.send(`{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"look","arguments":{"x":1}}}`)
	gatewaysQuestion(t, k.next(), "a", "look")
	k.close()
}

// hooked is a log that calls on with each message before it is written.
type hooked struct {
	slog.Handler
	on func(msg string)
}

func (h hooked) Handle(ctx context.Context, r slog.Record) error {
	h.on(r.Message)
	return h.Handler.Handle(ctx, r)
}

func (h hooked) WithAttrs(as []slog.Attr) slog.Handler { return hooked{h.Handler.WithAttrs(as), h.on} }

func (h hooked) WithGroup(name string) slog.Handler { return hooked{h.Handler.WithGroup(name), h.on} }

// While a session changes over to another configuration, what was agreed to for the session
// under the old one covers no call that the new one decides.
func TestAYesForTheSessionDoesNotReachIntoAReload(t *testing.T) {
	doubts := sallyport.NewDoubts(sallyport.DoubtOptions{})
	caller := func(rules, decides string) Caller {
		cfg, err := config.Load("test.yaml", []byte("version: 1\ntools:\n  send: {exfiltrating: true, sink_params: [to]}\n"), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		set, err := contract.NewSet(cfg.Contracts, contract.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := newCaller(t, "local", rules, doubts)
		if c.Engine, err = sallyport.New(sallyport.Options{Policy: c.Policy, Contracts: set, Doubts: doubts}); err != nil {
			t.Fatal(err)
		}
		c.Decides, c.AskClient = decides, true
		return c
	}
	up := toolServer("a", "send")
	o, _ := asking(t)
	r := newRig(t, o, up)
	var k *client
	send := func(id int) string {
		t.Helper()
		k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"send","arguments":{"to":"bob@partner.example"}}}`, id))
		for {
			if got := k.next(); !strings.Contains(got, "list_changed") {
				return got
			}
		}
	}
	var amid string
	opt := r.setup.Load().Options
	opt.Log = slog.New(hooked{opt.Log.Handler(), func(msg string) {
		if amid == "" && strings.Contains(msg, "'refuse' names the tool 'rread'") { // the engine is the new one
			amid = "…"
			amid = send(3)
		}
	}})
	r.setup.Store(newSetup(opt, nil, r.opener))
	k = r.stdio(caller("p: {default: allow}", "p1"))
	k.initialize()
	q := gatewaysQuestion(t, send(1), "a", "send")
	k.send(`{"jsonrpc":"2.0","id":` + q.ID.Raw() + `,"result":{"action":"accept","content":{"allow":true,"remember":true}}}`)
	if got := k.next(); !strings.Contains(got, "a ran") {
		t.Fatalf("got %s", got)
	}
	if got := send(2); !strings.Contains(got, "a ran") {
		t.Fatalf("the yes was not one for the session: %s", got)
	}
	next := caller("p: {default: allow, rules: [{name: refuse, effect: deny, tools: [rread]}]}", "p2")
	if err := r.Reload(t.Context(), opt, func(string) (Caller, bool) { return next, true }); err != nil {
		t.Fatal(err)
	}
	gatewaysQuestion(t, amid, "a", "send")
	gatewaysQuestion(t, send(4), "a", "send")
	k.close()
}

// streamed posts a request and gives the events of its stream as they come.
func streamed(t *testing.T, url, caller, body string, headers ...string) (events chan string, done chan struct{}) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+caller)
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	events, done = make(chan string, 100), make(chan struct{})
	go func() {
		defer close(done)
		defer close(events)
		p, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Error(err)
			return
		}
		defer p.Body.Close()
		for s := bufio.NewScanner(p.Body); s.Scan(); {
			if data, ok := strings.CutPrefix(s.Text(), "data: "); ok && strings.HasPrefix(data, "{") {
				events <- data
			}
		}
	}()
	return events, done
}
