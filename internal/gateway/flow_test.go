package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// Each side has its own ids and progress tokens; the client sees its own, with their type.
func TestIDsAndProgressTokensAreMappedBack(t *testing.T) {
	up := toolServer("a", "slow")
	serve := up.serve
	go_ := make(chan struct{})
	up.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "tools/call" {
			token := progressToken(m)
			about(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, token))
			about(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"stranger","progress":1}}`)
			about(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":2}}`, token))
			<-go_
		}
		return serve(ctx, c, m, about)
	}
	r := newRig(t, Options{}, up, toolServer("b"))
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	k.send(`{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"a__slow","_meta":{"progressToken":"mine"}}}`)
	k.wants(k.next(), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":1}}`)
	k.wants(k.next(), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":2}}`)
	close(go_)
	if answer := k.next(); !strings.HasPrefix(answer, `{"jsonrpc":"2.0","id":"1","result"`) {
		t.Errorf("got %s", answer)
	}
	// B035: nothing for a call that is over.
	up.last(t).tell(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":3}}`)
	k.wants(k.call(`{"jsonrpc":"2.0","id":9,"method":"ping"}`), `{"jsonrpc":"2.0","id":9,"result":{}}`)
	k.close()
	for _, m := range up.received() {
		if strings.Contains(m, "mine") || strings.Contains(m, `"id":"1"`) {
			t.Errorf("the client's own names reached the server: %s", m)
		}
	}
}

// B032: a cancellation goes to the server that has the call, under its id there, and
// nowhere else; the call gets no answer.
func TestB032CancellationGoesToTheOwner(t *testing.T) {
	a, b := toolServer("a", "slow"), toolServer("b", "slow")
	started := make(chan struct{})
	serve := a.serve
	a.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "tools/call" {
			close(started)
			<-ctx.Done()
			return "", ctx.Err()
		}
		return serve(ctx, c, m, about)
	}
	r := newRig(t, Options{}, a, b)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	k.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a__slow"}}`)
	<-started
	k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`)
	k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"enough"}}`)
	eventually(t, "the server hears of it", func() bool { return a.saw(methodCancelled) })
	k.wants(k.call(`{"jsonrpc":"2.0","id":5,"method":"ping"}`), `{"jsonrpc":"2.0","id":5,"result":{}}`)
	k.close()
	if b.saw(methodCancelled) {
		t.Error("the other server hears of a cancellation that is not its own")
	}
}

// B045: what a server asks about a call reaches its client, and the answer the server.
func TestB045ServersAskTheClient(t *testing.T) {
	for _, via := range []string{"beside", "about the call"} {
		t.Run(via, func(t *testing.T) {
			up := toolServer("a", "ask")
			serve := up.serve
			up.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
				if m.Method != "tools/call" {
					return serve(ctx, c, m, about)
				}
				if via == "beside" {
					about = c.tell
				}
				answer, err := c.ask(ctx, "elicitation/create", `{"message":"who?","requestedSchema":{"type":"object","properties":{}}}`, about)
				if err != nil {
					return "", err
				}
				return fmt.Sprintf(`{"content":[],"structuredContent":%s}`, answer.Result), nil
			}
			other := toolServer("b", "ask")
			other.serve = up.serve
			r := newRig(t, Options{}, up, other)
			k := r.stdio(newCaller(t, "local", everything, nil))
			k.initialize()
			k.send(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"a__ask"}}`)
			k.wants(k.next(), `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"The server 'a' asks: who?","requestedSchema":{"type":"object","properties":{}}}}`)
			k.send(`{"jsonrpc":"2.0","id":"y","method":"tools/call","params":{"name":"b__ask"}}`)
			k.wants(k.next(), `{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"message":"The server 'b' asks: who?","requestedSchema":{"type":"object","properties":{}}}}`)
			k.send(`{"jsonrpc":"2.0","id":99,"result":{"action":"accept","content":{"n":"stranger"}}}`)
			k.send(`{"jsonrpc":"2.0","id":2,"result":{"action":"accept","content":{"n":"two"}}}`)
			k.wants(k.next(), `{"jsonrpc":"2.0","id":"y","result":{"content":[],"structuredContent":{"action":"accept","content":{"n":"two"}}}}`)
			k.send(`{"jsonrpc":"2.0","id":2,"result":{"action":"accept","content":{"n":"again"}}}`)
			k.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":"one"}}}`)
			k.wants(k.next(), `{"jsonrpc":"2.0","id":"x","result":{"content":[],"structuredContent":{"action":"accept","content":{"n":"one"}}}}`)
			k.close()
			if up.saw("stranger") || up.saw("again") || up.saw("two") {
				t.Error("an answer reached a server that it is not for")
			}
		})
	}
}

