package streamhttp

import (
	"bufio"
	"net"
	"net/http"
	"testing"
	"time"
)

// dial opens a raw connection to the rig.
func dial(t testing.TB, r *rig) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func send(t testing.TB, conn net.Conn, s string) {
	t.Helper()
	if _, err := conn.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
}

// readHead reads a status and leaves the body to the reader.
func readHead(t testing.TB, conn net.Conn) (status int, resp *http.Response) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp
}
