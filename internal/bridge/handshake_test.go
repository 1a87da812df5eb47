package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// asksFor answers the first request with a wish for input and any with inputResponses with
// a result that holds them.
func asksFor(wish string) script {
	return besideListen(func(_ context.Context, m mcp.Message, _ func(string)) (string, error) {
		if given := at(m.Params, "inputResponses"); given != nil {
			state := at(m.Params, "requestState")
			if state == nil {
				state = []byte("null")
			}
			return answer(m, fmt.Sprintf(`{"resultType":"complete","content":[],"given":%s,"state":%s,"other":%v}`, given, state, m.ID.Raw() != "5"))
		}
		return answer(m, `{"resultType":"input_required",`+wish+`}`)
	})
}

// B048, B049: input_required becomes requests to the client, and the state goes back as it came.
func TestHandshakeAsks(t *testing.T) {
	const form = `{"message":"who?","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}}},"x":1.0}`
	r := newHandshake(t, initParams, everything, asksFor(`"inputRequests":{"b\u00e9":{"method":"elicitation/create","params":`+form+`},"a":{"method":"roots/list"},"c":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}},"requestState":"op\/aque"`))
	r.initialized(t)
	c := do(t, r, req(5, "tools/call", `{"name":"x"}`))
	elicit, roots, sample := c.next(), c.next(), c.next()
	want(t, "elicitation", elicit.Method+" "+string(elicit.Params), "elicitation/create "+form)
	want(t, "roots", roots.Method+" "+string(roots.Params), "roots/list ")
	want(t, "sampling", sample.Method, "sampling/createMessage")
	send(t, r, result(sample.ID.Raw(), `{"role":"assistant"}`))
	send(t, r, result(sample.ID.Raw(), `{"role":"again"}`))
	send(t, r, result(`"other"`, `{}`))
	send(t, r, result(roots.ID.Raw(), `{"roots":[ ]}`))
	send(t, r, result(elicit.ID.Raw(), `{"action":"accept","content":{"n":1}}`))
	want(t, "answer", c.answer(), result(5, `{"content":[],"given":{"bé":{"action":"accept","content":{"n":1}},"a":{"roots":[ ]},"c":{"role":"assistant"}},"state":"op\/aque","other":true}`))
}

func TestHandshakeCannotAsk(t *testing.T) {
	const form = `{"q":{"method":"elicitation/create","params":{"message":"","requestedSchema":{"type":"object","properties":{}}}}}`
	many := `{`
	for i := range maxQuestions + 1 {
		many += fmt.Sprintf(`"%d":{"method":"roots/list"},`, i)
	}
	many += `"z":{"method":"roots/list"}}`
	for _, c := range []struct{ name, params, method, result, want string }{
		{"not initialized", initParams, "tools/call", `{"resultType":"input_required","inputRequests":` + form + `}`, "before the client sent notifications/initialized"},
		{"not declared", `{"capabilities":{}}`, "tools/call", `{"resultType":"input_required","inputRequests":` + form + `}`, "does not declare elicitation"},
		{"a version without it", `{"protocolVersion":"2025-03-26","capabilities":{"elicitation":{}}}`, "tools/call", `{"resultType":"input_required","inputRequests":` + form + `}`, "does not declare elicitation"},
		{"by URL, not declared", `{"capabilities":{"elicitation":{"form":{}}}}`, "tools/call", `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example"}}}}`, "by URL"},
		{"by form, not declared", `{"capabilities":{"elicitation":{"url":{}}}}`, "tools/call", `{"resultType":"input_required","inputRequests":` + form + `}`, "by form"},
		{"a mode of the future", initParams, "tools/call", `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"voice"}}}}`, "no version of the protocol"},
		{"sampling with tools", initParams, "tools/call", `{"resultType":"input_required","inputRequests":{"q":{"method":"sampling/createMessage","params":{"tools":[]}}}}`, "sampling with tools"},
		{"a method that is no question", initParams, "tools/call", `{"resultType":"input_required","inputRequests":{"q":{"method":"tools/call","params":{}}}}`, "no version of the protocol"},
		{"params that are none", initParams, "tools/call", `{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list","params":[]}}}`, "cannot be read"},
		{"a question that is none", initParams, "tools/call", `{"resultType":"input_required","inputRequests":{"q":1}}`, "cannot be read"},
		{"questions that are none", initParams, "tools/call", `{"resultType":"input_required","inputRequests":[]}`, "cannot be read"},
		{"too many questions", initParams, "tools/call", `{"resultType":"input_required","inputRequests":` + many + `}`, "too many"},
		{"questions beside a result", initParams, "tools/call", `{"content":[],"inputRequests":` + form + `}`, "and says that it is complete"},
		{"questions in a complete result", initParams, "tools/call", `{"resultType":"complete","content":[],"inputRequests":{}}`, "and says that it is complete"},
		{"nothing asked", initParams, "tools/call", `{"resultType":"input_required"}`, "does not say which"},
		{"where no input can be asked for", initParams, "tools/list", `{"resultType":"input_required","inputRequests":` + form + `}`, "no way to"},
		{"a kind that is not known", initParams, "tools/call", `{"resultType":"task","taskId":"1"}`, "a kind that was not asked for"},
		{"a result that is none", initParams, "tools/call", `[]`, "cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newHandshake(t, c.params, everything, besideListen(func(_ context.Context, m mcp.Message, _ func(string)) (string, error) { return answer(m, c.result) }))
			if c.name != "not initialized" {
				r.initialized(t)
			}
			q := do(t, r, req(5, c.method, `{"name":"x"}`))
			got := q.answer()
			if code(t, got) != mcp.CodeInternal || !strings.Contains(got, c.want) {
				t.Errorf("%s", got)
			}
			if len(q.got) > 0 {
				t.Errorf("the client was asked %s", (<-q.got).Raw)
			}
		})
	}
}

