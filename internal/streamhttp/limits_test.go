package streamhttp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

func TestSlowReaderIsGivenUp(t *testing.T) {
	ended := make(chan error, 1)
	r := newRig(t, func(o *HandlerOptions) {
		o.WriteTimeout, o.Queue = 50*time.Millisecond, 1<<20
		o.Serve = func(ctx context.Context, x *Exchange) {
			frame := mcp.NewNotification("notifications/message", []byte(`{"data":"`+strings.Repeat("x", 512<<10)+`"}`))
			for {
				if err := x.Send(frame); err != nil {
					ended <- err
					return
				}
			}
		}
	})
	conn := dial(t, r)
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	body, _ := modern(1, "a", "")
	send(t, conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nAccept: */*\r\nContent-Type: application/json\r\n"+
		"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: a\r\nContent-Length: "+itoa(len(body))+"\r\n\r\n"+body)
	if err := <-ended; !errors.Is(err, ErrGone) && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	drained(t, r)
}

func TestSlowBodyIsGivenUp(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.BodyTimeout = 50 * time.Millisecond })
	conn := dial(t, r)
	send(t, conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	if status, resp := readHead(t, conn); status != http.StatusRequestTimeout || !resp.Close {
		t.Error(status, resp.Header)
	}
}

func TestRefusedBodyIsNotWaitedFor(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.BodyTimeout = 50 * time.Millisecond })
	conn := dial(t, r)
	send(t, conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	rest, err := io.ReadAll(conn) // to the end of the connection
	if err != nil || !strings.HasPrefix(string(rest), "HTTP/1.1 401 ") {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestAllBodiesAreBounded(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.AllBodies = 4000 })
	large, headers := modern(1, "test/hold", `"x":"`+strings.Repeat("y", 3000)+`"`)
	held := make(chan string, 1)
	go func() { held <- text(t, r.do(http.MethodPost, large, headers...)) }()
	<-r.started
	resp := r.do(http.MethodPost, large, headers...)
	if text(t, resp); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Error(resp.StatusCode)
	}
	small, headers := modern(1, "echo", "")
	resp = r.do(http.MethodPost, small, headers...)
	if text(t, resp); resp.StatusCode != 200 {
		t.Error("a small one:", resp.StatusCode)
	}
	close(r.free)
	<-held
	waitFor(t, func() bool { return r.handler.bodies.Load() == 0 })
}

func TestHalfClosedConnection(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.StreamAfter = time.Hour })
	conn := dial(t, r)
	body, _ := modern(1, "test/hold", "")
	send(t, conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nContent-Type: application/json\r\n"+
		"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: test/hold\r\nContent-Length: "+itoa(len(body))+"\r\n\r\n"+body)
	<-r.started
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := <-r.ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	drained(t, r)
}

func itoa(n int) string { return mcp.IntID(int64(n)).Raw() }

func TestDeadlinesDoNotOutliveTheirRequest(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.WriteTimeout, o.StreamAfter = 20*time.Millisecond, time.Hour })
	body, headers := modern(1, "test/hold", "")
	resp := r.do(http.MethodPost, body, append(headers, "Mcp-Method", "test/x")...) // a refusal, with a deadline
	text(t, resp)
	late := time.AfterFunc(200*time.Millisecond, func() { r.free <- struct{}{} }) // far beyond that deadline
	defer late.Stop()
	resp = r.do(http.MethodPost, body, headers...)
	if got := text(t, resp); !strings.Contains(got, `"held":true`) {
		t.Error(got)
	}
}

func TestHTTP2(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.StreamAfter, o.WriteTimeout = time.Millisecond, 100*time.Millisecond })
	srv := httptest.NewUnstartedServer(r.handler)
	srv.Config = NewServer(r.handler, nil)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	r.server.URL, r.client = srv.URL, srv.Client()
	defer r.client.CloseIdleConnections()
	session := r.begin("2025-11-25")
	resp := r.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"test/stream"}`, "Mcp-Session-Id", session)
	data, _ := allEvents(t, resp.Body)
	if resp.ProtoMajor != 2 || len(data) != 4 {
		t.Errorf("%s %q", resp.Proto, data)
	}
	// The deadline of a write must not reset a stream that is only waiting.
	late := time.AfterFunc(300*time.Millisecond, func() { r.free <- struct{}{} })
	defer late.Stop()
	body, headers := modern(1, "test/hold", "")
	resp = r.do(http.MethodPost, body, headers...)
	if data, _ := allEvents(t, resp.Body); len(data) != 1 || !strings.Contains(data[0], `"held":true`) {
		t.Errorf("%q", data)
	}
	// And a disconnect is the reset of one stream.
	ctx, cancel := context.WithCancel(t.Context())
	resp = r.doContext(ctx, http.MethodPost, body, headers...)
	for len(r.started) > 0 {
		<-r.started
	}
	cancel()
	resp.Body.Close()
	if err := <-r.ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if v := resp.TLS.Version; v < tls.VersionTLS12 {
		t.Error(v)
	}
}

func TestDrain(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.StreamAfter = time.Hour })
	session := r.begin("2025-11-25")
	own := r.do(http.MethodGet, "", "Mcp-Session-Id", session)
	answers := make(chan string, 8)
	for i := range 8 {
		method := []string{"test/hold", "test/streamhold"}[i%2]
		body, headers := modern(i, method, "")
		if i < 4 {
			body, headers = `{"jsonrpc":"2.0","id":`+itoa(i)+`,"method":"`+method+`"}`, []string{"Mcp-Session-Id", session}
		}
		go func() {
			resp, err := r.try(context.Background(), http.MethodPost, body, headers...)
			if err != nil {
				answers <- err.Error()
				return
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			answers <- string(b)
		}()
		<-r.started
	}
	drained := make(chan error)
	go func() { drained <- r.handler.Drain(t.Context()) }()
	<-r.handler.Draining()
	resp := r.do(http.MethodPost, `{"jsonrpc":"2.0","id":99,"method":"echo"}`, "Mcp-Session-Id", session)
	if got := text(t, resp); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(got, `"id":99`) || resp.Header.Get("Retry-After") == "" {
		t.Error("while draining:", resp.StatusCode, got)
	}
	resp = r.do(http.MethodPost, `{"jsonrpc":"2.0","id":5,"result":{}}`, "Mcp-Session-Id", session)
	if text(t, resp); resp.StatusCode != 202 {
		t.Error("an answer to a call that is open:", resp.StatusCode)
	}
	close(r.free)
	for range 8 {
		if got := <-answers; !strings.Contains(got, `"held":true`) {
			t.Errorf("an answer is lost: %q", got)
		}
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if rest := text(t, own); strings.Contains(rest, "data") { // it has ended
		t.Error(rest)
	}
	if err := r.handler.Drain(t.Context()); err == nil {
		t.Error("drained twice")
	}
}

func TestDrainWithoutTime(t *testing.T) {
	r := newRig(t, func(o *HandlerOptions) { o.StreamAfter = time.Hour })
	body, headers := modern(1, "test/hold", "")
	answer := make(chan string, 1)
	go func() { answer <- text(t, r.do(http.MethodPost, body, headers...)) }()
	<-r.started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.handler.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-r.ended
	if got := <-answer; !strings.Contains(got, `"held":true`) {
		t.Error(got)
	}
}
