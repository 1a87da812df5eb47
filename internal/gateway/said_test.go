package gateway

import (
	"fmt"
	"strings"
	"testing"
)

// Whatever the gateway itself says to a client begins with its name, so that nobody takes it
// for a server's words: errors, and the instructions that a model reads.
func TestTheGatewaysOwnWordsAreMarked(t *testing.T) {
	a := toolServer("a", "echo")
	a.hello = strings.Replace(a.hello, `,"instructions":"about a"`, "", 1)
	for _, servers := range [][]*server{{a}, {a, toolServer("b", "echo").stateless()}} {
		r := newRig(t, Options{}, servers...)
		k := r.stdio(newCaller(t, "local", everything, nil))
		early := k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		texts := []any{get(t, early, "error", "message")}
		hello := k.initialize()
		if text := get(t, hello, "result", "instructions"); text != nil {
			texts = append(texts, text)
		}
		for i, m := range []string{
			`"method":"initialize","params":{}`, `"method":"made/up"`, `"method":"tools/call"`, `"method":"server/discover"`,
			`"method":"logging/setLevel","params":{"level":"loud"}`, `"method":"tasks/get","params":{"taskId":"x"}`,
			`"method":"resources/read","params":{}`, `"method":"completion/complete","params":{}`,
			`"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}`,
			`"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`,
		} {
			got := k.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i+2, m))
			texts = append(texts, get(t, got, "error", "message"))
		}
		for _, stateless := range []string{`"method":"ping"`, `"method":"tasks/get"`, `"method":"tools/list"`, `"method":"tools/call"`} {
			got := k.call(`{"jsonrpc":"2.0","id":"m",` + stateless + `,"params":{"taskId":"x","cursor":1,` + modernMeta + `}}`)
			texts = append(texts, get(t, got, "error", "message"))
		}
		for _, text := range texts {
			s, ok := text.(string)
			if ok && s != "no such method" && !strings.HasPrefix(s, "[sallyport") {
				t.Errorf("with %d servers it says: %s", len(servers), s)
			}
			if strings.Count(s, "[sallyport") > 1 && s != get(t, hello, "result", "instructions") {
				t.Errorf("with %d servers it says its name twice: %s", len(servers), s)
			}
		}
		k.close()
	}
}

// What is said below the judgement, in the place of a server's answer, is the gateway's all the same:
// it does not pass for what the server says.
func TestTheGatewaysWordsInTheServersPlace(t *testing.T) {
	for _, c := range []struct {
		about   string
		server  *server
		shared  bool
		request string
		want    string
	}{
		{"a bridge", toolServer("a", "echo").stateless(), false, `"method":"logging/setLevel","params":{"level":"info"}`, "[sallyport] the server does not declare logging"},
		{"a shared server", library("a", nil, nil, ""), true, `"method":"resources/subscribe","params":{"uri":"x://a"}`, "[sallyport] a shared server keeps no subscriptions"},
	} {
		r := newRig(t, Options{}, c.server)
		if c.shared {
			r.shareAll()
		}
		k := r.stdio(newCaller(t, "local", `p: {default: allow, rules: [{effect: allow, resources: ["*"]}]}`, nil))
		k.initialize()
		if got := k.call(`{"jsonrpc":"2.0","id":1,` + c.request + `}`); get(t, got, "error", "message") != c.want {
			t.Errorf("%s: got %s", c.about, got)
		}
		k.close()
	}
}

// What the gateway refuses is quoted without the secrets that stand in it.
func TestRefusalsOfTheGatewayQuoteNoSecret(t *testing.T) {
	r := newRig(t, Options{}, toolServer("a", "echo"), toolServer("b", "echo"))
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	for _, m := range []string{
		`"method":"resources/read","params":{"uri":"postgres://app:hunter2hunter2@db.example/x"}`,
		`"method":"tools/call","params":{"name":"ghp_16C7e42F292c6912E7710c838347Ae178B4a","arguments":{}}`,
		`"method":"tasks/get","params":{"taskId":"ghp_16C7e42F292c6912E7710c838347Ae178B4a"}`,
	} {
		got := k.call(`{"jsonrpc":"2.0","id":1,` + m + `}`)
		if strings.Contains(got, "hunter2") || strings.Contains(got, "ghp_16C7") || !strings.Contains(got, "[sallyport") {
			t.Error(got)
		}
	}
	k.close()
}