func TestHandshakeQuestionAnsweredWithAnError(t *testing.T) {
	r := newHandshake(t, initParams, everything, asksFor(`"inputRequests":{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}`))
	r.initialized(t)
	c := do(t, r, req(5, "tools/call", `{"name":"x"}`))
	first, second := c.next(), c.next()
	send(t, r, `{"jsonrpc":"2.0","id":`+first.ID.Raw()+`,"error":{"code":-1,"message":"no"}}`)
	if got := c.next(); got.Method != "notifications/cancelled" || string(at(got.Params, "requestId")) != second.ID.Raw() {
		t.Errorf("the second question was not withdrawn: %s", got.Raw)
	}
	if got := c.answer(); code(t, got) != mcp.CodeInternal || strings.Contains(got, `"no"`) {
		t.Errorf("%s", got)
	}
}

func TestHandshakeRounds(t *testing.T) {
	for _, rounds := range []int{MaxRounds, MaxRounds + 1} {
		n := 0
		r := newHandshake(t, initParams, `{}`, besideListen(func(_ context.Context, m mcp.Message, _ func(string)) (string, error) {
			if n++; n > rounds {
				return answer(m, `{"content":[]}`)
			}
			return answer(m, fmt.Sprintf(`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"%d"}`, n))
		}))
		r.initialized(t)
		c := do(t, r, req(5, "prompts/get", `{"name":"x"}`))
		for range MaxRounds {
			send(t, r, result(c.next().ID.Raw(), `{"roots":[]}`))
		}
		if got := c.answer(); (code(t, got) == 0) != (rounds == MaxRounds) {
			t.Errorf("%d rounds: %s", rounds, got)
		}
		ids := map[string]bool{}
		for i, m := range r.server.seen {
			if ids[m.ID.Key()] {
				t.Errorf("the id %s was used twice", m.ID.Raw())
			}
			ids[m.ID.Key()] = true
			if state := text(at(m.Params, "requestState")); i > 0 && state != fmt.Sprint(i) {
				t.Errorf("retry %d has the state %q", i, state)
			}
		}
	}
}

func TestHandshakeStateOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r := newHandshake(t, initParams, `{}`, func(_ context.Context, m mcp.Message, _ func(string)) (string, error) {
			if n++; n == 1 {
				return answer(m, `{"resultType":"input_required","requestState":"later"}`)
			}
			if at(m.Params, "inputResponses") != nil || text(at(m.Params, "requestState")) != "later" {
				t.Errorf("the retry is %s", m.Raw)
			}
			return answer(m, `{"content":[]}`)
		})
		before := time.Now()
		want(t, "answer", do(t, r, req(5, "tools/call", `{"name":"x"}`)).answer(), result(5, `{"content":[]}`))
		if time.Since(before) == 0 {
			t.Error("sent again at once")
		}
	})
}

