package streamhttp

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

func TestClientOptions(t *testing.T) {
	for _, u := range []string{"", "ftp://x/", "http://", "http://u:p@x/", "http://x/#f", "mailto:x", "://", "http://x y/"} {
		if _, err := NewClient(ClientOptions{URL: u}); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%q: %v", u, err)
		}
	}
	// B047, B057: what the transport sends is not overridden.
	for _, h := range []string{"Accept", "content-type", "Host", "Mcp-Session-Id", "mcp-protocol-version", "Mcp-Param-X", "Content-Length", "Transfer-Encoding", "Connection", "Last-Event-ID", "Origin", "a b", ""} {
		if _, err := NewClient(ClientOptions{URL: "http://x/", Header: http.Header{h: {"v"}}}); err == nil {
			t.Errorf("header %q was taken", h)
		}
	}
	if _, err := NewClient(ClientOptions{URL: "http://x/", Header: http.Header{"A": {"x\r\nB: y"}}}); err == nil {
		t.Error("a value with a line break was taken")
	}
	if _, err := NewClient(ClientOptions{URL: "http://x/", CAFile: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a certificate file that is not there")
	}
	c, err := NewClient(ClientOptions{URL: "http://x/"})
	if err != nil {
		t.Fatal(err)
	}
	if c.transport.Proxy == nil {
		t.Error("proxies of the environment are not used")
	}
}

// Each kind of answer to a request, by the rules of 2025-11-25, "Sending Messages to the
// Server", 5 and 6, and of RFC 9110.
// A refusal carries what its reader needs, bounded, and shows nothing of it by itself.
// B047, B051, B052, B057, B065: the headers of each version are derived from the frame
// and the configuration.
func TestRequestHeaders(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body string) {
		m, _ := mcp.Parse([]byte(body))
		if m.Method == "initialize" {
			w.Header().Set("Mcp-Session-Id", "s-1")
		}
		if m.Kind != mcp.Request {
			w.WriteHeader(202)
			return
		}
		w.Header().Set("Content-Type", typeJSON)
		_, _ = w.Write(result(m.ID, "{}"))
	})
	c := newTestClient(t, u.URL+"/mcp?x=1", func(o *ClientOptions) {
		o.Header = http.Header{"authorization": {"Bearer configured"}, "X-Api-Key": {"k"}}
	})
	check := func(what string, want map[string]string) {
		t.Helper()
		r := u.last()
		for _, name := range []string{"Accept", "Content-Type", "Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Mcp-Param-Region", "Authorization", "X-Api-Key", "Cookie", "User-Agent"} {
			expect := want[name]
			switch name {
			case "Accept":
				expect = acceptBoth
			case "Content-Type":
				expect = typeJSON
			case "Authorization":
				expect = "Bearer configured"
			case "X-Api-Key":
				expect = "k"
			case "User-Agent":
				expect = "sallyport"
			}
			if got := strings.Join(r.Header.Values(name), "|"); got != expect {
				t.Errorf("%s: %s is %q, want %q", what, name, got, expect)
			}
		}
		if r.URL.RequestURI() != "/mcp?x=1" {
			t.Error(what, r.URL)
		}
	}
	do := func(frame string, params map[string]string) {
		t.Helper()
		if _, err := c.Do(t.Context(), []byte(frame), params, nil); err != nil {
			t.Fatal(err)
		}
	}
	c.SetVersion("2025-11-25") // of an earlier session: not for initialize
	do(initialize("2025-06-18"), nil)
	check("initialize", nil)
	if c.SessionID() != "s-1" {
		t.Fatal(c.SessionID())
	}
	c.SetVersion("2025-06-18")
	session := map[string]string{"Mcp-Protocol-Version": "2025-06-18", "Mcp-Session-Id": "s-1"}
	do(toolCall, map[string]string{"Region": "not for this version"})
	check("request", session)
	if err := c.Send(t.Context(), []byte(progress)); err != nil {
		t.Fatal(err)
	}
	check("notification", session)
	body, _ := modern(7, "tools/call", `"name":" t\u00e4"`)
	do(body, map[string]string{"Region": "a\r\nEvil: b"})
	check("stateless", map[string]string{
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?IHTDpA==?=", "Mcp-Param-Region": "=?base64?YQ0KRXZpbDogYg==?=",
	})
	c.SetVersion("2026-07-28")
	if err := c.Send(t.Context(), []byte(progress)); err != nil {
		t.Fatal(err)
	}
	check("stateless notification", map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "notifications/progress"})
	do(initialize("2025-06-18"), nil)
	check("initialize again", nil)
}

