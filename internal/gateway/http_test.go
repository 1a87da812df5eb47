package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
)

// overHTTP serves a rig to callers that say their name as their token.
func (r *rig) overHTTP(callers ...Caller) *httptest.Server {
	r.t.Helper()
	h, err := streamhttp.NewHandler(streamhttp.HandlerOptions{
		Serve: r.HTTP,
		Authenticate: func(q *http.Request) (streamhttp.Caller, error) {
			for _, c := range callers {
				if q.Header.Get("Authorization") == "Bearer "+c.Name {
					return streamhttp.Caller{Name: c.Name, Value: c}, nil
				}
			}
			return streamhttp.Caller{}, errors.New("who?")
		},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	s := httptest.NewServer(h)
	r.t.Cleanup(func() {
		r.Quiet()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = h.Drain(ctx)
		s.Close()
	})
	return s
}

// reply is what a POST got.
type reply struct {
	status int
	header http.Header
	body   string // the answer; of a stream, its last event
	events []string
}

func post(t testing.TB, url, caller, body string, headers ...string) reply {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+caller)
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	p, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Body.Close()
	r := reply{status: p.StatusCode, header: p.Header}
	if strings.HasPrefix(p.Header.Get("Content-Type"), "text/event-stream") {
		s := bufio.NewScanner(p.Body)
		s.Buffer(nil, 1<<24)
		for s.Scan() {
			if data, ok := strings.CutPrefix(s.Text(), "data: "); ok {
				r.events = append(r.events, data)
				r.body = data
			}
		}
		return r
	}
	b, err := io.ReadAll(p.Body)
	if err != nil {
		t.Fatal(err)
	}
	r.body = string(b)
	return r
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}`

// modern sends a stateless request.
func modern(t testing.TB, url, caller, id, method, params string, headers ...string) reply {
	t.Helper()
	if params != "" {
		params = "," + params
	}
	headers = append([]string{"MCP-Protocol-Version", mcp.V20260728, "Mcp-Method", method}, headers...)
	return post(t, url, caller, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, id, method, modernMeta, params), headers...)
}

func TestHandshakeOverHTTP(t *testing.T) {
	up := toolServer("a", "look")
	r := newRig(t, Options{}, up)
	s := r.overHTTP(newCaller(t, "ann", everything, nil), newCaller(t, "bob", everything, nil))
	p := post(t, s.URL, "ann", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999-01-01","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}`)
	session := p.header.Get("Mcp-Session-Id")
	if p.status != http.StatusOK || session == "" || get(t, p.body, "result", "protocolVersion") != mcp.V20251125 {
		t.Fatalf("got %d %s", p.status, p.body)
	}
	with := []string{"Mcp-Session-Id", session}
	if p := post(t, s.URL, "ann", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, with...); p.status != http.StatusAccepted {
		t.Errorf("got %d", p.status)
	}
	if p := post(t, s.URL, "ann", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}`, with...); !strings.Contains(p.body, "a ran") {
		t.Errorf("got %s", p.body)
	}
	// B069: another caller's session is not there.
	if p := post(t, s.URL, "bob", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}`, with...); p.status != http.StatusNotFound {
		t.Errorf("got %d %s", p.status, p.body)
	}
	q, _ := http.NewRequest(http.MethodDelete, s.URL, nil)
	q.Header.Set("Authorization", "Bearer ann")
	q.Header.Set("Mcp-Session-Id", session)
	if p, err := http.DefaultClient.Do(q); err != nil || p.StatusCode != http.StatusNoContent {
		t.Fatal(err, p)
	}
	<-up.last(t).Done()
	eventually(t, "the session is forgotten", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.sessions) == 0 && len(r.handshake) == 0
	})
}

func TestStatelessOverHTTP(t *testing.T) {
	up := toolServer("a", "look").stateless()
	r := newRig(t, Options{}, up)
	s := r.overHTTP(newCaller(t, "ann", everything, nil))
	p := modern(t, s.URL, "ann", `1`, "server/discover", "")
	if get(t, p.body, "result", "cacheScope") != "private" || get(t, p.body, "result", "supportedVersions", 4) != mcp.V20241105 {
		t.Errorf("got %s", p.body)
	}
	p = modern(t, s.URL, "ann", `"x"`, "tools/call", `"name":"look","arguments":{}`, "Mcp-Name", "look")
	if want := `{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"a ran"}],"structuredContent":{"tool":"look","got":{}}}}`; p.body != want {
		t.Errorf("got %s", p.body)
	}
	if p = modern(t, s.URL, "ann", `1`, "ping", ""); p.status != http.StatusNotFound || fmt.Sprint(get(t, p.body, "error", "code")) != "-32601" {
		t.Errorf("a method of the other era: %d %s", p.status, p.body)
	}
	if p = modern(t, s.URL, "ann", `1`, "no/such", ""); p.status != http.StatusNotFound || fmt.Sprint(get(t, p.body, "error", "code")) != "-32601" {
		t.Errorf("an unknown method: %d %s", p.status, p.body)
	}
	bare := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	if p = post(t, s.URL, "ann", bare, "MCP-Protocol-Version", mcp.V20260728, "Mcp-Method", "tools/list"); p.status != http.StatusBadRequest || fmt.Sprint(get(t, p.body, "error", "code")) != "-32602" {
		t.Errorf("no capabilities: %d %s", p.status, p.body)
	}
	if n := len(up.conns); n > 2 {
		t.Errorf("%d conversations were opened for one client", n)
	}
}

