package serve

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestListen(t *testing.T) {
	for name, tt := range map[string]struct {
		a       Address
		exposed bool
		err     error
	}{
		"loopback":         {Address{Host: "127.0.0.1"}, false, nil},
		"loopback's net":   {Address{Host: "127.8.9.1"}, false, nil},
		"name":             {Address{Host: "localhost"}, false, nil},
		"loopback, forced": {Address{Host: "127.0.0.1", Insecure: true}, false, nil},
		"all":              {Address{Host: "0.0.0.0"}, true, ErrInsecure},
		"all, unnamed":     {Address{}, true, ErrInsecure},
		"all, TLS":         {Address{Host: "0.0.0.0", TLS: true}, false, nil},
		"all, forced":      {Address{Host: "0.0.0.0", Insecure: true}, true, nil},
	} {
		l, exposed, err := Listen(tt.a)
		if exposed != tt.exposed || !errors.Is(err, tt.err) {
			t.Errorf("%s: exposed %v, %v", name, exposed, err)
		}
		if l != nil {
			l.Close()
		}
	}
	if _, _, err := Listen(Address{Host: "no such host", Port: 1}); err == nil {
		t.Error("a name that is none")
	}
}

// A renewed certificate is used without a restart; a broken one is not.
func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile, first := certificate(t, dir, "first")
	c, err := LoadCertificate(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(o *Options) { o.Certificate = c }, entry("ann", time.Time{}))
	use := func() (*http.Response, error) {
		defer r.client.CloseIdleConnections()
		resp, err := r.client.Get(r.base + "/readyz")
		if err == nil {
			resp.Body.Close()
		}
		return resp, err
	}
	r.client = trusting(first)
	if resp, err := use(); err != nil || resp.ProtoMajor != 2 {
		t.Fatalf("%v, %v", resp, err)
	}
	if resp, _ := r.post("", "", ping); !strings.Contains(resp.Header.Get("WWW-Authenticate"), `resource_metadata="https://127.0.0.1:`) {
		t.Errorf("%v", resp.Header)
	}
	r.client.CloseIdleConnections()
	_, _, second := certificate(t, dir, "second")
	if err := c.Reload(); err != nil {
		t.Fatal(err)
	}
	r.client = trusting(second)
	if _, err := use(); err != nil {
		t.Error(err)
	}
	certificate(t, t.TempDir(), "other")
	c.keyFile = certFile
	if err := c.Reload(); err == nil || !strings.Contains(err.Error(), "cert.pem") {
		t.Errorf("%v", err)
	}
	if _, err := use(); err != nil {
		t.Errorf("after a certificate that does not load: %v", err)
	}
	if _, err := LoadCertificate(certFile, certFile); err == nil {
		t.Error("a certificate is no key")
	}
}

func TestCheckPath(t *testing.T) {
	for path, want := range map[string]bool{
		"/mcp": true, "/": true, "/team/mcp": true, "/a.b_c~d-1": true,
		"": false, "mcp": false, "/mcp/": false, "//": false, "/a//b": false, "/a/../b": false, "/a/.": false, "/mcp?x": false, "/mcp#x": false,
		"/m cp": false, "/m%20cp": false, "/healthz": false, "/readyz": false, "/.well-known/x": false, "/" + strings.Repeat("x", 200): false,
	} {
		if err := CheckPath(path); (err == nil) != want {
			t.Errorf("%q: %v", path, err)
		}
	}
}
