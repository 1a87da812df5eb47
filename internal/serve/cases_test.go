package serve

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// B064: the endpoint answers under both spellings and redirects neither.
func TestB064NeverARedirect(t *testing.T) {
	r := newRig(t, nil, entry("ann", time.Time{}))
	for _, path := range []string{"/mcp", "/mcp/"} {
		for value, want := range map[string]int{"": http.StatusUnauthorized, "value-of-ann": http.StatusOK} {
			req, err := http.NewRequest(http.MethodPost, r.base+path, strings.NewReader(initialize))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			req.Header.Set("X-Forwarded-Proto", "https")
			if value != "" {
				req.Header.Set("Authorization", "Bearer "+value)
			}
			resp, body := r.do(req)
			if resp.StatusCode != want || resp.Request.URL.Path != path {
				t.Errorf("%s with %q: %s at %s: %s", path, value, resp.Status, resp.Request.URL.Path, body)
			}
		}
	}
}

// B120: nothing on the network changes or runs anything but by the endpoint: there are no
// other routes, with a token or without, and a foreign page gets as far as none of them.
func TestB120NoRouteTakesCommands(t *testing.T) {
	r := newRig(t, nil, entry("ann", time.Time{}))
	const body = `{"command":"sh","args":["-c","id"],"transportType":"stdio"}`
	for _, path := range []string{"/admin", "/approve", "/reload", "/metrics", "/config", "/spawn", "/sse", "/message", "/stdio?command=sh", "/debug/pprof/", "/mcp/../admin"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			for _, value := range []string{"", "value-of-ann"} {
				req, err := http.NewRequest(method, r.base+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				if value != "" {
					req.Header.Set("Authorization", "Bearer "+value)
				}
				if resp, text := r.do(req); resp.StatusCode != http.StatusNotFound {
					t.Errorf("%s %s with %q: %s %s", method, path, value, resp.Status, text)
				}
			}
		}
	}
	if resp, text := r.post("value-of-ann", "", body); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a command at the endpoint: %s %s", resp.Status, text)
	}
	for _, path := range []string{"/mcp", "/healthz", "/readyz", metadataPath} {
		for name, foreign := range map[string]func(*http.Request){
			"origin": func(q *http.Request) { q.Header.Set("Origin", "http://attacker.example") },
			"null":   func(q *http.Request) { q.Header.Set("Origin", "null") },
			"host":   func(q *http.Request) { q.Host = "attacker.example:8080" },
		} {
			req, err := http.NewRequest(http.MethodGet, r.base+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer value-of-ann")
			foreign(req)
			if resp, text := r.do(req); resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s with a foreign %s: %s %s", path, name, resp.Status, text)
			}
		}
	}
}
