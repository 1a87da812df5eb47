package streamhttp

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// B051, and 2026-07-28, "Request Metadata" and "Server Validation".
func TestB051HeadersAgreeWithTheBody(t *testing.T) {
	r := newRig(t, nil)
	session := r.begin("2025-11-25")
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `,"name":"danger"}}`
	all := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "danger"}
	for _, c := range []struct {
		name, body string
		headers    []string
		status     int
		code       string // "" for an answer
	}{
		{"all agree", call, nil, 200, ""},
		{"white space around a value", call, []string{"Mcp-Name", "  danger "}, 200, ""},
		{"encoded name", call, []string{"Mcp-Name", EncodeValue("=?base64?ZGFuZ2Vy?=")}, 400, "-32020"},
		{"encoded form of the name", call, []string{"Mcp-Name", "=?base64?ZGFuZ2Vy?="}, 200, ""},
		{"no version", call, []string{"MCP-Protocol-Version", "-"}, 400, "-32020"},
		{"empty version", call, []string{"MCP-Protocol-Version", ""}, 400, "-32020"},
		{"other version", call, []string{"MCP-Protocol-Version", "2025-11-25"}, 400, "-32020"},
		{"no method", call, []string{"Mcp-Method", "-"}, 400, "-32020"},
		{"empty method", call, []string{"Mcp-Method", ""}, 400, "-32020"},
		{"other method", call, []string{"Mcp-Method", "tools/list"}, 400, "-32020"},
		{"method in other case", call, []string{"Mcp-Method", "Tools/Call"}, 400, "-32020"},
		{"no name", call, []string{"Mcp-Name", "-"}, 400, "-32020"},
		{"empty name", call, []string{"Mcp-Name", ""}, 400, "-32020"},
		{"other name", call, []string{"Mcp-Name", "safe"}, 400, "-32020"},
		{"name that decodes to nothing", call, []string{"Mcp-Name", "=?base64??="}, 400, "-32020"},
		{"broken Base64", call, []string{"Mcp-Name", "=?base64?ZGFuZ2Vy=?="}, 400, "-32020"},
		{"characters", call, []string{"Mcp-Name", "d\xe4nger"}, 400, "-32020"},
		{"two methods", call, []string{"+Mcp-Method", "tools/call"}, 400, "-32020"},
		{"two names", call, []string{"+Mcp-Name", "danger"}, 400, "-32020"},
		{"two versions", call, []string{"+MCP-Protocol-Version", "2026-07-28"}, 400, "-32020"},
		{"no such name in the body", strings.Replace(call, `"name":"danger"`, `"nam":"danger"`, 1), nil, 400, "-32020"},
		{"name that is no text", strings.Replace(call, `"danger"`, `7`, 1), []string{"Mcp-Name", "7"}, 400, "-32020"},
		{"body without _meta", strings.Replace(call, meta+",", "", 1), nil, 400, "-32602"},
		{"version that is no text", strings.Replace(call, `"2026-07-28"`, `20260728`, 1), nil, 400, "-32602"},
		{"handshake version in _meta", strings.Replace(call, "2026-07-28", "2025-11-25", 1), nil, 400, "-32020"},
		{"handshake version in both", strings.Replace(call, "2026-07-28", "2025-11-25", 1), []string{"MCP-Protocol-Version", "2025-11-25"}, 400, "-32022"},
		{"unknown version", strings.Replace(call, "2026-07-28", "2099-01-01", 1), []string{"MCP-Protocol-Version", "2099-01-01"}, 400, "-32022"},
		{"old unknown version", strings.Replace(call, "2026-07-28", "1900-01-01", 1), []string{"MCP-Protocol-Version", "1900-01-01"}, 400, "-32022"},
		{"unknown version in the header alone", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{"MCP-Protocol-Version", "2099-01-01", "Mcp-Name", "-", "Mcp-Method", "tools/list"}, 400, "-32022"},
		{"a URI", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{` + meta + `,"uri":"file:///ä"}}`, []string{"Mcp-Method", "resources/read", "Mcp-Name", EncodeValue("file:///ä")}, 200, ""},
		{"the URI's method with a name", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{` + meta + `,"uri":"file:///a","name":"danger"}}`, []string{"Mcp-Method", "resources/read"}, 400, "-32020"},
		{"SEP-2663: a task", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{` + meta + `,"taskId":"t-1"}}`, []string{"Mcp-Method", "tasks/get", "Mcp-Name", "t-1"}, 200, ""},
		{"SEP-2663: a task without the header", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{` + meta + `,"taskId":"t-1"}}`, []string{"Mcp-Method", "tasks/get", "Mcp-Name", "-"}, 400, "-32020"},
		{"no name needed", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`, []string{"Mcp-Method", "tools/list", "Mcp-Name", "-"}, 200, ""},
		{"a name that is nowhere", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`, []string{"Mcp-Method", "tools/list"}, 400, "-32020"},
		{"session ids are ignored", call, []string{"Mcp-Session-Id", "nonsense"}, 200, ""},
		{"Last-Event-ID is ignored", call, []string{"Last-Event-ID", "1-1"}, 200, ""},
		{"404 for unknown methods", `{"jsonrpc":"2.0","id":1,"method":"test/unknown","params":{` + meta + `}}`, []string{"Mcp-Method", "test/unknown", "Mcp-Name", "-"}, 404, "-32601"},
	} {
		resp := r.do(http.MethodPost, c.body, append(append([]string(nil), all...), c.headers...)...)
		body := text(t, resp)
		if resp.StatusCode != c.status || c.code == "" && !strings.Contains(body, `"result"`) || !strings.Contains(body, c.code) || !strings.Contains(body, `"id":1`) {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, body)
		}
		if resp.Header.Get("Mcp-Session-Id") != "" {
			t.Error(c.name, "got a session id")
		}
	}
	// Headers that are there are compared in every version.
	for _, c := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"agree", []string{"Mcp-Method", "tools/call", "Mcp-Name", "danger"}, 200},
		{"none", nil, 200},
		{"method", []string{"Mcp-Method", "tools/list"}, 400},
		{"name", []string{"Mcp-Name", "safe"}, 400},
	} {
		resp := r.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"danger"}}`, append(c.headers, "Mcp-Session-Id", session)...)
		if body := text(t, resp); resp.StatusCode != c.status || c.status == 400 && !strings.Contains(body, "-32020") {
			t.Errorf("handshake, %s: %d %s", c.name, resp.StatusCode, body)
		}
	}
}

// 2026-07-28, versioning, "Protocol Version Negotiation".
func TestUnsupportedVersionNamesTheSupported(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.Versions = []string{mcp.V20260728, mcp.V20251125} })
	body, headers := modern(1, "server/discover", "")
	body = strings.Replace(body, "2026-07-28", "1900-01-01", 1)
	resp := r.do(http.MethodPost, body, append(headers, "MCP-Protocol-Version", "1900-01-01")...)
	var got struct {
		Error struct {
			Code int
			Data struct {
				Supported []string
				Requested string
			}
		}
	}
	if err := json.Unmarshal([]byte(text(t, resp)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Error.Code != CodeUnsupportedVersion || strings.Join(got.Error.Data.Supported, " ") != "2026-07-28 2025-11-25" || got.Error.Data.Requested != "1900-01-01" {
		t.Errorf("%+v", got)
	}
	resp = r.do(http.MethodPost, initialize("2025-11-25"), "MCP-Protocol-Version", "2024-11-05")
	if body := text(t, resp); resp.StatusCode != 400 || !strings.Contains(body, "-32600") {
		t.Error("a handshake version that is not supported:", resp.StatusCode, body)
	}
}

// 2026-07-28, "Sending Messages", 4 and 5.
func TestStatelessOneWayMessages(t *testing.T) {
	r := newRig(t, nil)
	version := []string{"MCP-Protocol-Version", "2026-07-28"}
	resp := r.do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, version...)
	if body := text(t, resp); resp.StatusCode != 202 || body != "" {
		t.Error("notification:", resp.StatusCode, body)
	}
	if m := <-r.oneWay; m.Method != "notifications/cancelled" {
		t.Error(m.Method)
	}
	resp = r.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"result":{}}`, version...)
	if body := text(t, resp); resp.StatusCode != 400 {
		t.Error("response:", resp.StatusCode, body)
	}
	resp = r.do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/x"}`, append(version, "Mcp-Method", "tools/call")...)
	if body := text(t, resp); resp.StatusCode != 400 || !strings.Contains(body, "-32020") {
		t.Error("header of another method:", resp.StatusCode, body)
	}
}