// 2025-11-25, "Session Management".
func TestClientSession(t *testing.T) {
	var gone bool
	id := "s-1"
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body string) {
		switch {
		case r.Method == http.MethodDelete:
			w.WriteHeader(405)
		case strings.Contains(body, "initialize"):
			w.Header().Set("Mcp-Session-Id", id)
			w.Header().Set("Content-Type", typeJSON)
			_, _ = w.Write(result(mcp.IntID(0), "{}"))
		case gone:
			w.Header().Set("Content-Type", typeJSON)
			w.WriteHeader(404)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Session not found"}}`)
		case r.Method == http.MethodGet:
			w.WriteHeader(405)
		default:
			w.Header().Set("Mcp-Session-Id", "another") // only initialize begins one
			w.Header().Set("Content-Type", typeJSON)
			fmt.Fprint(w, answer)
		}
	})
	c := newTestClient(t, u.URL, nil)
	do := func() error {
		_, err := c.Do(t.Context(), []byte(toolCall), nil, nil)
		return err
	}
	if _, err := c.Do(t.Context(), []byte(initialize("2025-11-25")), nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := do(); err != nil || c.SessionID() != "s-1" {
		t.Error(err, c.SessionID())
	}
	if err := c.Listen(t.Context(), nil); !errors.Is(err, ErrNoStream) {
		t.Error(err)
	}
	gone = true
	if err := do(); !errors.Is(err, ErrSessionLost) {
		t.Error(err)
	}
	if err := c.Send(t.Context(), []byte(progress)); !errors.Is(err, ErrSessionLost) {
		t.Error(err)
	}
	if err := c.Listen(t.Context(), nil); !errors.Is(err, ErrSessionLost) {
		t.Error(err)
	}
	for _, bad := range []string{"a b", "ä", strings.Repeat("x", 2000)} {
		id = bad
		if _, err := c.Do(t.Context(), []byte(initialize("2025-11-25")), nil, nil); !errors.Is(err, ErrBadMessage) {
			t.Errorf("session id %.10q: %v", bad, err)
		}
	}
	id, gone = "s-2", false
	if _, err := c.Do(t.Context(), []byte(initialize("2025-11-25")), nil, nil); err != nil || c.SessionID() != "s-2" {
		t.Error(err, c.SessionID())
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error("a server may refuse to end a session:", err)
	}
	if r := u.last(); r.Method != http.MethodDelete || r.Header.Get("Mcp-Session-Id") != "s-2" {
		t.Error(r.Method, r.Header)
	}
	if err := do(); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// B065: nothing that was configured for one origin goes to another.
func TestRedirects(t *testing.T) {
	foreign := newUpstream(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", typeJSON)
		fmt.Fprint(w, answer)
	})
	for _, c := range []struct {
		name   string
		status int
		to     string
		err    error
	}{
		{"307 within the origin", 307, "/there", nil},
		{"308 within the origin", 308, "/there", nil},
		{"relative", 307, "there", nil},
		{"301", 301, "/there", ErrRedirect},
		{"302", 302, "/there", ErrRedirect},
		{"303", 303, "/there", ErrRedirect},
		{"300", 300, "/there", ErrRedirect},
		{"307 to another origin", 307, foreign.URL, ErrRedirect},
		{"308 to another origin", 308, foreign.URL, ErrRedirect},
		{"302 to another origin", 302, foreign.URL, ErrRedirect},
		{"another scheme", 307, "https://HOST/there", ErrRedirect},
		{"user name", 307, "http://u:p@HOST/there", ErrRedirect},
		{"other protocol", 307, "file:///etc/passwd", ErrRedirect},
		{"nowhere", 307, "", ErrRedirect},
		{"for ever", 307, "/", ErrRedirect},
	} {
		u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body string) {
			if r.URL.Path == "/there" {
				if r.Method != http.MethodPost || body != toolCall || r.Header.Get("X-Api-Key") != "k" {
					t.Errorf("%s: %s %q %v", c.name, r.Method, body, r.Header)
				}
				w.Header().Set("Content-Type", typeJSON)
				fmt.Fprint(w, answer)
				return
			}
			w.Header()["Location"] = []string{strings.ReplaceAll(c.to, "HOST", r.Host)}
			w.WriteHeader(c.status)
		})
		cl := newTestClient(t, u.URL, func(o *ClientOptions) { o.Header = http.Header{"X-Api-Key": {"k"}} })
		if _, err := cl.Do(t.Context(), []byte(toolCall), nil, nil); !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if u.count() > maxRedirects {
			t.Error(c.name, u.count(), "requests")
		}
	}
	if foreign.count() != 0 {
		t.Error("the other origin got a request")
	}
}

// Headers that are late, bodies that stop, and streams that fall silent.
// Cancellation closes the connection, and the caller's own reason comes back.
// What the caller says no to ends the call.
func TestCAFileAndHTTP2(t *testing.T) {
	var proto string
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proto = r.Proto
		sse(w, data(progress), data(answer))
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = nil
	srv.StartTLS()
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newTestClient(t, srv.URL, func(o *ClientOptions) { o.CAFile = file })
	for range 3 {
		if _, err := c.Do(t.Context(), []byte(toolCall), nil, nil); err != nil || proto != "HTTP/2.0" {
			t.Error(err, proto)
		}
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewClient(ClientOptions{URL: srv.URL, CAFile: file}); err == nil {
		t.Error("a file without a certificate was taken")
	}
}

// Connections are used again after each kind of answer (B030).
func TestB030ConnectionsAreReused(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request, body string) {
		if strings.Contains(body, "notifications/") {
			w.WriteHeader(202)
			return
		}
		sse(w, data(answer))
	})
	conns := map[string]bool{}
	c := newTestClient(t, u.URL, nil)
	for range 20 {
		if _, err := c.Do(t.Context(), []byte(toolCall), nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := c.Send(t.Context(), []byte(progress)); err != nil {
			t.Fatal(err)
		}
		c.running.Wait() // the end of the stream was read
	}
	for _, r := range u.seen {
		conns[r.RemoteAddr] = true
	}
	if len(conns) > 2 {
		t.Error(len(conns), "connections for 40 requests, one at a time")
	}
}

func TestProxy(t *testing.T) {
	proxy := newUpstream(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		w.Header().Set("Content-Type", typeJSON)
		fmt.Fprint(w, answer)
	})
	c := newTestClient(t, "http://upstream.invalid/mcp", func(o *ClientOptions) {
		o.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
	})
	if _, err := c.Do(t.Context(), []byte(toolCall), nil, nil); err != nil {
		t.Fatal(err)
	}
	if r := proxy.last(); r.RequestURI != "http://upstream.invalid/mcp" {
		t.Error(r.RequestURI)
	}
}

// Batches come only where 2025-03-26 was negotiated.
