package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

const asksWho = `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"%s","requestedSchema":{"type":"object","properties":{}}}}`

// Two servers use the same ids: what one withdraws is its own question, and what one that
// dies has asked is withdrawn for it.
func TestQuestionsAreWithdrawn(t *testing.T) {
	a, b := toolServer("a", "look"), toolServer("b", "look")
	r := newRig(t, Options{}, a, b)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	for _, s := range []*server{a, b} {
		eventually(t, "it is initialized", func() bool { return s.saw(methodInitialized) })
		s.last(t).tell(fmt.Sprintf(asksWho, s.name))
		if got := k.next(); !strings.Contains(got, `"message":"The server '`+s.name+`' asks: `+s.name+`"`) {
			t.Fatalf("got %s", got)
		}
	}
	b.last(t).tell(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"never mind"}}`)
	k.wants(k.next(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"never mind"}}`)
	a.last(t).die(upstream.ErrDied)
	if got := k.next(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,`) {
		t.Errorf("got %s", got)
	}
	k.send(`{"jsonrpc":"2.0","id":2,"result":{"action":"accept","content":{}}}`)
	k.close()
	for _, s := range []*server{a, b} {
		if s.saw(`"action":"accept"`) {
			t.Errorf("the answer to a question that was withdrawn reached %s", s.name)
		}
	}
}

// Nothing is asked of a client that is not initialized yet, but whether it is there.
func TestNothingIsAskedBeforeInitialized(t *testing.T) {
	up := toolServer("a", "look")
	r := newRig(t, Options{}, up)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.call(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"0"}}}`)
	up.last(t).tell(fmt.Sprintf(asksWho, "early"))
	eventually(t, "the server is refused", func() bool { return up.saw(`"id":7,"error"`) })
	up.last(t).tell(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)
	k.wants(k.next(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	k.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	eventually(t, "the server has its answer", func() bool { return up.saw(`{"jsonrpc":"2.0","id":8,"result":{}}`) })
	k.close()
}

// A question that the client's version has no form for is refused, and the server hears so.
func TestQuestionsTakeTheClientsVersion(t *testing.T) {
	up := toolServer("a", "ask")
	serve := up.serve
	up.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method != "tools/call" {
			return serve(ctx, c, m, about)
		}
		answer, err := c.ask(ctx, "elicitation/create", `{"mode":"form","message":"who?","requestedSchema":{"type":"object","properties":{}}}`, about)
		if err != nil {
			return "", err
		}
		if answer.Error != nil {
			return `{"content":[],"structuredContent":{"refused":true}}`, nil
		}
		return `{"content":[],"structuredContent":{"refused":false}}`, nil
	}
	r := newRig(t, Options{}, up)
	for version, asked := range map[string]bool{mcp.V20241105: false, mcp.V20250618: true} {
		k := r.stdio(newCaller(t, "local", everything, nil))
		k.call(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"0"}}}`)
		k.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		k.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{}}}`)
		if asked {
			k.wants(k.next(), `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"The server 'a' asks: who?","requestedSchema":{"type":"object","properties":{}}}}`)
			k.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{}}}`)
		}
		if got := k.next(); get(t, got, "result", "structuredContent", "refused") != !asked {
			t.Errorf("%s: got %s", version, got)
		}
		k.close()
	}
}

// Nobody can answer after the end of input: the server hears so, and the call goes on.
func TestQuestionsEndWithTheInput(t *testing.T) {
	up := toolServer("a", "ask")
	serve := up.serve
	up.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method != "tools/call" {
			return serve(ctx, c, m, about)
		}
		answer, err := c.ask(ctx, "elicitation/create", `{"message":"who?","requestedSchema":{"type":"object","properties":{}}}`, about)
		return fmt.Sprintf(`{"content":[],"structuredContent":{"refused":%v}}`, answer.Error != nil), err
	}
	r := newRig(t, Options{}, up)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	k.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{}}}`)
	k.next()
	k.in.Close()
	k.wants(k.next(), `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"refused":true}}}`)
	k.close()
}

// A server can tell of its own calls only, whatever tokens it names.
func TestProgressOfAnothersCallIsDropped(t *testing.T) {
	a, b := toolServer("a", "slow"), toolServer("b")
	serve := a.serve
	token, go_ := make(chan string, 1), make(chan struct{})
	a.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "tools/call" {
			token <- string(progressToken(m))
			<-go_
		}
		return serve(ctx, c, m, about)
	}
	r := newRig(t, Options{}, a, b)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	k.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__slow","_meta":{"progressToken":"t"}}}`)
	b.last(t).tell(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + <-token + `,"progress":1}}`)
	close(go_)
	if got := k.next(); !strings.Contains(got, "a ran") {
		t.Errorf("got %s", got)
	}
	k.close()
}

// An answer that cannot be read goes to nobody: the server hears that it is refused, and no
// word of it, for the words were judged by nothing.
func TestARefusedAnswerIsNotQuoted(t *testing.T) {
	up := toolServer("a", "look")
	r := newRig(t, Options{}, up)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	eventually(t, "it is initialized", func() bool { return up.saw(methodInitialized) })
	up.last(t).tell(fmt.Sprintf(asksWho, "who"))
	k.next()
	k.send(`{"jsonrpc":"2.0","id":1,"result":{},"https://evil.example/x":1,"HTTPS://evil.example/x":2}`)
	eventually(t, "the server is refused", func() bool { return up.saw(`"id":7,"error"`) })
	if up.saw("evil.example") {
		t.Error("the server got what the client's answer holds")
	}
	k.close()
}
