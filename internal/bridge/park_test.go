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

// What a retry declares counts from then on, and not what the first request did.
func TestRetryDeclaresForItself(t *testing.T) {
	r := newStateless(t, legacyEverything, nil)
	levels := make(chan string, 4)
	inner := r.asking(formQuestion, formQuestion)
	r.server.script = func(ctx context.Context, m mcp.Message, tell func(string)) (string, error) {
		if m.Method == "logging/setLevel" {
			levels <- at2(m, "level")
			return answer(m, `{}`)
		}
		return inner(ctx, m, tell)
	}
	r.waitInitialized(t)
	state, _ := parkedState(t, do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result())
	got := do(t, r, req(2, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q1":{}},"_meta":{"io.modelcontextprotocol/logLevel":"alert","io.modelcontextprotocol/clientCapabilities":{}}}`)).result()
	if !strings.Contains(text(at(got, "got")), `"id":"s1","error"`) {
		t.Errorf("%s", got)
	}
	want(t, "level", <-levels, "alert")
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

// A server that answers a call without its own question being answered gets one answer to that
// all the same, and no second one with the retry.
func TestAnsweredWithoutTheQuestion(t *testing.T) {
	r := newStateless(t, legacyEverything, nil)
	goOn := make(chan struct{})
	r.server.script = func(_ context.Context, m mcp.Message, tell func(string)) (string, error) {
		tell(`{"jsonrpc":"2.0","id":1,` + formQuestion + `}`)
		<-goOn
		return answer(m, `{"content":[]}`)
	}
	r.waitInitialized(t)
	state, _ := parkedState(t, do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result())
	close(goOn)
	if m := <-r.server.sent; m.ID.Raw() != "1" || m.Error == nil {
		t.Errorf("%s", m.Raw)
	}
	do(t, r, req(2, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q1":{}},"_meta":`+modern("")+`}`)).result()
	if len(r.server.sent) > 0 {
		t.Errorf("a second answer: %s", (<-r.server.sent).Raw)
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
