package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/token"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// Who has no token that holds gets nothing, and hears where to read more.
func TestOnlyCallers(t *testing.T) {
	r := newRig(t, nil, entry("ann", time.Time{}), entry("old", time.Now().Add(-time.Second)))
	host := strings.TrimPrefix(r.base, "http://")
	metadata := `resource_metadata="http://` + host + `/.well-known/oauth-protected-resource/mcp"`
	session := r.session("value-of-ann")
	for name, tt := range map[string]struct {
		value, challenge string
	}{
		"none":    {"", "Bearer " + metadata},
		"unknown": {"value-of-eve", "Bearer " + metadata + `, error="invalid_token", error_description="the token is not known"`},
		"expired": {"value-of-old", "Bearer " + metadata + `, error="invalid_token", error_description="the token has expired"`},
		"name":    {"ann", "Bearer " + metadata + `, error="invalid_token", error_description="the token is not known"`},
	} {
		resp, body := r.post(tt.value, session, ping)
		if got := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != http.StatusUnauthorized || got != tt.challenge {
			t.Errorf("%s: %s %s", name, resp.Status, got)
		}
		if strings.Contains(body, "value-of") || strings.Contains(body, "ann") {
			t.Errorf("%s: %s", name, body)
		}
	}
	if resp, body := r.post("value-of-ann", session, ping); resp.StatusCode != http.StatusOK || !strings.Contains(body, `{"caller":"ann","value":"value for ann"}`) {
		t.Errorf("%s %s", resp.Status, body)
	}
}

// Another caller's session does not exist.
func TestSessionsAreTheirCallers(t *testing.T) {
	r := newRig(t, nil, entry("ann", time.Time{}), entry("ben", time.Time{}))
	if resp, body := r.post("value-of-ben", r.session("value-of-ann"), ping); resp.StatusCode != http.StatusNotFound {
		t.Errorf("%s %s", resp.Status, body)
	}
}

func TestOpenPaths(t *testing.T) {
	r := newRig(t, nil, entry("ann", time.Time{}))
	host := strings.TrimPrefix(r.base, "http://")
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/healthz":                              {200, "ok\n"},
		"/readyz":                               {200, "ready\n"},
		"/.well-known/oauth-protected-resource": {200, `{"bearer_methods_supported":["header"],"resource":"http://` + host + `/mcp"}`},
		"/.well-known/oauth-protected-resource/mcp":   {200, `{"bearer_methods_supported":["header"],"resource":"http://` + host + `/mcp"}`},
		"/.well-known/oauth-protected-resource/other": {404, "not found\n"},
		"/.well-known/oauth-protected-resources":      {404, "not found\n"},
		"/":                                           {404, "not found\n"},
		"/healthz/":                                   {404, "not found\n"},
		"/mcp/x":                                      {404, "not found\n"},
		"/MCP":                                        {404, "not found\n"},
		"/debug":                                      {404, "not found\n"},
	} {
		resp, body := r.get(path)
		if resp.StatusCode != want.status || body != want.body {
			t.Errorf("%s: %s %q", path, resp.Status, body)
		}
		if resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, resp.Header)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/.well-known/oauth-protected-resource"} {
		resp, err := r.client.Post(r.base+path, "text/plain", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %s", path, resp.Status)
		}
	}
	// With and without the slash: a redirect would lose the token.
	if resp, _ := r.get("/mcp/"); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("/mcp/: %s", resp.Status)
	}
}

// A resource is named only where it has to be true.
func TestMetadataIsTrue(t *testing.T) {
	for name, tt := range map[string]struct {
		public, host, resource, url string
	}{
		"own name":       {"", "localhost:8080", "http://localhost:8080/mcp", "http://localhost:8080/.well-known/oauth-protected-resource/mcp"},
		"own address":    {"", "[::1]:8080", "http://[::1]:8080/mcp", "http://[::1]:8080/.well-known/oauth-protected-resource/mcp"},
		"without a port": {"", "127.0.0.1", "http://127.0.0.1/mcp", "http://127.0.0.1/.well-known/oauth-protected-resource/mcp"},
		"foreign name":   {"", "gateway.example", "", ""},
		"like its own":   {"", "localhost.example", "", ""},
		"said":           {"https://gateway.example/team/mcp", "whatever", "https://gateway.example/team/mcp", "https://gateway.example/.well-known/oauth-protected-resource/team/mcp"},
		"said, at root":  {"https://gateway.example/", "whatever", "https://gateway.example/", "https://gateway.example/.well-known/oauth-protected-resource"},
	} {
		s := &Server{opt: Options{Path: "/mcp", PublicURL: tt.public}}
		req := &http.Request{Host: tt.host}
		if got, url := s.resource(req), s.metadataURL(req); got != tt.resource || url != tt.url {
			t.Errorf("%s: %q at %q", name, got, url)
		}
	}
	r := newRig(t, func(o *Options) {
		o.PublicURL = "https://gateway.example/team/mcp"
		o.MCP.AllowedOrigins = []string{"https://app.example"}
	}, entry("ann", time.Time{}))
	for _, path := range []string{"/.well-known/oauth-protected-resource/team/mcp", "/.well-known/oauth-protected-resource"} {
		req, _ := http.NewRequest(http.MethodGet, r.base+path, nil)
		req.Header.Set("Origin", "https://app.example")
		resp, body := r.do(req)
		var got struct{ Resource string }
		if json.Unmarshal([]byte(body), &got) != nil || got.Resource != "https://gateway.example/team/mcp" || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example" {
			t.Errorf("%s: %s %s %v", path, resp.Status, body, resp.Header)
		}
		req.Header.Set("Origin", "https://other.example")
		if resp, _ := r.do(req); resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%v", resp.Header)
		}
	}
}

