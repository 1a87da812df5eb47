package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

const needTasks = `{"code":-32021,"message":"tasks","data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}`

// taskServer runs a call as a task; states are what tasks/get answers, in order.
func taskServer(t *testing.T, states ...string) script {
	next := 0
	return func(ctx context.Context, m mcp.Message, _ func(string)) (string, error) {
		declared := isObject(at(m.Params, "_meta", keyCapabilities, "extensions", tasksExtension))
		switch {
		case m.Method == "tools/call" && !declared:
			return failure(m, needTasks)
		case !declared:
			t.Errorf("without the extension: %s", m.Raw)
		case m.Method == "tools/call":
			return answer(m, `{"resultType":"task","taskId":"t1","status":"working","pollIntervalMs":500}`)
		case text(at(m.Params, "taskId")) != "t1":
			t.Errorf("no task in %s", m.Raw)
		case m.Method == "tasks/get":
			if next == len(states) {
				return until(ctx)
			}
			next++
			return answer(m, states[next-1])
		}
		return answer(m, `{"resultType":"complete"}`)
	}
}

func methodsOf(r *handshakeRig) string {
	var all []string
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	for _, m := range r.server.seen {
		all = append(all, m.Method)
	}
	return strings.Join(all, " ")
}

func TestTaskIsFollowed(t *testing.T) {
	const question = `{"resultType":"complete","status":"input_required","inputRequests":{"q1":{"method":"roots/list"}}}`
	for _, c := range []struct {
		name    string
		states  []string
		asked   int
		want    string
		methods string
	}{
		{"completed", []string{`{"status":"working"}`, `{"status":"completed","result":{"content":[],"x":1.0}}`}, 0, result(5, `{"content":[],"x":1.0}`), "tools/call tools/call tasks/get tasks/get"},
		{"failed", []string{`{"status":"failed","error":{"code":-7,"message":"m"}}`}, 0, `{"jsonrpc":"2.0","id":5,"error":{"code":-7,"message":"m"}}`, "tools/call tools/call tasks/get"},
		{"cancelled", []string{`{"status":"cancelled"}`}, 0, "the server cancelled the task", "tools/call tools/call tasks/get"},
		{"with a question, asked once", []string{question, question, `{"status":"completed","result":{"content":[]}}`}, 1, result(5, `{"content":[]}`), "tools/call tools/call tasks/get tasks/update tasks/get tasks/get"},
		{"no such state", []string{`{"status":"bored"}`}, 0, "no version of the protocol", "tools/call tools/call tasks/get tasks/cancel"},
		{"completed with nothing", []string{`{"status":"completed"}`}, 0, "has no result", "tools/call tools/call tasks/get"},
		{"failed with nothing", []string{`{"status":"failed","error":3}`}, 0, "has no error", "tools/call tools/call tasks/get"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newHandshake(t, initParams, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, taskServer(t, c.states...))
				r.initialized(t)
				call := do(t, r, req(5, "tools/call", `{"name":"x"}`))
				for range c.asked {
					send(t, r, result(call.next().ID.Raw(), `{"roots":[]}`))
				}
				if got := call.answer(); !strings.Contains(got, c.want) {
					t.Errorf("%s", got)
				}
				synctest.Wait()
				want(t, "methods", methodsOf(r), c.methods)
				if len(call.got) > 0 {
					t.Errorf("asked again: %s", (<-call.got).Raw)
				}
			})
		})
	}
}

func TestTaskIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHandshake(t, initParams, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, taskServer(t))
		call := do(t, r, req(5, "tools/call", `{"name":"x"}`))
		synctest.Wait()
		call.stop(errors.New("enough"))
		if o := <-call.end; o.err == nil {
			t.Errorf("%s", o.m.Raw)
		}
		synctest.Wait()
		want(t, "methods", methodsOf(r), "tools/call tools/call tasks/cancel")
	})
}

func TestTaskAsksTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var states []string
		for i := range MaxRounds + 1 {
			states = append(states, fmt.Sprintf(`{"status":"input_required","inputRequests":{"q%d":{"method":"roots/list"}}}`, i))
		}
		r := newHandshake(t, initParams, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, taskServer(t, states...))
		r.initialized(t)
		call := do(t, r, req(5, "tools/call", `{"name":"x"}`))
		for range MaxRounds {
			send(t, r, result(call.next().ID.Raw(), `{"roots":[]}`))
		}
		if got := call.answer(); !strings.Contains(got, "too often") {
			t.Errorf("%s", got)
		}
	})
}

// A server that does not declare the extension gets no second call.
func TestTasksNotDeclared(t *testing.T) {
	r := newHandshake(t, initParams, `{}`, taskServer(t))
	if got := do(t, r, req(5, "tools/call", `{"name":"x"}`)).answer(); code(t, got) != CodeMissingCapability {
		t.Errorf("%s", got)
	}
	want(t, "methods", methodsOf(r), "tools/call")
}
