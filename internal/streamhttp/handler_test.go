package streamhttp

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

func TestHandlerOptions(t *testing.T) {
	ok := HandlerOptions{Serve: func(context.Context, *Exchange) {}, Authenticate: bearer}
	for name, change := range map[string]func(*HandlerOptions){
		"no Serve":        func(o *HandlerOptions) { o.Serve = nil },
		"no Authenticate": func(o *HandlerOptions) { o.Authenticate = nil },
		"bad host":        func(o *HandlerOptions) { o.AllowedHosts = []string{"https://x"} },
		"bad origin":      func(o *HandlerOptions) { o.AllowedOrigins = []string{"*"} },
	} {
		o := ok
		change(&o)
		if _, err := NewHandler(o); err == nil {
			t.Error(name, "was taken")
		}
	}
	if _, err := NewHandler(ok); err != nil {
		t.Error(err)
	}
}

// B060, B061: Host and Origin are checked before anything else, on every method
// (2025-11-25 and 2026-07-28, "Security Warning", 1).
func TestB060HostAndOrigin(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) {
		o.AllowedHosts = []string{"mcp.example.org", "other.example:8443"}
		o.AllowedOrigins = []string{"https://app.example"}
	})
	_, port, _ := net.SplitHostPort(r.server.Listener.Addr().String())
	for _, c := range []struct {
		name         string
		host, origin string
		allowed      bool
	}{
		{"the address", "", "", true},
		{"localhost", "localhost:" + port, "", true},
		{"IPv6", "[::1]:8080", "", true},
		{"no port", "localhost", "", true},
		{"rebinding", "attacker.example:8080", "", false},
		{"looks like localhost", "localhost.attacker.example", "", false},
		{"trailing dot", "localhost.", "", false},
		{"allowed, any port", "MCP.example.org:1234", "", true},
		{"allowed, its port", "other.example:8443", "", true},
		{"allowed, other port", "other.example:80", "", false},
		{"LAN address", "192.168.1.5", "", false},
		{"allowed origin", "", "https://app.example", true},
		{"its port spelled out", "", "https://app.example:443", true},
		{"other scheme", "", "http://app.example", false},
		{"foreign origin", "", "http://attacker.example", false},
		{"prefix of an origin", "", "https://app.example.attacker.example", false},
		{"null origin", "", "null", false},
		{"empty origin", "", "", true},
		{"the host's own page", "localhost:" + port, "http://localhost:" + port, true},
		{"another port's page", "localhost:" + port, "http://localhost:1", false},
		{"rebound page", "attacker.example", "http://attacker.example", false},
		{"extension", "", "chrome-extension://abc", false},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodOptions, http.MethodHead} {
			headers := []string{"Authorization", "-"}
			if c.host != "" {
				headers = append(headers, "Host", c.host)
			}
			if c.origin != "" {
				headers = append(headers, "Origin", c.origin)
			}
			resp := r.do(method, "", headers...)
			text(t, resp)
			if got := resp.StatusCode != http.StatusForbidden; got != c.allowed {
				t.Errorf("%s, %s: status %d", c.name, method, resp.StatusCode)
			}
		}
	}
	resp := r.do(http.MethodPost, "", "+Origin", "https://app.example", "+Origin", "https://app.example")
	if text(t, resp); resp.StatusCode != http.StatusForbidden {
		t.Error("two origins:", resp.StatusCode)
	}
}

// On an address that other machines reach, and without a list, the name is theirs to
// choose.
func TestHostOfAnotherAddress(t *testing.T) {
	h, err := NewHandler(HandlerOptions{Serve: func(context.Context, *Exchange) {}, Authenticate: bearer})
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]bool{"192.0.2.7:8080": true, "127.0.0.1:8080": false, "[::1]:8080": false, "[::ffff:127.0.0.1]:1": false} {
		a, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(a)), "POST", "http://gateway.example/", nil)
		if got := h.hostAllowed(req); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://gateway.example/", nil)
	if h.hostAllowed(req) {
		t.Error("an unknown address must count as loopback")
	}
}

