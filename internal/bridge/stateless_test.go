package bridge

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

const legacyEverything = `{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true,"listChanged":true},"logging":{}}`

// modern is the _meta of a stateless client's request, with more members in front.
func modern(more string) string {
	return `{` + more + `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{}}}`
}

type statelessRig struct {
	*StatelessConn
	server *server
	beside chan mcp.Message
}

func newStateless(t testing.TB, capabilities string, s script) *statelessRig {
	t.Helper()
	return newStatelessOf(t, mcp.V20251125, capabilities, s)
}

func newStatelessOf(t testing.TB, version, capabilities string, s script) *statelessRig {
	t.Helper()
	srv := newServer(t, upstream.Handshake, version, s)
	r := &statelessRig{server: srv, beside: make(chan mcp.Message, 256)}
	c, _, err := Stateless(srv, parse(t, result(0, `{"protocolVersion":"`+version+`","capabilities":`+capabilities+`}`)),
		Client{Beside: func(m mcp.Message) { r.beside <- m }})
	if err != nil {
		t.Fatal(err)
	}
	r.StatelessConn = c
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return r
}

// initialized takes the notification that the server gets first.
func (r *statelessRig) initialized(t testing.TB) {
	t.Helper()
	if m := <-r.server.sent; m.Method != "notifications/initialized" {
		t.Fatalf("the server got %s first", m.Raw)
	}
}

