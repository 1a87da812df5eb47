package bridge

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

const everything = `{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true,"listChanged":true},"logging":{},"completions":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

const initParams = `{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":"c","version":"1"}}`

// metaOf is the _meta that requests get, with more members in front.
func metaOf(more string) string {
	return `{` + more + `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}}`
}

type handshakeRig struct {
	*HandshakeConn
	server *server
	beside chan mcp.Message
}

// besideListen lets a script wait on every subscriptions/listen that it does not look at.
func besideListen(s script) script {
	return func(ctx context.Context, m mcp.Message, tell func(string)) (string, error) {
		if m.Method == "subscriptions/listen" {
			return until(ctx)
		}
		return s(ctx, m, tell)
	}
}

func newHandshake(t testing.TB, params, capabilities string, s script) *handshakeRig {
	t.Helper()
	srv := newServer(t, upstream.Stateless, mcp.V20260728, s)
	r := &handshakeRig{server: srv, beside: make(chan mcp.Message, 256)}
	h, _, err := Handshake(srv, parse(t, result(0, `{"supportedVersions":["2026-07-28"],"capabilities":`+capabilities+`}`)),
		Client{Params: []byte(params), Beside: func(m mcp.Message) { r.beside <- m }})
	if err != nil {
		t.Fatal(err)
	}
	r.HandshakeConn = h
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return r
}

func (r *handshakeRig) initialized(t testing.TB) {
	send(t, r, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func TestHandshakeCarries(t *testing.T) {
	for _, c := range []struct{ name, request, toServer, fromServer, want string }{
		{
			"a call, unknown fields and bytes kept",
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x", "arguments":{"n":9007199254740993,"u":"\u00e9"},"future":{"a":[ 1 ]}},"extra":1}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x", "arguments":{"n":9007199254740993,"u":"\u00e9"},"future":{"a":[ 1 ]},"_meta":` + metaOf("") + `},"extra":1}`,
			`{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete", "content":[ ],"ttlMs":3,"x":1e400,"_meta":{"a":1}},"extra":2}`,
			`{"jsonrpc":"2.0","id":7,"result":{ "content":[ ],"ttlMs":3,"x":1e400,"_meta":{"a":1}},"extra":2}`,
		},
		{
			"a list: what is said of caching is left out",
			req(7, "tools/list", `{"cursor":"a","_meta":{"progressToken":1}}`),
			req(7, "tools/list", `{"cursor":"a","_meta":`+metaOf(`"progressToken":1,`)+`}`),
			result(7, `{"tools":[],"ttlMs":3,"cacheScope":"public","nextCursor":"b","resultType":"complete"}`),
			result(7, `{"tools":[],"nextCursor":"b"}`),
		},
		{
			"an outputSchema that the client's version does not have",
			req(7, "tools/list", `{}`), req(7, "tools/list", `{"_meta":`+metaOf("")+`}`),
			result(7, `{"tools":[{"name":"a","outputSchema":{"type":"array"},"x":1},{"name":"b","outputSchema":{"type":"object"}}]}`),
			result(7, `{"tools":[{"name":"a","x":1},{"name":"b","outputSchema":{"type":"object"}}]}`),
		},
		{
			"structuredContent that is no object",
			req(7, "tools/call", `{"name":"x"}`), req(7, "tools/call", `{"name":"x","_meta":`+metaOf("")+`}`),
			result(7, `{"content":[{"type":"text","text":"[1]"}],"structuredContent":[1]}`),
			result(7, `{"content":[{"type":"text","text":"[1]"}]}`),
		},
		{
			"structuredContent that is no object, and nothing else",
			req(7, "tools/call", `{"name":"x"}`), req(7, "tools/call", `{"name":"x","_meta":`+metaOf("")+`}`),
			result(7, `{"content":[],"structuredContent":[1, "é"]}`),
			result(7, `{"content":[{"type":"text","text":"[1, \"é\"]"}]}`),
		},
		{
			"an error",
			req(7, "resources/read", `{"uri":"a:b"}`), req(7, "resources/read", `{"uri":"a:b","_meta":`+metaOf("")+`}`),
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no","data":{"x":1}}}`,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no","data":{"x":1}}}`,
		},
		{
			"a request without params", req(7, "prompts/list", ""), req(7, "prompts/list", `{"_meta":`+metaOf("")+`}`),
			result(7, `{"prompts":[]}`), result(7, `{"prompts":[]}`),
		},
		{
			"what another era's client would send",
			req(7, "tools/call", `{"name":"x","task":{"ttl":1},"requestState":"s","inputResponses":{},"_meta":{"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/protocolVersion":"1"}}`),
			req(7, "tools/call", `{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}}}`),
			result(7, `{"content":[]}`), result(7, `{"content":[]}`),
		},
		{"a method of a vendor", req(7, "com.example/x", `{"a":1}`), req(7, "com.example/x", `{"a":1,"_meta":`+metaOf("")+`}`), result(7, `{}`), result(7, `{}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newHandshake(t, initParams, everything, func(_ context.Context, m mcp.Message, _ func(string)) (string, error) {
				return c.fromServer, nil
			})
			want(t, "answer", do(t, r, c.request).answer(), c.want)
			want(t, "to the server", strings.Join(r.server.requests(), "\n"), c.toServer)
		})
	}
}

