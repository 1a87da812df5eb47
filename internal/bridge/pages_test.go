package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

const pagesWanted = `{"code":-32042,"message":"open","data":{"elicitations":[{"mode":"url","url":"https://a.example","message":"m","elicitationId":"e1"}]}}`

func TestPagesBeforeTheCall(t *testing.T) {
	times := 0
	r := newStateless(t, `{}`, func(_ context.Context, m mcp.Message, _ func(string)) (string, error) {
		if times++; times == 1 {
			return failure(m, pagesWanted)
		}
		return answer(m, `{"content":[]}`)
	})
	state, q := parkedState(t, do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result())
	want(t, "questions", q, `{"q1":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example","message":"m"}}}`)
	state, _ = parkedState(t, do(t, r, req(2, "tools/call", `{"name":"x","requestState":`+state+`,"_meta":`+modern("")+`}`)).result())
	want(t, "answer", do(t, r, req(3, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q2":{"action":"accept"}},"_meta":`+modern("")+`}`)).answer(), result(3, `{"content":[],"resultType":"complete"}`))
	want(t, "called again with", r.server.requests()[1], req(3, "tools/call", `{"name":"x","_meta":{}}`))
}

func TestPagesThatAreNotOpened(t *testing.T) {
	fail := func(raw string) script {
		return func(_ context.Context, m mcp.Message, _ func(string)) (string, error) { return failure(m, raw) }
	}
	t.Run("declined", func(t *testing.T) {
		r := newStateless(t, `{}`, fail(pagesWanted))
		state, _ := parkedState(t, do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result())
		if got := do(t, r, req(2, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q1":{"action":"decline"}},"_meta":`+modern("")+`}`)).answer(); code(t, got) != mcp.CodeInternal {
			t.Errorf("%s", got)
		}
		if n := len(r.server.requests()); n != 1 {
			t.Errorf("called %d times", n)
		}
	})
	t.Run("for ever", func(t *testing.T) {
		r := newStateless(t, `{}`, fail(pagesWanted))
		got := do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).answer()
		for i := range MaxRounds {
			state, _ := parkedState(t, parse(t, got).Result)
			got = do(t, r, req(2, "tools/call", fmt.Sprintf(`{"name":"x","requestState":%s,"inputResponses":{"q%d":{"action":"accept"}},"_meta":%s}`, state, i+1, modern("")))).answer()
		}
		if code(t, got) != mcp.CodeInternal {
			t.Errorf("%s", got)
		}
	})
	for name, c := range map[string]struct {
		raw, method, meta string
		code              int
	}{
		"not declared":     {pagesWanted, "tools/call", `{}`, CodeMissingCapability},
		"during a list":    {pagesWanted, "tools/list", modern(""), mcp.CodeInternal},
		"no pages":         {`{"code":-32042,"message":"open"}`, "tools/call", modern(""), mcp.CodeInternal},
		"a page of a form": {`{"code":-32042,"message":"open","data":{"elicitations":[{"mode":"form"}]}}`, "tools/call", modern(""), mcp.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			r := newStateless(t, `{}`, fail(c.raw))
			if got := do(t, r, req(1, c.method, `{"name":"x","_meta":`+c.meta+`}`)).answer(); code(t, got) != c.code {
				t.Errorf("%s", got)
			}
		})
	}
}

// A tool that its server runs as a task only.
func TestLegacyTask(t *testing.T) {
	const declared = `{"tasks":{"requests":{"tools":{"call":{}}}}}`
	serve := func(r **statelessRig) script {
		return func(ctx context.Context, m mcp.Message, tell func(string)) (string, error) {
			switch {
			case m.Method == "tools/call" && at(m.Params, "task") == nil:
				return failure(m, `{"code":-32601,"message":"only as a task"}`)
			case m.Method == "tools/call":
				return answer(m, `{"task":{"taskId":"t1","status":"working"}}`)
			case m.Method == "tasks/result" && at2(m, "taskId") == "t1":
				tell(`{"jsonrpc":"2.0","id":1,` + formQuestion + `}`)
				select {
				case a := <-(*r).server.sent:
					return answer(m, `{"content":[],"got":`+string(a.Result)+`}`)
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
			}
			return answer(m, `{}`)
		}
	}
	methods := func(r *statelessRig) (all []string) {
		r.server.mu.Lock()
		defer r.server.mu.Unlock()
		for _, m := range r.server.seen {
			all = append(all, m.Method)
		}
		return all
	}
	t.Run("with a question", func(t *testing.T) {
		var r *statelessRig
		r = newStateless(t, declared, serve(&r))
		r.waitInitialized(t)
		state, _ := parkedState(t, do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result())
		got := do(t, r, req(2, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q1":{"action":"cancel"}},"_meta":`+modern("")+`}`)).answer()
		want(t, "answer", got, result(2, `{"content":[],"got":{"action":"cancel"},"resultType":"complete"}`))
	})
	t.Run("not declared", func(t *testing.T) {
		var r *statelessRig
		r = newStateless(t, `{}`, serve(&r))
		if got := do(t, r, req(1, "tools/call", `{"name":"x"}`)).answer(); code(t, got) != mcp.CodeMethodNotFound {
			t.Errorf("%s", got)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		r := newStateless(t, declared, nil)
		waits, cancelled := make(chan struct{}), make(chan struct{})
		inner := serve(&r)
		r.server.script = func(ctx context.Context, m mcp.Message, tell func(string)) (string, error) {
			switch m.Method {
			case "tasks/result":
				close(waits)
				return until(ctx)
			case "tasks/cancel":
				close(cancelled)
			}
			return inner(ctx, m, tell)
		}
		c := do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`))
		<-waits
		c.stop(errors.New("enough"))
		<-c.end
		<-cancelled
		want(t, "methods", strings.Join(methods(r), " "), "tools/call tools/call tasks/result tasks/cancel")
	})
}

// An answer in several blocks, for a server whose version has one.
func TestSamplingAnswers(t *testing.T) {
	for _, c := range []struct{ version, answer, want string }{
		{mcp.V20250618, `{"content":[{"type":"text"}],"x":1.0}`, `{"jsonrpc":"2.0","id":"s0","result":{"content":{"type":"text"},"x":1.0}}`},
		{mcp.V20250618, `{"content":[{},{}]}`, `"error"`},
		{mcp.V20251125, `{"content":[{},{}]}`, `{"jsonrpc":"2.0","id":"s0","result":{"content":[{},{}]}}`},
	} {
		r := newStatelessOf(t, c.version, `{}`, nil)
		r.server.script = r.asking(`"method":"sampling/createMessage","params":{}`)
		r.waitInitialized(t)
		state, _ := parkedState(t, do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result())
		got := do(t, r, req(2, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q1":`+c.answer+`},"_meta":`+modern("")+`}`)).result()
		if a := text(at(got, "got")); !strings.Contains(a, c.want) {
			t.Errorf("%s: %s", c.version, a)
		}
	}
}