// B062: CORS, as configured.
func TestB062CORS(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.AllowedOrigins = []string{"https://app.example"} })
	resp := r.do(http.MethodOptions, "", "Authorization", "-", "Origin", "https://app.example",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,mcp-param-region, x-other,mcp-param-b@d")
	text(t, resp)
	if resp.StatusCode != http.StatusNoContent || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example" {
		t.Errorf("preflight: %d %v", resp.StatusCode, resp.Header)
	}
	if m := resp.Header.Get("Access-Control-Allow-Methods"); m != "POST, GET, DELETE" {
		t.Error(m)
	}
	allowed := strings.ToLower(resp.Header.Get("Access-Control-Allow-Headers"))
	for _, name := range []string{"authorization", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id", "mcp-param-region"} {
		if !strings.Contains(allowed, name) {
			t.Errorf("%s is not allowed: %s", name, allowed)
		}
	}
	if strings.Contains(allowed, "x-other") || strings.Contains(allowed, "b@d") {
		t.Error("headers that nobody needs are allowed:", allowed)
	}
	for _, c := range []struct {
		name    string
		headers []string
	}{
		{"answer", nil},
		{"challenge", []string{"Authorization", "-"}},
	} {
		resp := r.do(http.MethodPost, initialize("2025-11-25"), append(c.headers, "Origin", "https://app.example")...)
		text(t, resp)
		h := resp.Header
		if h.Get("Access-Control-Allow-Origin") != "https://app.example" || !strings.Contains(h.Get("Access-Control-Expose-Headers"), "Mcp-Session-Id") || h.Get("Vary") != "Origin" {
			t.Errorf("%s: %v", c.name, h)
		}
		if h.Get("Access-Control-Allow-Credentials") != "" {
			t.Error(c.name, "allows credentials")
		}
	}
	resp = r.do(http.MethodOptions, "", "Authorization", "-", "Origin", "https://other.example", "Access-Control-Request-Method", "POST")
	text(t, resp)
	if resp.StatusCode != http.StatusForbidden || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("foreign preflight: %d %v", resp.StatusCode, resp.Header)
	}
	off := newRig(t, nil)
	resp = off.do(http.MethodOptions, "", "Access-Control-Request-Method", "POST")
	if text(t, resp); resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Vary") != "" {
		t.Error("CORS is off:", resp.StatusCode)
	}
}

// 2025-11-25, authorization, "Protected Resource Metadata Discovery"; RFC 6750, section 3.
func TestChallenge(t *testing.T) {
	r := newRig(t, nil)
	for token, want := range map[string]struct {
		status    int
		challenge string
	}{
		"-":              {401, `Bearer resource_metadata="https://gateway.example/.well-known/oauth-protected-resource"`},
		"Bearer expired": {401, `Bearer resource_metadata="https://gateway.example/.well-known/oauth-protected-resource", error="invalid_token", error_description="it \"ended\"?"`},
		"Bearer narrow":  {403, `Bearer resource_metadata="https://gateway.example/.well-known/oauth-protected-resource", error="insufficient_scope", scope="tools:call"`},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			resp := r.do(method, "", "Authorization", token, "Content-Type", "text/plain")
			text(t, resp)
			if got := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != want.status || got != want.challenge {
				t.Errorf("%s %s: %d %s", token, method, resp.StatusCode, got)
			}
		}
	}
	none := newRig(t, func(o *HandlerOptions) { o.ResourceMetadata = "" })
	resp := none.do(http.MethodPost, "", "Authorization", "-")
	if text(t, resp); resp.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Error(resp.Header)
	}
}

