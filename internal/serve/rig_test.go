package serve

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
	"github.com/sallyport-dev/sallyport/internal/token"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a server behind a real socket. Its endpoint answers ping with the caller's name,
// and holds what is called hold.
type rig struct {
	*Server
	t      *testing.T
	tokens *token.Table
	base   string // http://127.0.0.1:port
	client *http.Client
	held   chan string   // the callers of held requests
	free   chan struct{} // closed to let them go on
	ended  chan error    // why their contexts ended, nil if they did not
	served chan error
}

func entry(name string, expires time.Time) token.Entry {
	return token.Entry{Name: name, SHA256: token.Digest("value-of-" + name), Expires: expires, Value: "value for " + name}
}

func newRig(t *testing.T, change func(*Options), entries ...token.Entry) *rig {
	t.Helper()
	r := &rig{
		t: t, tokens: token.NewTable(entries, nil), client: &http.Client{Transport: &http.Transport{}},
		held: make(chan string, 16), free: make(chan struct{}), ended: make(chan error, 16), served: make(chan error, 1),
	}
	o := Options{Tokens: r.tokens, MCP: streamhttp.HandlerOptions{Serve: r.serve}}
	if change != nil {
		change(&o)
	}
	var err error
	if r.Server, err = New(o); err != nil {
		t.Fatal(err)
	}
	l, _, err := Listen(Address{Host: "127.0.0.1", TLS: o.Certificate != nil})
	if err != nil {
		t.Fatal(err)
	}
	scheme := "http"
	if o.Certificate != nil {
		scheme = "https"
	}
	r.base = scheme + "://" + l.Addr().String()
	go func() { r.served <- r.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = r.Drain(ctx)
		r.client.CloseIdleConnections()
	})
	return r
}

func (r *rig) serve(ctx context.Context, x *streamhttp.Exchange) {
	id := x.Message.ID
	switch x.Message.Method {
	case "initialize":
		_ = x.Reply(result(id, []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"rig","version":"1"}}`)))
	case "hold":
		r.held <- x.Caller.Name
		select {
		case <-ctx.Done():
			r.ended <- context.Cause(ctx)
		case <-r.free:
			r.ended <- nil
		}
		_ = x.Reply(result(id, []byte(`{"held":true}`)))
	default:
		_ = x.Reply(result(id, []byte(`{"caller":"`+x.Caller.Name+`","value":"`+x.Caller.Value.(string)+`"}`)))
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// post sends one message and returns the answer with its body.
func (r *rig) post(value, session, message string) (*http.Response, string) {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodPost, r.base+r.opt.Path, strings.NewReader(message))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if value != "" {
		req.Header.Set("Authorization", "Bearer "+value)
	}
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	return r.do(req)
}

func (r *rig) get(path string) (*http.Response, string) {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodGet, r.base+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.do(req)
}

func (r *rig) do(req *http.Request) (*http.Response, string) {
	r.t.Helper()
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp, string(body)
}

// session begins one and returns its id.
func (r *rig) session(value string) string {
	r.t.Helper()
	resp, body := r.post(value, "", initialize)
	id := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != http.StatusOK || id == "" {
		r.t.Fatalf("%s %s", resp.Status, body)
	}
	return id
}

// certificate writes a new one for 127.0.0.1 into dir.
func certificate(t *testing.T, dir, name string) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(cert)
	return certFile, keyFile, pool
}

func trusting(pool *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
}

func result(id mcp.ID, raw []byte) []byte {
	return []byte(`{"jsonrpc":"2.0","id":` + id.Raw() + `,"result":` + string(raw) + `}`)
}
