package rig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// Proxy is a small HTTP proxy on a loopback port, ended by Close.
type Proxy struct {
	URL    string
	server *http.Server
}

// Close ends the proxy and cuts what runs through it.
func (p *Proxy) Close() error { return p.server.Close() }

// Front stands before a gateway and adds a caller's bearer token to each request. Host
// and Origin stay as the client sent them: the gateway is to judge them.
func Front(target, secret string) (*Proxy, error) {
	return proxy(target, func(w http.ResponseWriter, r *http.Request) bool {
		r.Header.Set("Authorization", "Bearer "+secret)
		return true
	})
}

// StatelessOnly makes of a server of both eras one that speaks only 2026-07-28: what names
// no such version is refused, as that specification says, with its versions in the
// error.
func StatelessOnly(target string) (*Proxy, error) {
	return proxy(target, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			http.Error(w, "only POST", http.StatusMethodNotAllowed)
			return false
		}
		if stateless(r) {
			return true
		}
		refuse(w, r, -32022, "Unsupported protocol version: this server speaks 2026-07-28 only",
			`{"supported":["2026-07-28"],"requested":"2025-11-25"}`)
		return false
	})
}

// HandshakeOnly makes of a server of both eras one that knows nothing of 2026-07-28: a
// request of that version is refused as servers refused a version that they did not know.
func HandshakeOnly(target string) (*Proxy, error) {
	return proxy(target, func(w http.ResponseWriter, r *http.Request) bool {
		if !stateless(r) {
			return true
		}
		http.Error(w, "Bad Request: Unsupported protocol version (supported versions: 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05)", http.StatusBadRequest)
		return false
	})
}

func stateless(r *http.Request) bool { return r.Header.Get("Mcp-Protocol-Version") == "2026-07-28" }

// refuse answers with a JSON-RPC error, which has the id of the request.
func refuse(w http.ResponseWriter, r *http.Request, code int, message, data string) {
	var head struct {
		ID json.RawMessage `json:"id"`
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || json.Unmarshal(body, &head) != nil || len(head.ID) == 0 {
		head.ID = json.RawMessage("null")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":%s}}`, head.ID, code, message, data)
}

func proxy(target string, before func(http.ResponseWriter, *http.Request) bool) (*Proxy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy, transport.DisableCompression, transport.MaxIdleConnsPerHost = nil, true, 64
	hop := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.URL.Path, r.Out.URL.RawPath = to.Scheme, to.Host, to.Path, ""
			r.Out.Host = r.In.Host
		},
	}
	p := &Proxy{URL: "http://" + l.Addr().String() + to.Path}
	p.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !before(w, r) {
			return
		}
		// The body is read to its end first. Were it still being passed on when the answer
		// begins, the server would close it, and the transport would cut the answer.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		hop.ServeHTTP(w, r)
	})}
	go func() {
		if err := p.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Printf("the proxy to %s ended: %v", target, err)
		}
		transport.CloseIdleConnections()
	}()
	return p, nil
}
