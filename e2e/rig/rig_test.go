package rig

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// shows answers with what it got.
func shows(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s host=%s origin=%s auth=%s", r.Method, r.URL.Path, r.Host, r.Header.Get("Origin"), r.Header.Get("Authorization"))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

func send(t *testing.T, p *Proxy, err error, method, version, body string) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	req, err := http.NewRequestWithContext(t.Context(), method, p.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	req.Header.Set("Origin", "http://evil.example")
	req.Header.Set("Mcp-Protocol-Version", version)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, text)
}

func TestProxies(t *testing.T) {
	target := shows(t)
	const passed = "200 POST /mcp host=evil.example origin=http://evil.example auth="
	p, err := Front(target, "s3cret")
	if got := send(t, p, err, "POST", "2025-11-25", "{}"); got != passed+"Bearer s3cret" {
		t.Error(got)
	}
	p, err = StatelessOnly(target)
	if got := send(t, p, err, "POST", "2026-07-28", "{}"); got != passed {
		t.Error(got)
	}
	for _, c := range []struct{ method, body, want string }{
		{"POST", `{"jsonrpc":"2.0","id":"a","method":"initialize"}`, `400 {"jsonrpc":"2.0","id":"a","error":{"code":-32022`},
		{"POST", "not JSON", `400 {"jsonrpc":"2.0","id":null,"error"`},
		{"GET", "", "405 "},
	} {
		p, err = StatelessOnly(target)
		if got := send(t, p, err, c.method, "2025-11-25", c.body); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: %s", c.method, c.body, got)
		}
	}
	p, err = HandshakeOnly(target)
	if got := send(t, p, err, "POST", "2025-11-25", "{}"); got != passed {
		t.Error(got)
	}
	p, err = HandshakeOnly(target)
	if got := send(t, p, err, "POST", "2026-07-28", "{}"); !strings.HasPrefix(got, "400 Bad Request") {
		t.Error(got)
	}
}

// What a process wrote and what it left behind is told.
func TestProcess(t *testing.T) {
	p, err := start(exec.Command("sh", "-c", "echo 'WARNING: DATA RACE' >&2; sleep 30 & exec sleep 60"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var f Figures
	for deadline := time.Now().Add(30 * time.Second); p.Find() == "" || f.Children == 0; {
		if f, err = p.Figures(); err != nil || time.Now().After(deadline) {
			t.Fatal(f, err, p.Log())
		}
	}
	if f.Children != 1 || f.Files == 0 || f.Threads == 0 || f.RSS == 0 {
		t.Error(f)
	}
	for _, want := range []string{"DATA RACE", "left processes behind"} {
		if err := p.Close(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	<-p.Ended()
}

func TestLogKeepsBothEnds(t *testing.T) {
	var l Log
	for i := range 100_000 {
		fmt.Fprintf(&l, "line %d\n", i)
	}
	if s := l.String(); !strings.HasPrefix(s, "line 0\n") || !strings.HasSuffix(s, "line 99999") || len(s) > 4*logPart {
		t.Errorf("%d bytes: %.40s", len(s), s)
	}
	if l.found() != "" {
		t.Error(l.found())
	}
	io.WriteString(&l, "panic: no") //nolint:errcheck // it never fails
	if l.found() != "panic:" {
		t.Error("a panic is not found")
	}
}