// B081: who is not known makes nobody read a body.
func TestB081NoBodyIsReadWithoutAToken(t *testing.T) {
	r := newRig(t, nil)
	conn := dial(t, r)
	send(t, conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2000000000\r\n\r\n{")
	if status, _ := readHead(t, conn); status != 401 {
		t.Error(status)
	}
}

// B057 and 2025-11-25, "Sending Messages to the Server": what HTTP itself says no to.
func TestB057HTTPRefusals(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.MaxBody = 1000 })
	session := r.begin("2025-11-25")
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, c := range []struct {
		name, method, body string
		headers            []string
		status             int
		code               string
	}{
		{"HEAD", http.MethodHead, "", nil, 405, ""},
		{"PUT", http.MethodPut, ping, nil, 405, "-32600"},
		{"OPTIONS", http.MethodOptions, "", nil, 405, "-32600"},
		{"text", http.MethodPost, ping, []string{"Content-Type", "text/plain"}, 415, "-32600"},
		{"no type", http.MethodPost, ping, []string{"Content-Type", "-"}, 415, "-32600"},
		{"form", http.MethodPost, ping, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "-32600"},
		{"two types", http.MethodPost, ping, []string{"+Content-Type", typeJSON}, 415, "-32600"},
		{"other charset", http.MethodPost, ping, []string{"Content-Type", "application/json; charset=utf-16"}, 415, "-32600"},
		{"compressed", http.MethodPost, ping, []string{"Content-Encoding", "gzip"}, 415, "-32600"},
		{"accepts HTML", http.MethodPost, ping, []string{"Accept", "text/html"}, 406, "-32600"},
		{"accepts nothing", http.MethodPost, ping, []string{"Accept", "*/*;q=0"}, 406, "-32600"},
		{"GET accepts JSON", http.MethodGet, "", []string{"Accept", typeJSON, "Mcp-Session-Id", session}, 406, "-32600"},
		{"too large", http.MethodPost, strings.Repeat(" ", 1001), nil, 413, "-32600"},
		{"empty", http.MethodPost, " ", nil, 400, "-32700"},
		{"no JSON", http.MethodPost, "{", nil, 400, "-32700"},
		{"not UTF-8", http.MethodPost, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", nil, 400, "-32700"},
		{"B026: id null", http.MethodPost, `{"jsonrpc":"2.0","id":null,"method":"tools/call"}`, nil, 400, "-32600"},
		{"B073: duplicate names", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, nil, 400, "-32600"},
		{"B080: both shapes", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"a","result":{}}`, nil, 400, "-32600"},
		{"B081: deep", http.MethodPost, strings.Repeat("[", 900), nil, 400, "-32600"},
	} {
		resp := r.do(c.method, c.body, c.headers...)
		body := text(t, resp)
		if resp.StatusCode != c.status || !strings.Contains(body, c.code) || c.code != "" && resp.Header.Get("Content-Type") != typeJSON {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, body)
		}
		if c.status == 405 && resp.Header.Get("Allow") != "POST, GET, DELETE" {
			t.Error(c.name, "Allow:", resp.Header.Get("Allow"))
		}
		if resp.Header.Get("Cache-Control") != "no-store, no-transform" {
			t.Error(c.name, resp.Header.Get("Cache-Control"))
		}
	}
	// Without a length the limit holds all the same.
	conn := dial(t, r)
	send(t, conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
	send(t, conn, "7d0\r\n"+strings.Repeat(" ", 2000)+"\r\n0\r\n\r\n")
	if status, _ := readHead(t, conn); status != 413 {
		t.Error("chunked:", status)
	}
	// The id of a request that cannot be served is in the refusal.
	resp := r.do(http.MethodPost, `{"jsonrpc":"2.0","id":"seven","method":"a","params":[]}`)
	if body := text(t, resp); resp.StatusCode != 400 || !strings.Contains(body, `"id":"seven"`) {
		t.Error(resp.StatusCode, body)
	}
}

// B065: what authenticates a caller is seen by nobody behind the transport.
func TestB065ExchangeShowsNoCredentials(t *testing.T) {
	r := newRig(t, nil)
	session := r.begin("2025-11-25")
	done := make(chan *http.Response)
	go func() {
		resp, _ := r.try(context.Background(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"test/hold"}`,
			"Mcp-Session-Id", session, "Cookie", "a=b", "Proxy-Authorization", "Basic x", "Mcp-Param-Region", "north", "+Mcp-Param-Two", "1", "+Mcp-Param-Two", "2")
		done <- resp
	}()
	x := <-r.started
	for _, name := range []string{"Authorization", "Cookie", "Proxy-Authorization", "Mcp-Session-Id"} {
		if x.Header.Get(name) != "" {
			t.Error(name, "is shown")
		}
	}
	if v, present, ok := x.Params("region"); v != "north" || !present || !ok {
		t.Error(v, present, ok)
	}
	if _, present, ok := x.Params("two"); !present || ok {
		t.Error("a header that stands there twice was taken")
	}
	if _, present, ok := x.Params("three"); present || !ok {
		t.Error("a header that is not there")
	}
	if x.Caller.Name != "ann" || x.Caller.Value != 3 || x.Session.ID() != session || x.Version != mcp.V20251125 || x.Message.Method != "test/hold" {
		t.Errorf("%+v", x)
	}
	r.free <- struct{}{}
	text(t, <-done)
}