func TestHandshakeAnswersItself(t *testing.T) {
	for _, c := range []struct {
		name, capabilities, request string
		code                        int
	}{
		{"ping", `{}`, req(1, "ping", ""), 0},
		{"a level", everything, req(1, "logging/setLevel", `{"level":"error"}`), 0},
		{"no level", everything, req(1, "logging/setLevel", `{"level":"loud"}`), mcp.CodeInvalidParams},
		{"no logging", `{}`, req(1, "logging/setLevel", `{"level":"error"}`), mcp.CodeMethodNotFound},
		{"no subscriptions", `{"resources":{}}`, req(1, "resources/subscribe", `{"uri":"a:b"}`), mcp.CodeMethodNotFound},
		{"a subscription to nothing", everything, req(1, "resources/subscribe", `{}`), mcp.CodeInvalidParams},
		{"the end of one that is none", everything, req(1, "resources/unsubscribe", `{"uri":"a:b"}`), 0},
		{"discover", everything, req(1, "server/discover", `{}`), mcp.CodeMethodNotFound},
		{"listen", everything, req(1, "subscriptions/listen", `{}`), mcp.CodeMethodNotFound},
		{"a task", everything, req(1, "tasks/result", `{"taskId":"1"}`), mcp.CodeMethodNotFound},
		{"a list of tasks", everything, req(1, "tasks/list", `{}`), mcp.CodeMethodNotFound},
		{"an update of a task", everything, req(1, "tasks/update", `{"taskId":"1"}`), mcp.CodeMethodNotFound},
		{"_meta that is none", everything, req(1, "tools/list", `{"_meta":3}`), mcp.CodeInvalidParams},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newHandshake(t, initParams, c.capabilities, func(context.Context, mcp.Message, func(string)) (string, error) {
				return "", errors.New("the server was asked")
			})
			if got := do(t, r, c.request).answer(); code(t, got) != c.code || c.code == 0 && got != result(1, `{}`) {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestHandshakeLogLevel(t *testing.T) {
	r := newHandshake(t, initParams, everything, func(_ context.Context, m mcp.Message, tell func(string)) (string, error) {
		tell(note("notifications/message", `{"level":"error","data":1}`))
		return answer(m, `{"content":[]}`)
	})
	do(t, r, req(1, "logging/setLevel", `{"level":"warning"}`)).answer()
	c := do(t, r, req(2, "tools/call", `{"name":"x"}`))
	want(t, "log", string(c.next().Raw), note("notifications/message", `{"level":"error","data":1}`))
	c.answer()
	if got := r.server.requests()[0]; !strings.Contains(got, `"io.modelcontextprotocol/logLevel":"warning"`) {
		t.Errorf("no level in %s", got)
	}
}