// B052: Mcp-Param-… says the same as the arguments, before anything was listed.
func TestB052ParamHeaders(t *testing.T) {
	up := toolServer("a").stateless()
	up.serve = func(_ context.Context, _ *conn, m mcp.Message, _ func(string)) (string, error) {
		if m.Method == "tools/list" {
			return `{"resultType":"complete","tools":[{"name":"look","inputSchema":{"type":"object","properties":{"city":{"type":"string","x-mcp-header":"City"},"o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}}]}`, nil
		}
		return `{"resultType":"complete","content":[]}`, nil
	}
	r := newRig(t, Options{}, up)
	s := r.overHTTP(newCaller(t, "ann", everything, nil))
	for _, c := range []struct {
		args    string
		headers []string
		ok      bool
	}{
		{`{}`, nil, true},
		{`{"city":"Ulm"}`, []string{"Mcp-Param-City", "Ulm"}, true},
		{`{"city":"Ulm"}`, nil, false},
		{`{"city":"Ulm"}`, []string{"Mcp-Param-City", "Bonn"}, false},
		{`{"city":null}`, nil, true},
		{`{}`, []string{"Mcp-Param-City", "Ulm"}, false},
		{`{"o":{"n":42}}`, []string{"Mcp-Param-N", "42.0"}, true},
		{`{"o":{"n":42}}`, []string{"Mcp-Param-N", "43"}, false},
		{`{"o":{"n":42}}`, nil, false},
		{`{"o":[42]}`, nil, true},
	} {
		p := modern(t, s.URL, "ann", `1`, "tools/call", `"name":"look","arguments":`+c.args, append([]string{"Mcp-Name", "look"}, c.headers...)...)
		if ok := p.status == http.StatusOK; ok != c.ok {
			t.Errorf("%s with %v: %d %s", c.args, c.headers, p.status, p.body)
		}
		if !c.ok && fmt.Sprint(get(t, p.body, "error", "code")) != "-32020" {
			t.Errorf("%s with %v: %s", c.args, c.headers, p.body)
		}
	}
	if n := strings.Count(strings.Join(up.received(), "\n"), "tools/list"); n > 2 {
		t.Errorf("the list was asked for %d times: %v", n, up.received())
	}
}

// A client of 2026-07-28 that goes away cancels its request.
func TestDisconnectCancelsAStatelessRequest(t *testing.T) {
	up := toolServer("a", "slow").stateless()
	serve := up.serve
	started := make(chan struct{})
	up.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "tools/call" {
			close(started)
			<-ctx.Done()
		}
		return serve(ctx, c, m, about)
	}
	r := newRig(t, Options{}, up)
	s := r.overHTTP(newCaller(t, "ann", everything, nil))
	ctx, cancel := context.WithCancel(t.Context())
	q, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+modernMeta+`,"name":"slow"}}`))
	for k, v := range map[string]string{"Authorization": "Bearer ann", "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": mcp.V20260728, "Mcp-Method": "tools/call", "Mcp-Name": "slow"} {
		q.Header.Set(k, v)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if p, err := http.DefaultClient.Do(q); err == nil {
			p.Body.Close()
		}
	}()
	<-started
	cancel()
	<-done
	eventually(t, "the server hears of it", func() bool { return up.saw(methodCancelled) })
}

// A caller that is taken away still gets the answer to what it has asked, and then has no
// session.
func TestReloadTakesACallerAway(t *testing.T) {
	up := toolServer("a", "slow")
	serve := up.serve
	started := make(chan struct{})
	up.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "tools/call" {
			close(started)
			<-ctx.Done()
		}
		return serve(ctx, c, m, about)
	}
	r := newRig(t, Options{}, up)
	s := r.overHTTP(newCaller(t, "ann", everything, nil))
	p := post(t, s.URL, "ann", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}`)
	session := []string{"Mcp-Session-Id", p.header.Get("Mcp-Session-Id")}
	got := make(chan reply, 1)
	go func() {
		got <- post(t, s.URL, "ann", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}`, session...)
	}()
	<-started
	if err := r.Reload(t.Context(), r.setup.Load().Options, func(string) (Caller, bool) { return Caller{}, false }); err != nil {
		t.Fatal(err)
	}
	if p := <-got; !strings.Contains(p.body, "its caller may not call any more") {
		t.Errorf("got %d %s", p.status, p.body)
	}
	eventually(t, "the session is gone", func() bool {
		return post(t, s.URL, "ann", `{"jsonrpc":"2.0","id":3,"method":"ping"}`, session...).status == http.StatusNotFound
	})
}

// What one caller's clients make up is bounded, and what is not used ends.
func TestStatelessSessionsAreBounded(t *testing.T) {
	up := toolServer("a", "look").stateless()
	r := newRig(t, Options{MaxStateless: 3, SessionIdle: 50 * time.Millisecond}, up)
	s := r.overHTTP(newCaller(t, "ann", everything, nil))
	for n := range 10 {
		meta := strings.Replace(modernMeta, `"name":"c"`, fmt.Sprintf(`"name":"c%d"`, n), 1)
		p := post(t, s.URL, "ann", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+meta+`}}`, "MCP-Protocol-Version", mcp.V20260728, "Mcp-Method", "tools/list")
		if get(t, p.body, "result", "tools", 0, "name") != "look" {
			t.Errorf("got %s", p.body)
		}
		r.mu.Lock()
		if n := len(r.stateless["ann"]); n > 3 {
			t.Errorf("%d at once", n)
		}
		r.mu.Unlock()
	}
	eventually(t, "all are closed", func() bool { return up.closedConns() == 10 })
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.stateless) > 0 || len(r.sessions) > 0 {
		t.Errorf("something is left: %v", r.stateless)
	}
}
