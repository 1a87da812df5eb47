package upstream

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// The reason for a cancellation is told to the server, if the client gave one that is a text
// of some length.
func TestTheReasonForACancellation(t *testing.T) {
	for _, c := range []struct {
		reason, want string
	}{
		{``, `{"requestId":5}`},
		{`"the user said \u0073top"`, `{"requestId":5,"reason":"the user said \u0073top"}`},
		{`{"a":1}`, `{"requestId":5}`},
		{`"` + strings.Repeat("x", maxReason) + `"`, `{"requestId":5}`},
	} {
		notes := newInbox()
		s, _ := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			m, _ := mcp.Parse(body)
			switch m.Method {
			case "initialize":
				w.Header().Set("Content-Type", "application/json")
				_, text := initialized(m)
				_, _ = io.WriteString(w, text)
			case "test/hold":
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			default:
				notes.put(m)
				w.WriteHeader(http.StatusAccepted)
			}
		}), nil)
		conn := open(t, s, onlyHandshake, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		var reason []byte
		if c.reason != "" {
			reason = []byte(c.reason)
		}
		if _, err := conn.Do(ctx, req(5, "test/hold", `{}`), func(mcp.Message) { cancel(&Cancelled{reason}) }); err == nil {
			t.Fatal("it was answered")
		}
		if m := notes.next(t); string(m.Params) != c.want {
			t.Errorf("told %s, want %s", m.Params, c.want)
		}
	}
}
