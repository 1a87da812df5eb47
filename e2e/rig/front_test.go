package rig

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A server may begin its answer as soon as it has the request: a proxy that then cuts it looks
// like a fault of the gateway.
func TestAnswersThatBeginAtOnceComeWhole(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{": hello\n\n", "data: answer\n\n"} {
			io.WriteString(w, event) //nolint:errcheck // the client would miss it
			http.NewResponseController(w).Flush()
			time.Sleep(100 * time.Microsecond) // the cut is seen only by an answer that takes a moment
		}
	}))
	defer server.Close()
	front, err := Front(server.URL, "secret")
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	client := &http.Client{Transport: &http.Transport{}}
	for i := range 500 {
		r, err := client.Post(front.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data:") {
		}
		if lines.Text() != "data: answer" {
			t.Fatalf("%d: the answer did not come: %v", i, lines.Err())
		}
		r.Body.Close()
	}
}