func TestHandshakePages(t *testing.T) {
	r := newHandshake(t, initParams, everything, asksFor(`"inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example","message":"m"}}}`))
	r.initialized(t)
	c := do(t, r, req(5, "tools/call", `{"name":"x"}`))
	q := c.next()
	id := at(q.Params, "elicitationId")
	if len(text(id)) < 20 {
		t.Fatalf("no id in %s", q.Raw)
	}
	send(t, r, result(q.ID.Raw(), `{"action":"accept"}`))
	want(t, "the end", string(c.next().Raw), note("notifications/elicitation/complete", `{"elicitationId":`+string(id)+`}`))
	c.answer()
}

func TestHandshakeCancel(t *testing.T) {
	ways := map[string]func(*handshakeRig, *client) error{
		"by its context": func(_ *handshakeRig, c *client) error {
			err := errors.New("enough")
			c.stop(err)
			return err
		},
		"by a notification": func(r *handshakeRig, _ *client) error {
			send(t, r, note("notifications/cancelled", `{"requestId":5}`))
			return errCancelled
		},
		"by the end of the server": func(r *handshakeRig, _ *client) error {
			err := errors.New("died")
			r.server.die(err)
			return err
		},
		"by Close": func(r *handshakeRig, _ *client) error {
			_ = r.Close(context.Background())
			return errClosed
		},
	}
	for name, end := range ways {
		t.Run(name+", while the client is asked", func(t *testing.T) {
			r := newHandshake(t, initParams, `{}`, asksFor(`"inputRequests":{"a":{"method":"roots/list"}}`))
			r.initialized(t)
			c := do(t, r, req(5, "tools/call", `{"name":"x"}`))
			q := c.next()
			cause := end(r, c)
			if o := <-c.end; !errors.Is(o.err, cause) {
				t.Errorf("ended with %s, %v, want %v", o.m.Raw, o.err, cause)
			}
			send(t, r, result(q.ID.Raw(), `{"roots":[]}`)) // late, and dropped
			if n := len(r.server.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
		t.Run(name+", while the server works", func(t *testing.T) {
			began, ended := make(chan struct{}), make(chan error, 1)
			r := newHandshake(t, initParams, `{}`, func(ctx context.Context, m mcp.Message, _ func(string)) (string, error) {
				close(began)
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return "", context.Cause(ctx)
			})
			c := do(t, r, req(5, "tools/call", `{"name":"x"}`))
			<-began
			cause := end(r, c)
			if name == "by Close" {
				cause = r.server.err
			}
			if o := <-c.end; !errors.Is(o.err, cause) {
				t.Errorf("ended with %v, want %v", o.err, cause)
			}
			if err := <-ended; err == nil {
				t.Error("the server's request was not cancelled")
			}
		})
	}
}

func TestHandshakeServerRequests(t *testing.T) {
	r := newHandshake(t, initParams, everything, besideListen(func(_ context.Context, m mcp.Message, tell func(string)) (string, error) {
		tell(req(1, "elicitation/create", `{"message":""}`))
		tell(req(2, "ping", ""))
		tell(note("notifications/progress", `{"progressToken":1,"progress":1}`))
		return answer(m, `{"content":[]}`)
	}))
	c := do(t, r, req(5, "tools/call", `{"name":"x"}`))
	want(t, "what comes through", c.next().Method, "notifications/progress")
	c.answer()
	if got := <-r.server.sent; codeOf(got) != mcp.CodeInvalidRequest || got.ID.Raw() != "1" {
		t.Errorf("%s", got.Raw)
	}
	want(t, "pong", string((<-r.server.sent).Raw), result(2, `{}`))
	r.Beside(parse(t, req(3, "roots/list", "")))
	if got := <-r.server.sent; codeOf(got) != mcp.CodeInvalidRequest || got.ID.Raw() != "3" {
		t.Errorf("%s", got.Raw)
	}
}

func TestHandshakeSend(t *testing.T) {
	r := newHandshake(t, initParams, `{}`, nil)
	for _, frame := range []string{
		note("notifications/roots/list_changed", `{}`), note("notifications/progress", `{"progressToken":1,"progress":1}`),
		note("notifications/cancelled", `{"requestId":99}`), note("notifications/cancelled", `{}`), note("notifications/initialized", `{}`),
		result(1, `{}`),
	} {
		send(t, r, frame)
	}
	send(t, r, note("com.example/note", `{"a":1}`))
	want(t, "what the server gets", string((<-r.server.sent).Raw), note("com.example/note", `{"a":1}`))
}
