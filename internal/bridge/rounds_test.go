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
)

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
			if asked := strings.HasPrefix(name, "by its") || strings.HasPrefix(name, "by a"); asked {
				want(t, "withdrawn", string((<-c.got).Raw), note("notifications/cancelled", `{"requestId":`+q.ID.Raw()+`}`))
			}
			if len(r.asked) > 0 {
				t.Error("the question is remembered")
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