// 2026-07-28, "Earlier Streamable HTTP Revisions".
func TestStatelessHasNoStreamsOfItsOwn(t *testing.T) {
	r := newRig(t, nil)
	session := r.begin("2025-11-25")
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		resp := r.do(method, "", "MCP-Protocol-Version", "2026-07-28", "Mcp-Session-Id", session)
		text(t, resp)
		if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "POST" {
			t.Error(method, resp.StatusCode, resp.Header)
		}
	}
}

// B072, and 2025-03-26, "Sending Messages to the Server", 3.
func TestB072Batches(t *testing.T) {
	r := newRig(t, nil)
	old, later := r.begin("2025-03-26"), r.begin("2025-06-18")
	echo := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"echo","params":{"n":` + id + `}}`
	}
	const note = `{"jsonrpc":"2.0","method":"notifications/x"}`
	const answer = `{"jsonrpc":"2.0","id":9,"result":{}}`
	const cancelledAnswer = `{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"[sallyport] the request was cancelled"}}`
	for _, c := range []struct {
		name, session, body string
		status              int
		want                string
	}{
		{"requests", old, "[" + echo("1") + "," + echo("2") + "]", 200, `[{"jsonrpc":"2.0","id":1,"result":{"n":1}},{"jsonrpc":"2.0","id":2,"result":{"n":2}}]`},
		{"one request", old, "[" + echo("1") + "]", 200, `[{"jsonrpc":"2.0","id":1,"result":{"n":1}}]`},
		{"with a notification", old, " [" + note + "," + echo("1") + "]", 200, `[{"jsonrpc":"2.0","id":1,"result":{"n":1}}]`},
		{"notifications", old, "[" + note + "," + note + "]", 202, ""},
		{"responses", old, "[" + answer + "]", 202, ""},
		{"one is dropped", old, `[{"jsonrpc":"2.0","id":3,"method":"test/drop"},` + echo("1") + "]", 200, `[` + cancelledAnswer + `,{"jsonrpc":"2.0","id":1,"result":{"n":1}}]`},
		{"all are dropped", old, `[{"jsonrpc":"2.0","id":3,"method":"test/drop"}]`, 200, `[` + cancelledAnswer + `]`},
		{"responses beside requests", old, "[" + answer + "," + echo("1") + "]", 400, "-32600"},
		{"empty", old, "[]", 400, "-32600"},
		{"nested", old, "[[" + echo("1") + "]]", 400, "-32600"},
		{"no message", old, "[1," + echo("1") + "]", 400, "-32600"},
		{"same id twice", old, "[" + echo("1") + "," + echo("1") + "]", 400, "-32600"},
		{"initialize", old, "[" + initialize("2025-03-26") + "]", 400, "-32600"},
		{"cut off", old, "[" + echo("1"), 400, "-32600"},
		{"too many", old, "[" + strings.Repeat(note+",", MaxBatch) + note + "]", 400, "-32600"},
		{"BOM", old, "\xef\xbb\xbf[" + echo("1") + "]", 400, "-32700"},
		{"later version", later, "[" + echo("1") + "]", 400, "-32600"},
		{"no session", "", "[" + echo("1") + "]", 400, "-32600"},
		{"unknown session", "x", "[" + echo("1") + "]", 404, "-32600"},
	} {
		var headers []string
		if c.session != "" {
			headers = []string{"Mcp-Session-Id", c.session}
		}
		resp := r.do(http.MethodPost, c.body, headers...)
		body := text(t, resp)
		if resp.StatusCode != c.status || !strings.Contains(body, c.want) || c.want == "" && body != "" {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, body)
		}
	}
	body, headers := modern(1, "echo", "")
	for name, resp := range map[string]*http.Response{
		"modern header": r.do(http.MethodPost, "["+echo("1")+"]", append(headers, "Mcp-Session-Id", old)...),
		"modern body":   r.do(http.MethodPost, "["+body+"]", "Mcp-Session-Id", old),
	} {
		if body := text(t, resp); resp.StatusCode != 400 || !strings.Contains(body, "-32600") {
			t.Error(name, resp.StatusCode, body)
		}
	}
}

// A batch that becomes a stream brings each answer as an event.
func TestBatchOnAStream(t *testing.T) {
	r := newRig(t, nil)
	session := r.begin("2025-03-26")
	resp := r.do(http.MethodPost, `[{"jsonrpc":"2.0","id":1,"method":"echo"},{"jsonrpc":"2.0","id":2,"method":"test/stream"},{"jsonrpc":"2.0","id":3,"method":"echo"}]`, "Mcp-Session-Id", session)
	events, _ := allEvents(t, resp.Body)
	all := strings.Join(events, "\n")
	if len(events) != 6 {
		t.Fatal(all)
	}
	for _, want := range []string{`"id":1,"result"`, `"id":2,"result"`, `"id":3,"result"`, `"progress":0`, `"progress":1`, `"progress":2`} {
		if strings.Count(all, want) != 1 {
			t.Errorf("%s stands there %d times", want, strings.Count(all, want))
		}
	}
}

func FuzzHeaders(f *testing.F) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	f.Add("2026-07-28", "tools/call", "t", body)
	f.Add("2026-07-28", "tools/list", "=?base64??=", body)
	f.Add("2025-11-25", "", "", body)
	f.Add("", "tools/call", "t", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{}}}`)
	f.Add("2026-07-28", "resources/read", "a", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a","_meta":{"io.modelcontextprotocol/protocolVersion":7}}}`)
	h, err := NewHandler(HandlerOptions{Serve: (&rig{}).serve, Authenticate: bearer})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, version, method, name, body string) {
		m, bad := mcp.Parse([]byte(body))
		if bad != nil {
			return
		}
		header := http.Header{}
		for k, v := range map[string]string{headerVersion: version, headerMethod: method, headerName: name} {
			if v != "" {
				header.Set(k, v)
			}
		}
		got, isStateless, no := h.checkHeaders(header, m)
		if no != nil {
			if no.status != 400 || !json.Valid(mcp.ErrorResponse(no.id, no.code, no.text, no.data)) {
				t.Fatalf("%+v", no)
			}
			return
		}
		// What passes must be the same for somebody who reads only the headers.
		inBody := mcp.RequestVersion(m)
		if inBody != "" && (inBody != version || got != version || !isStateless) {
			t.Fatalf("%q in the body, %q in the header, %q, %v", inBody, version, got, isStateless)
		}
		if method != "" && method != m.Method {
			t.Fatalf("method %q in the header, %q in the body", method, m.Method)
		}
		want, needed, _ := bodyName(m)
		if decoded, _ := DecodeValue(name); needed && (name != "" || isStateless && m.Kind == mcp.Request) && decoded != want {
			t.Fatalf("name %q in the header, %q in the body", name, want)
		}
	})
}
