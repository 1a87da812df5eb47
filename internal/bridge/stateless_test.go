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
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the server's result is no object"}}`,
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
func TestAHalfResultIsNotComplete(t *testing.T) {
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

// asking asks the client, for each of the questions, and returns the answers.
func (r *statelessRig) asking(questions ...string) script {
	return func(ctx context.Context, m mcp.Message, tell func(string)) (string, error) {
		all := ""
		for i, q := range questions {
			tell(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d",%s}`, i, q))
			select {
			case a := <-r.server.sent:
				all += string(a.Raw)
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		return answer(m, `{"content":[],"got":`+string(quoted(all))+`}`)
	}
}

const formQuestion = `"method":"elicitation/create","params":{"mode":"form","message":"m\u00e9","requestedSchema":{"type":"object","properties":{}},"task":{}}`

// parkedState reads an input_required result.
func parkedState(t *testing.T, raw []byte) (state, questions string) {
	t.Helper()
	if text(at(raw, "resultType")) != "input_required" || len(text(at(raw, "requestState"))) < 26 {
		t.Fatalf("not parked: %s", raw)
	}
	if at(raw, "ttlMs") != nil {
		t.Errorf("may be cached: %s", raw)
	}
	return string(at(raw, "requestState")), string(at(raw, "inputRequests"))
}

func (r *statelessRig) waitInitialized(t testing.TB) {
	if err := r.begin(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.initialized(t)
}

func TestParkAndResume(t *testing.T) {
	r := newStateless(t, legacyEverything, nil)
	r.server.script = r.asking(formQuestion, `"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}`,
		`"method":"elicitation/create","params":{"mode":"url","url":"https://a.example","message":"","elicitationId":"e"}`)
	r.waitInitialized(t)
	const call = `"name":"x","arguments":{"a":1,"b":2}`
	state, q := parkedState(t, do(t, r, req(1, "tools/call", `{`+call+`,"_meta":`+modern(`"progressToken":1,`)+`}`)).result())
	want(t, "first", q, `{"q1":{"method":"elicitation/create","params":{"mode":"form","message":"m\u00e9","requestedSchema":{"type":"object","properties":{}}}}}`)
	retry := func(id int, answers string) string {
		return req(id, "tools/call", `{"inputResponses":`+answers+`,"arguments":{"b": 2,"a":1},"name":"x","requestState":`+state+`,"_meta":`+modern(fmt.Sprintf(`"progressToken":%d,`, id))+`}`)
	}
	state, q = parkedState(t, do(t, r, retry(2, `{"q1":{"action":"accept","content":{"x":1.0}},"other":{}}`)).result())
	want(t, "second", q, `{"q2":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}`)
	state, q = parkedState(t, do(t, r, retry(3, `{"q2":{"role":"assistant"}}`)).result())
	want(t, "third, as 2026-07-28 has it", q, `{"q3":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example","message":""}}}`)
	got := do(t, r, retry(4, `{"q3":{"action":"accept"}}`)).answer()
	all := `{"jsonrpc":"2.0","id":"s0","result":{"action":"accept","content":{"x":1.0}}}{"jsonrpc":"2.0","id":"s1","result":{"role":"assistant"}}{"jsonrpc":"2.0","id":"s2","result":{"action":"accept"}}`
	want(t, "answer", got, result(4, `{"content":[],"got":`+string(quoted(all))+`,"resultType":"complete"}`))
	if n := len(r.server.requests()); n != 1 {
		t.Errorf("the server was called %d times", n)
	}
}

// B048: a state is good for one retry of the request that it was given for.
func TestRequestStateIsBound(t *testing.T) {
	r := newStateless(t, legacyEverything, nil)
	r.server.script = r.asking(formQuestion, formQuestion)
	r.waitInitialized(t)
	state, _ := parkedState(t, do(t, r, req(1, "tools/call", `{"name":"x","arguments":{"a":1},"_meta":`+modern("")+`}`)).result())
	for _, other := range []string{
		req(2, "tools/call", `{"name":"y","arguments":{"a":1},"requestState":`+state+`,"inputResponses":{"q1":{}}}`),
		req(2, "tools/call", `{"name":"x","arguments":{"a":2},"requestState":`+state+`,"inputResponses":{"q1":{}}}`),
		req(2, "tools/call", `{"name":"x","arguments":{"a":1},"more":1,"requestState":`+state+`,"inputResponses":{"q1":{}}}`),
		req(2, "prompts/get", `{"name":"x","arguments":{"a":1},"requestState":`+state+`,"inputResponses":{"q1":{}}}`),
	} {
		if got := do(t, r, other).answer(); code(t, got) != mcp.CodeInvalidParams || !strings.Contains(got, "another request") {
			t.Errorf("%s: %s", other, got)
		}
	}
	again := req(2, "tools/call", `{"name":"x","arguments":{"a":1},"_meta":`+modern("")+`,"requestState":`+state+`,"inputResponses":{"q1":{}}}`)
	if second, _ := parkedState(t, do(t, r, again).result()); second == state {
		t.Error("the same state twice")
	}
	if got := do(t, r, again).answer(); code(t, got) != mcp.CodeInvalidParams {
		t.Errorf("used twice: %s", got)
	}
}

func TestMissingAnswersAreAskedForAgain(t *testing.T) {
	r := newStateless(t, legacyEverything, nil)
	both := make(chan struct{})
	r.server.script = func(_ context.Context, m mcp.Message, tell func(string)) (string, error) {
		tell(`{"jsonrpc":"2.0","id":1,` + formQuestion + `}`)
		tell(`{"jsonrpc":"2.0","id":2,` + formQuestion + `}`)
		close(both)
		a, b := <-r.server.sent, <-r.server.sent
		return answer(m, `{"content":[],"order":[`+a.ID.Raw()+`,`+b.ID.Raw()+`]}`)
	}
	r.waitInitialized(t)
	first := do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`))
	<-both
	state, q := parkedState(t, first.result())
	if !strings.Contains(q, `"q2"`) {
		// The second came when the first was on its way already.
		state, q = parkedState(t, do(t, r, req(2, "tools/call", `{"name":"x","requestState":`+state+`,"_meta":`+modern("")+`}`)).result())
	}
	if strings.Count(q, "elicitation/create") != 2 {
		t.Fatalf("%s", q)
	}
	state, q = parkedState(t, do(t, r, req(3, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q2":{}},"_meta":`+modern("")+`}`)).result())
	if !strings.HasPrefix(q, `{"q1":`) || strings.Contains(q, "q2") {
		t.Errorf("%s", q)
	}
	got := do(t, r, req(4, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q1":{}},"_meta":`+modern("")+`}`)).answer()
	want(t, "answer", got, result(4, `{"content":[],"order":[2,1],"resultType":"complete"}`))
}

func TestParkedCallExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStateless(t, legacyEverything, nil)
		ended := make(chan error, 1)
		r.server.script = func(ctx context.Context, m mcp.Message, tell func(string)) (string, error) {
			tell(`{"jsonrpc":"2.0","id":1,` + formQuestion + `}`)
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return "", context.Cause(ctx)
		}
		r.waitInitialized(t)
		state, _ := parkedState(t, do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result())
		time.Sleep(ParkFor - time.Second)
		synctest.Wait()
		if len(ended) > 0 {
			t.Error("cancelled too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if err := <-ended; !errors.Is(err, errNotBack) {
			t.Errorf("ended by %v", err)
		}
		if m := <-r.server.sent; m.ID.Raw() != "1" || m.Error == nil {
			t.Errorf("the question was answered with %s", m.Raw)
		}
		if got := do(t, r, req(2, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q1":{}},"_meta":`+modern("")+`}`)).answer(); code(t, got) != mcp.CodeInvalidParams {
			t.Errorf("%s", got)
		}
		if len(r.calls)+len(r.parked) > 0 {
			t.Error("something is left")
		}
	})
}

func TestAnsweredWhileParked(t *testing.T) {
	r := newStateless(t, legacyEverything, nil)
	goOn, told := make(chan struct{}), make(chan struct{})
	r.server.script = func(_ context.Context, m mcp.Message, tell func(string)) (string, error) {
		if m.Method != "tools/call" {
			return answer(m, `{}`)
		}
		tell(`{"jsonrpc":"2.0","id":1,` + formQuestion + `}`)
		<-goOn
		tell(note("notifications/progress", `{"progressToken":"a","progress":1}`))
		tell(note("notifications/message", `{"level":"error","data":1}`))
		tell(note("notifications/message", `{"level":"debug","data":2}`))
		tell(note("notifications/cancelled", `{"requestId":1}`))
		close(told)
		return answer(m, `{"content":[]}`)
	}
	r.waitInitialized(t)
	state, _ := parkedState(t, do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern(`"progressToken":"a","io.modelcontextprotocol/logLevel":"info",`)+`}`)).result())
	close(goOn)
	<-told
	c := do(t, r, req(2, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q1":{}},"_meta":`+modern(`"progressToken":"b","io.modelcontextprotocol/logLevel":"info",`)+`}`))
	want(t, "answer", c.answer(), result(2, `{"content":[],"resultType":"complete"}`))
	want(t, "what was kept", string((<-c.got).Raw), note("notifications/message", `{"level":"error","data":1}`))
	if len(c.got)+len(r.server.sent) > 0 {
		t.Error("more came")
	}
}

func TestProgressAfterRetry(t *testing.T) {
	r := newStateless(t, legacyEverything, nil)
	r.server.script = func(_ context.Context, m mcp.Message, tell func(string)) (string, error) {
		tell(note("notifications/progress", `{"progressToken":"a","progress":1}`))
		tell(`{"jsonrpc":"2.0","id":1,` + formQuestion + `}`)
		<-r.server.sent
		tell(note("notifications/progress", `{"progressToken":"a","progress":2}`))
		return answer(m, `{"content":[]}`)
	}
	r.waitInitialized(t)
	c := do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern(`"progressToken":"a",`)+`}`))
	state, _ := parkedState(t, c.result())
	want(t, "progress", string((<-c.got).Raw), note("notifications/progress", `{"progressToken":"a","progress":1}`))
	c = do(t, r, req(2, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q1":{}},"_meta":`+modern(`"progressToken":7,`)+`}`))
	c.answer()
	want(t, "progress", string((<-c.got).Raw), note("notifications/progress", `{"progressToken":7,"progress":2}`))
}

func TestQuestionsThatAreRefused(t *testing.T) {
	none := `{"io.modelcontextprotocol/clientCapabilities":{}}`
	for _, c := range []struct {
		name, method, meta, question string
		code                         int
	}{
		{"no elicitation", "tools/call", none, formQuestion, mcp.CodeMethodNotFound},
		{"no sampling", "tools/call", none, `"method":"sampling/createMessage","params":{}`, mcp.CodeMethodNotFound},
		{"no capabilities", "tools/call", `{}`, formQuestion, mcp.CodeMethodNotFound},
		{"form only", "tools/call", `{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`, `"method":"elicitation/create","params":{"mode":"url"}`, mcp.CodeInvalidParams},
		{"sampling with tools", "tools/call", modern(""), `"method":"sampling/createMessage","params":{"tools":[]}`, mcp.CodeInvalidParams},
		{"roots, declared", "tools/call", `{"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}`, `"method":"roots/list"`, mcp.CodeMethodNotFound},
		{"no params", "tools/call", modern(""), `"method":"elicitation/create"`, mcp.CodeInvalidParams},
		{"during a list", "tools/list", modern(""), formQuestion, mcp.CodeInvalidRequest},
		{"an unknown method", "tools/call", modern(""), `"method":"x/y","params":{}`, mcp.CodeMethodNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newStateless(t, legacyEverything, nil)
			r.server.script = r.asking(c.question)
			r.waitInitialized(t)
			got := do(t, r, req(1, c.method, `{"name":"x","_meta":`+c.meta+`}`)).result()
			if a := parse(t, text(at(got, "got"))); codeOf(a) != c.code || a.ID.Raw() != `"s0"` {
				t.Errorf("%s", a.Raw)
			}
		})
	}
}

func TestTooManyQuestions(t *testing.T) {
	t.Run("in rounds", func(t *testing.T) {
		r := newStateless(t, legacyEverything, nil)
		var all []string
		for range MaxRounds + 1 {
			all = append(all, formQuestion)
		}
		r.server.script = r.asking(all...)
		r.waitInitialized(t)
		got := do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result()
		for i := range MaxRounds {
			state, _ := parkedState(t, got)
			got = do(t, r, req(1, "tools/call", fmt.Sprintf(`{"name":"x","requestState":%s,"inputResponses":{"q%d":{}},"_meta":%s}`, state, i+1, modern("")))).result()
		}
		if !strings.Contains(text(at(got, "got")), `"id":"s8","error"`) {
			t.Errorf("%s", got)
		}
	})
	t.Run("at once", func(t *testing.T) {
		r := newStateless(t, legacyEverything, nil)
		refused := make(chan mcp.Message, 1)
		r.server.script = func(ctx context.Context, m mcp.Message, tell func(string)) (string, error) {
			for i := range maxQuestions + 1 {
				tell(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i, formQuestion))
			}
			refused <- <-r.server.sent
			return until(ctx)
		}
		r.waitInitialized(t)
		parkedState(t, do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result())
		if m := <-refused; m.ID.Raw() != fmt.Sprint(maxQuestions) || m.Error == nil {
			t.Errorf("%s", m.Raw)
		}
	})
	t.Run("calls parked", func(t *testing.T) {
		r := newStateless(t, legacyEverything, func(ctx context.Context, m mcp.Message, tell func(string)) (string, error) {
			tell(`{"jsonrpc":"2.0","id":` + m.ID.Raw() + `,` + formQuestion + `}`)
			return until(ctx)
		})
		r.waitInitialized(t)
		for i := range maxParked {
			parkedState(t, do(t, r, req(i, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result())
		}
		c := do(t, r, req(999, "tools/call", `{"name":"x","_meta":`+modern("")+`}`))
		if m := <-r.server.sent; m.ID.Raw() != "999" || m.Error == nil {
			t.Errorf("%s", m.Raw)
		}
		c.stop(errors.New("enough"))
		<-c.end
	})
}

func TestQuestionsBeside(t *testing.T) {
	r := newStateless(t, legacyEverything, nil)
	began, goOn := make(chan struct{}, 2), make(chan struct{})
	r.server.script = func(_ context.Context, m mcp.Message, _ func(string)) (string, error) {
		began <- struct{}{}
		<-goOn
		return answer(m, `{"content":[]}`)
	}
	r.waitInitialized(t)
	ask := func(id string) { r.Beside(parse(t, `{"jsonrpc":"2.0","id":`+id+`,`+formQuestion+`}`)) }
	refused := func(id string) {
		t.Helper()
		if m := <-r.server.sent; m.ID.Raw() != id || codeOf(m) != mcp.CodeInvalidRequest {
			t.Errorf("%s", m.Raw)
		}
	}
	ask("1")
	refused("1")
	r.Beside(parse(t, req(2, "ping", "")))
	want(t, "pong", string((<-r.server.sent).Raw), result(2, `{}`))
	a := do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`))
	<-began
	ask("3")
	state, _ := parkedState(t, a.result())
	// Parked, it is open still.
	b := do(t, r, req(2, "tools/call", `{"name":"y","_meta":`+modern("")+`}`))
	<-began
	ask("4")
	refused("4")
	a = do(t, r, req(3, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q1":{"action":"decline"}},"_meta":`+modern("")+`}`))
	want(t, "answer to the server", string((<-r.server.sent).Raw), result(3, `{"action":"decline"}`))
	close(goOn)
	a.answer()
	b.answer()
}

func TestStatelessCancel(t *testing.T) {
	ways := map[string]func(*statelessRig, *client) error{
		"by its context": func(_ *statelessRig, c *client) error {
			err := errors.New("enough")
			c.stop(err)
			return err
		},
		"by a notification": func(r *statelessRig, _ *client) error {
			_ = r.Send(context.Background(), parse(t, note("notifications/cancelled", `{"requestId":5}`)))
			return errCancelled
		},
		"by the end of the server": func(r *statelessRig, _ *client) error {
			err := errors.New("died")
			r.server.die(err)
			return err
		},
		"by Close": func(r *statelessRig, _ *client) error {
			_ = r.Close(context.Background())
			return errClosed
		},
	}
	for name, end := range ways {
		t.Run(name, func(t *testing.T) {
			began, ended := make(chan struct{}), make(chan error, 1)
			r := newStateless(t, `{}`, func(ctx context.Context, m mcp.Message, _ func(string)) (string, error) {
				close(began)
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return "", context.Cause(ctx)
			})
			c := do(t, r, req(5, "tools/call", `{"name":"x","_meta":`+modern("")+`}`))
			<-began
			cause := end(r, c)
			if o := <-c.end; !errors.Is(o.err, cause) {
				t.Errorf("ended with %v, want %v", o.err, cause)
			}
			if err := <-ended; !errors.Is(err, cause) {
				t.Errorf("the server's call ended with %v, want %v", err, cause)
			}
		})
	}
	t.Run("Close, while parked", func(t *testing.T) {
		r := newStateless(t, legacyEverything, nil)
		r.server.script = r.asking(formQuestion)
		r.waitInitialized(t)
		parkedState(t, do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result())
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if o := <-do(t, r, req(2, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).end; o.err == nil {
			t.Errorf("answered after the end: %s", o.m.Raw)
		}
	})
}