// A revoked token's session and open calls end; others' go on.
func TestRevoke(t *testing.T) {
	r := newRig(t, nil, entry("ann", time.Time{}), entry("ben", time.Time{}))
	ann, ben := r.session("value-of-ann"), r.session("value-of-ben")
	answers := make(chan int, 2)
	hold := func(value, session string) {
		resp, _ := r.post(value, session, `{"jsonrpc":"2.0","id":2,"method":"hold"}`)
		answers <- resp.StatusCode
	}
	go hold("value-of-ann", ann)
	if got := <-r.held; got != "ann" {
		t.Fatal(got)
	}
	r.Revoke(r.tokens.Replace([]token.Entry{entry("ben", time.Time{})}))
	if err := <-r.ended; err == nil {
		t.Error("the call of a revoked token went on")
	}
	<-answers
	if resp, _ := r.post("value-of-ann", ann, ping); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("revoked: %s", resp.Status)
	}
	go hold("value-of-ben", ben)
	<-r.held
	r.Revoke(r.tokens.Replace([]token.Entry{entry("ben", time.Time{}), entry("ann", time.Time{})}))
	close(r.free)
	if err := <-r.ended; err != nil {
		t.Errorf("the call of a token that stayed: %v", err)
	}
	if got := <-answers; got != http.StatusOK {
		t.Errorf("%d", got)
	}
	if resp, _ := r.post("value-of-ann", ann, ping); resp.StatusCode != http.StatusNotFound {
		t.Errorf("the session of a token that was revoked came back: %s", resp.Status)
	}
	if resp, _ := r.post("value-of-ben", ben, ping); resp.StatusCode != http.StatusOK {
		t.Errorf("the session of a token that stayed: %s", resp.Status)
	}
}

// What was opened with a token ends when it expires, also a stateless request.
func TestExpiryEndsWhatIsOpen(t *testing.T) {
	r := newRig(t, nil, entry("ann", time.Time{}))
	soon := time.Now().Add(300 * time.Millisecond)
	r.Revoke(r.tokens.Replace([]token.Entry{entry("ann", time.Time{}), entry("ben", soon)}))
	req, _ := http.NewRequest(http.MethodPost, r.base+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":2,"method":"hold","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"}}}}`))
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer value-of-ben",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "hold",
	} {
		req.Header.Set(k, v)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := r.client.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	if got := <-r.held; got != "ben" {
		t.Fatal(got)
	}
	if err := <-r.ended; err == nil || time.Now().Before(soon) {
		t.Errorf("ended with %v", err)
	}
	<-done
}

// An accepted call gets its answer; a new one is refused, and the probe says so.
func TestDrain(t *testing.T) {
	r := newRig(t, nil, entry("ann", time.Time{}))
	session := r.session("value-of-ann")
	answer := make(chan string, 1)
	go func() {
		_, body := r.post("value-of-ann", session, `{"jsonrpc":"2.0","id":2,"method":"hold"}`)
		answer <- body
	}()
	<-r.held
	drained := make(chan error, 1)
	go func() { drained <- r.Drain(context.Background()) }()
	<-r.Handler().Draining()
	if resp, body := r.get("/readyz"); resp.StatusCode != http.StatusServiceUnavailable || body != "draining\n" {
		t.Errorf("%s %s", resp.Status, body)
	}
	if resp, _ := r.get("/healthz"); resp.StatusCode != http.StatusOK {
		t.Errorf("%s", resp.Status)
	}
	if resp, _ := r.post("value-of-ann", session, ping); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%s", resp.Status)
	}
	close(r.free)
	if got := <-answer; !strings.Contains(got, `{"held":true}`) {
		t.Errorf("the accepted call got %s", got)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if err := <-r.served; err != nil {
		t.Error(err)
	}
}

func TestDrainIsBounded(t *testing.T) {
	r := newRig(t, nil, entry("ann", time.Time{}))
	session := r.session("value-of-ann")
	answer := make(chan string, 1)
	go func() {
		_, body := r.post("value-of-ann", session, `{"jsonrpc":"2.0","id":2,"method":"hold"}`)
		answer <- body
	}()
	<-r.held
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-r.ended; err == nil {
		t.Error("the call was not ended")
	}
	<-answer
}