func TestStatelessCarries(t *testing.T) {
	for _, c := range []struct{ name, request, toServer, fromServer, want string }{
		{
			"a call, unknown fields and bytes kept",
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x", "arguments":{"n":9007199254740993},"_meta":` + modern(`"traceparent":"00-1",`) + `,"future":1.0},"extra":1}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x", "arguments":{"n":9007199254740993},"_meta":{"traceparent":"00-1"},"future":1.0},"extra":1}`,
			`{"jsonrpc":"2.0","id":7,"result":{ "content":[ ],"x":1e400},"extra":2}`,
			`{"jsonrpc":"2.0","id":7,"result":{ "content":[ ],"x":1e400,"resultType":"complete"},"extra":2}`,
		},
		{
			"a list is private and stale",
			req(7, "tools/list", `{"_meta":`+modern("")+`}`), req(7, "tools/list", `{"_meta":{}}`),
			result(7, `{"tools":[{"name":"a","execution":{"taskSupport":"optional"}}],"nextCursor":"b"}`),
			result(7, `{"tools":[{"name":"a","execution":{"taskSupport":"optional"}}],"nextCursor":"b","resultType":"complete","ttlMs":0,"cacheScope":"private"}`),
		},
		{
			"a server that says what is not its to say",
			req(7, "resources/read", `{"uri":"a:b","_meta":`+modern("")+`}`), req(7, "resources/read", `{"uri":"a:b","_meta":{}}`),
			result(7, `{"resultType":"mine","contents":[],"cacheScope":"public","ttlMs":9}`),
			result(7, `{"resultType":"complete","contents":[],"cacheScope":"private","ttlMs":0}`),
		},
		{
			"a resource that is not there",
			req(7, "resources/read", `{"uri":"a:b"}`), req(7, "resources/read", `{"uri":"a:b"}`),
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"no","data":{"uri":"a:b"}}}`,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no","data":{"uri":"a:b"}}}`,
		},
		{
			"an error", req(7, "tools/call", `{"name":"x","inputResponses":{}}`), req(7, "tools/call", `{"name":"x"}`),
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"mine"}}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"mine"}}`,
		},
		{
			"completions are not kept", req(7, "completion/complete", `{"_meta":`+modern("")+`}`), req(7, "completion/complete", `{"_meta":{}}`),
			result(7, `{"completion":{}}`), result(7, `{"completion":{},"resultType":"complete"}`),
		},
		{
			"a result that is none", req(7, "tools/list", `{}`), req(7, "tools/list", `{}`), result(7, `[]`),
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"[sallyport] the server's result is no object"}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newStateless(t, legacyEverything, func(context.Context, mcp.Message, func(string)) (string, error) { return c.fromServer, nil })
			want(t, "answer", do(t, r, c.request).answer(), c.want)
			want(t, "to the server", strings.Join(r.server.requests(), "\n"), c.toServer)
			r.initialized(t)
			if len(r.server.sent) > 0 {
				t.Errorf("and %s", (<-r.server.sent).Raw)
			}
		})
	}
}

// B049, from the other side: a server that wants input in a result has no way to say so in a
// handshake version, and what it sends is not complete. The Go SDK's does it when a handler
// asks for a second round.
func TestB049HalfAResultIsNotComplete(t *testing.T) {
	for _, half := range []string{
		`{"content":[],"requestState":"s","inputRequests":{"q":{"method":"elicitation/create","params":{}}}}`,
		`{"content":[],"inputRequests":{}}`,
		`{"resultType":"input_required","content":[],"requestState":"s"}`,
	} {
		for method, params := range map[string]string{"tools/call": `{"name":"x"}`, "tools/list": `{}`} {
			r := newStateless(t, legacyEverything, func(_ context.Context, m mcp.Message, _ func(string)) (string, error) { return answer(m, half) })
			if got := do(t, r, req(7, method, params)).answer(); code(t, got) != mcp.CodeInternal || !strings.Contains(got, "asks for input in a result") {
				t.Errorf("%s, %s: %s", method, half, got)
			}
		}
	}
}

func TestStatelessRefuses(t *testing.T) {
	r := newStateless(t, legacyEverything, func(context.Context, mcp.Message, func(string)) (string, error) {
		return "", errors.New("the server was asked")
	})
	for _, c := range []struct {
		frame string
		code  int
	}{
		{req(1, "initialize", `{}`), mcp.CodeMethodNotFound},
		{req(1, "ping", ""), mcp.CodeMethodNotFound},
		{req(1, "logging/setLevel", `{"level":"info"}`), mcp.CodeMethodNotFound},
		{req(1, "resources/subscribe", `{"uri":"a:b"}`), mcp.CodeMethodNotFound},
		{req(1, "resources/unsubscribe", `{"uri":"a:b"}`), mcp.CodeMethodNotFound},
		{req(1, "tasks/get", `{"taskId":"a"}`), mcp.CodeMethodNotFound},
		{req(1, "tasks/update", `{"taskId":"a"}`), mcp.CodeMethodNotFound},
		{req(1, "tools/call", `{"name":"x","_meta":{"io.modelcontextprotocol/logLevel":"loud"}}`), mcp.CodeInvalidParams},
		{req(1, "tools/call", `{"name":"x","_meta":3}`), mcp.CodeInvalidParams},
		{req(1, "tools/call", `{"name":"x","requestState":"guessed"}`), mcp.CodeInvalidParams},
		{req(1, "tools/call", `{"name":"x","requestState":3}`), mcp.CodeInvalidParams},
		{req(1, "tools/call", `{"name":"x","requestState":"s","inputResponses":[]}`), mcp.CodeInvalidParams},
		{req(1, "tools/call", `{"name":"x","requestState":"s","inputResponses":{"a":1}}`), mcp.CodeInvalidParams},
		{req(1, "subscriptions/listen", `{}`), mcp.CodeInvalidParams},
		{req(1, "subscriptions/listen", `{"notifications":{"resourceSubscriptions":[1]}}`), mcp.CodeInvalidParams},
		{req(1, "subscriptions/listen", `{"notifications":{"resourceSubscriptions":1}}`), mcp.CodeInvalidParams},
		{req(1, "subscriptions/listen", `{"notifications":{"taskIds":["a"]}}`), CodeMissingCapability},
	} {
		if got := do(t, r, c.frame).answer(); code(t, got) != c.code {
			t.Errorf("%s: %s", c.frame, got)
		}
	}
}