// A server that dies answers what is open with an error, at once, and comes back.
func TestADeadServerIsReplaced(t *testing.T) {
	a, b := toolServer("a", "slow", "look"), toolServer("b", "look")
	started := make(chan struct{}, 1)
	serve := a.serve
	a.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "tools/call" && strings.Contains(string(m.Params), "slow") {
			started <- struct{}{}
			<-ctx.Done()
		}
		return serve(ctx, c, m, about)
	}
	r := newRig(t, Options{}, a, b)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	k.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a__slow"}}`)
	<-started
	a.last(t).die(upstream.ErrDied)
	answer := k.next()
	if id := get(t, answer, "id"); fmt.Sprint(id) != "5" || get(t, answer, "error", "code") == nil {
		t.Fatalf("got %s", answer)
	}
	if got := k.call(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"b__look"}}`); !strings.Contains(got, "b ran") {
		t.Errorf("the other server is gone too: %s", got)
	}
	if got := k.call(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a__look"}}`); !strings.Contains(got, "a ran") {
		t.Errorf("the server did not come back: %s", got)
	}
	if got := string(a.last(t).client.Params); !strings.Contains(got, `"elicitation":{}`) {
		t.Errorf("it was greeted otherwise than by its client: %s", got)
	}
	k.close()
	if n := strings.Count(strings.Join(a.received(), "\n"), methodInitialized); n != 2 {
		t.Errorf("the servers heard %d times that the client is initialized, want once each", n)
	}
}

// B042, B043: one that is down is absent; it comes back by itself and is announced.
func TestB042AnUpstreamThatIsDownIsAbsent(t *testing.T) {
	a, b := toolServer("a", "look"), toolServer("b", "look")
	a.down = upstream.ErrDied
	r := newRig(t, Options{}, a, b)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	list := k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if get(t, list, "result", "tools", 0, "name") != "b__look" || get(t, list, "result", "tools", 1) != nil {
		t.Errorf("got %s", list)
	}
	if got := k.call(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a__look"}}`); get(t, got, "error", "code") == nil {
		t.Errorf("a tool of a dead server gives %s", got)
	}
	a.mu.Lock()
	a.down = nil
	a.mu.Unlock()
	k.wants(k.next(), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	list = k.call(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	if get(t, list, "result", "tools", 0, "name") != "a__look" {
		t.Errorf("it is still absent: %s", list)
	}
	k.close()
}

// B004: the end of the client's input does not take back what was accepted.
func TestB004OpenCallsOutliveTheEndOfInput(t *testing.T) {
	up := toolServer("a", "slow")
	serve := up.serve
	started, go_ := make(chan struct{}), make(chan struct{})
	up.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "tools/call" {
			close(started)
			<-go_
		}
		return serve(ctx, c, m, about)
	}
	r := newRig(t, Options{}, up)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	k.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"slow"}}`)
	<-started
	k.in.Close()
	close(go_)
	if got := k.next(); !strings.Contains(got, "a ran") {
		t.Errorf("got %s", got)
	}
	k.close()
}

// B072: a batch is judged message by message in sessions of 2025-03-26, refused elsewhere.
func TestB072Batches(t *testing.T) {
	up := toolServer("a", "look")
	r := newRig(t, Options{}, up)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.call(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}`)
	k.send(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"2","method":"ping"}]`)
	k.wants(k.next(), `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":"2","result":{}}]`)
	k.close()

	k = r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	k.send(`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}]`)
	if got := k.next(); fmt.Sprint(get(t, got, "error", "code")) != "-32600" {
		t.Errorf("got %s", got)
	}
	k.close()
	if up.saw("tools/call") {
		t.Error("a refused batch reached the server")
	}
}
