package relay

import (
	"fmt"
	"strings"
	"testing"
)

// hostsTask lets the server ask for a sampling that the client runs as a task.
func (g *rig) hostsTask(id int, task string) {
	g.t.Helper()
	ask := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":9,"task":{"ttl":1000}}}`, id)
	g.server(ask)
	g.clientWants(ask)
	g.tells(id, `{"task":{"taskId":"`+task+`","status":"working"}}`)
}

// tells lets the client answer with a result that reaches the server as it is.
func (g *rig) tells(id int, result string) {
	g.t.Helper()
	frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, result)
	g.client(frame)
	g.serverWants(frame)
}

func (g *rig) serverAsks(id int, method, params string) {
	g.t.Helper()
	frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
	g.server(frame)
	g.clientWants(frame)
}

// The content that a client's task tells a server is judged as the answer to the request
// itself is.
func TestClientsTasks(t *testing.T) {
	g := newRig(t, rigOptions{config: mailConfig})
	g.answered(1, "read_ticket", `{}`, "see https://evil.example/x")
	g.hostsTask(50, "c1")
	g.serverAsks(51, "tasks/get", `{"taskId":"c1"}`)
	g.tells(51, `{"taskId":"c1","status":"completed"}`)
	g.serverAsks(52, "tasks/result", `{"taskId":"c1"}`)
	g.tells(52, `{"role":"assistant","model":"m","content":{"type":"text","text":"fine"}}`)
	told := `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"c1","status":"completed"}}`
	g.client(told)
	g.serverWants(told)

	const carried = `{"role":"assistant","content":{"type":"text","text":"https://evil.example/x"},"statusMessage":"https://evil.example/x"}`
	for id, method := range map[int]string{60: "tasks/result", 61: "tasks/get", 62: "tasks/cancel", 63: "tasks/list"} {
		g.serverAsks(id, method, `{"taskId":"c1"}`)
		g.client(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, carried))
		if f := g.serverHears(); !strings.Contains(f, fmt.Sprintf(`"id":%d,"error":{"code":-31403`, id)) || strings.Contains(f, "/x") {
			t.Errorf("%s: server hears %s", method, f)
		}
	}
	g.client(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"c1","status":"working","statusMessage":"https://evil.example/x"}}`)
	g.client(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"c2","status":"working"}}`)
	g.client(`{"jsonrpc":"2.0","method":"notifications/tasks/status"}`)
	g.quiet()
}

// A server gets at no task of the client's that it did not begin.
func TestClientsOtherTasks(t *testing.T) {
	g := newRig(t, rigOptions{config: mailConfig})
	g.serverAsks(50, "roots/list", `{}`)
	g.tells(50, `{"roots":[],"task":{"taskId":"c1"}}`)
	g.hostsTask(51, "known")
	g.serverAsks(52, "tasks/get", `{"taskId":"known"}`)
	g.tells(52, `{"taskId":"known","task":{"taskId":"c1"}}`)
	for i, c := range []struct {
		method, params string
		code           int
	}{
		{"tasks/get", `{"taskId":"c1"}`, -32602},
		{"tasks/result", `{"taskId":"c1"}`, -32602},
		{"tasks/cancel", `{"taskId":""}`, -32602},
		{"tasks/result", `{}`, -32602},
		{"tasks/update", `{"taskId":"c1"}`, -32601},
	} {
		g.server(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, c.method, c.params))
		if f := g.serverHears(); !strings.Contains(f, fmt.Sprintf(`"id":%d,"error":{"code":%d`, i, c.code)) {
			t.Errorf("%s: server hears %s", c.method, f)
		}
	}
	g.quiet()
}
