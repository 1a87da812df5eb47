package streamhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a handler behind a real socket.
type rig struct {
	t       testing.TB
	handler *Handler
	server  *httptest.Server
	client  *http.Client

	started chan *Exchange // each request that the test methods hold
	free    chan struct{}  // lets them go on
	ended   chan error     // why the context of a held request ended
	oneWay  chan mcp.Message
}

// newRig serves the methods of rig.serve to callers whose bearer token is their name.
func newRig(t testing.TB, change func(*HandlerOptions)) *rig {
	t.Helper()
	r := &rig{t: t, started: make(chan *Exchange, 256), free: make(chan struct{}), ended: make(chan error, 256), oneWay: make(chan mcp.Message, 256)}
	o := HandlerOptions{Serve: r.serve, Authenticate: bearer, ResourceMetadata: "https://gateway.example/.well-known/oauth-protected-resource"}
	if change != nil {
		change(&o)
	}
	h, err := NewHandler(o)
	if err != nil {
		t.Fatal(err)
	}
	r.handler = h
	r.server = httptest.NewUnstartedServer(h)
	r.server.Config = NewServer(h, nil)
	r.server.Start()
	r.client = &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		h.stop()
		for _, s := range h.allSessions() {
			s.End()
		}
		r.client.CloseIdleConnections()
		r.server.CloseClientConnections()
		r.server.Close()
	})
	return r
}

func bearer(r *http.Request) (Caller, error) {
	name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok:
		return Caller{}, errors.New("no token")
	case name == "expired":
		return Caller{}, &AuthError{Code: "invalid_token", Description: `it "ended"` + "\n"}
	case name == "narrow":
		return Caller{}, &AuthError{Status: http.StatusForbidden, Code: "insufficient_scope", Scope: "tools:call"}
	}
	return Caller{Name: name, Value: len(name)}, nil
}

// serve answers with the params, but for methods that the tests give a meaning.
func (r *rig) serve(ctx context.Context, x *Exchange) {
	m := x.Message
	if m.Kind != mcp.Request {
		if m.Method == "test/refuse" {
			_ = x.ReplyStatus(http.StatusBadRequest, mcp.ErrorResponse(mcp.ID{}, mcp.CodeInvalidRequest, "no", nil))
		}
		if m.Method == "test/panic" {
			panic("on purpose")
		}
		r.oneWay <- m
		return
	}
	switch m.Method {
	case "initialize":
		found, _ := mcp.Fields(m.Params, "protocolVersion")
		version, _ := mcp.Str(found[0])
		if version == "never" {
			_ = x.Reply(mcp.ErrorResponse(m.ID, mcp.CodeInvalidParams, "no", nil))
			return
		}
		if version == "slow" {
			version = mcp.V20251125
			r.hold(ctx, x)
		}
		_ = x.Reply(result(m.ID, `{"protocolVersion":"`+version+`","capabilities":{},"serverInfo":{"name":"rig","version":"1"}}`))
	case "test/stream":
		for i := range 3 {
			if err := x.Send(mcp.NewNotification("notifications/progress", fmt.Appendf(nil, `{"progress":%d}`, i))); err != nil {
				r.ended <- err
			}
		}
		_ = x.Reply(result(m.ID, `{"ok":true}`))
	case "test/hold":
		r.hold(ctx, x)
		_ = x.Reply(result(m.ID, `{"held":true}`))
	case "test/streamhold":
		_ = x.Send(mcp.NewNotification("notifications/progress", []byte(`{"progress":0}`)))
		r.hold(ctx, x)
		_ = x.Send(mcp.NewNotification("notifications/progress", []byte(`{"progress":1}`)))
		_ = x.Reply(result(m.ID, `{"held":true}`))
	case "test/silent":
	case "test/panic":
		panic("on purpose")
	case "test/drop":
		_ = x.Drop()
	case "test/twice":
		_ = x.Reply(result(m.ID, `{"first":true}`))
		r.ended <- x.Reply(result(m.ID, `{"second":true}`))
		r.ended <- x.Send(mcp.NewNotification("notifications/message", nil))
	case "test/unknown":
		_ = x.ReplyStatus(http.StatusNotFound, mcp.ErrorResponse(m.ID, mcp.CodeMethodNotFound, "Method not found", nil))
	default:
		params := m.Params
		if params == nil {
			params = []byte("{}")
		}
		_ = x.Reply(result(m.ID, string(params)))
	}
}

// hold tells the test about a request and waits for it.
func (r *rig) hold(ctx context.Context, x *Exchange) {
	r.started <- x
	select {
	case <-r.free:
	case <-ctx.Done():
		r.ended <- context.Cause(ctx)
	}
}

func result(id mcp.ID, raw string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":` + id.Raw() + `,"result":` + raw + `}`)
}

// do sends one HTTP request. headers are name, value, …; a value of "-" takes a header away.
func (r *rig) do(method, body string, headers ...string) *http.Response {
	r.t.Helper()
	return r.doContext(context.Background(), method, body, headers...)
}

func (r *rig) doContext(ctx context.Context, method, body string, headers ...string) *http.Response {
	r.t.Helper()
	resp, err := r.try(ctx, method, body, headers...)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp
}

func (r *rig) try(ctx context.Context, method, body string, headers ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.server.URL+"/mcp", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer ann")
	req.Header.Set("Accept", acceptBoth)
	if body != "" {
		req.Header.Set("Content-Type", typeJSON)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		switch {
		case headers[i+1] == "-":
			req.Header.Del(headers[i])
		case headers[i] == "Host":
			req.Host = headers[i+1]
		case strings.HasPrefix(headers[i], "+"):
			req.Header.Add(headers[i][1:], headers[i+1])
		default:
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return r.client.Do(req)
}

// marked is what an error says: the handler's own words, or those that the tests' gateway has.
var marked = regexp.MustCompile(`"message":"(\[sallyport\] |no"|Method not found")`)

// text reads and closes a body. An error of the handler's own in it says so.
func text(t testing.TB, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte(`"error":{`)) && !marked.Match(b) {
		t.Errorf("the gateway's own words are not marked: %s", b)
	}
	return string(b)
}

// begin opens a session and returns its id.
func (r *rig) begin(version string, headers ...string) string {
	r.t.Helper()
	resp := r.do(http.MethodPost, initialize(version), headers...)
	body := text(r.t, resp)
	id := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != http.StatusOK || id == "" || !strings.Contains(body, version) {
		r.t.Fatalf("initialize: %d, session %q: %s", resp.StatusCode, id, body)
	}
	return id
}

func initialize(version string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
}

// modern is a request of 2026-07-28, and its headers.
func modern(id int, method, params string) (body string, headers []string) {
	if params != "" {
		params = "," + params
	}
	body = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}%s}}`, id, method, params)
	return body, []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}
}

// nextEvent reads one event with data.
func nextEvent(t testing.TB, r *eventReader) string {
	t.Helper()
	for {
		e, err := r.next()
		if err != nil {
			t.Fatal(err)
		}
		if len(e.data) > 0 {
			return string(e.data)
		}
	}
}

// allEvents reads a stream to its end.
func allEvents(t testing.TB, body io.ReadCloser) (data []string, lastID string) {
	t.Helper()
	defer body.Close()
	r := newEventReader(body, 1<<20)
	for {
		e, err := r.next()
		if err == io.EOF {
			return data, r.id
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(e.data)) > 0 {
			data = append(data, string(e.data))
		}
	}
}

// waitFor polls for what no channel tells.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
		<-time.After(time.Millisecond)
	}
}
