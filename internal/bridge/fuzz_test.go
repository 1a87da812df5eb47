package bridge

import (
	"context"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// Whatever a server answers or asks, a client gets one answer to its request that can be
// read, or none and an error.
func FuzzServer(f *testing.F) {
	for _, frame := range []string{
		result(1, `{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"s"}`),
		result(1, `{"resultType":"complete","tools":[{"outputSchema":[]}],"structuredContent":[],"_meta":3}`),
		result(1, `{"content":[{"type":"text"}]}`), result(1, `null`), result(1, `[]`),
		`{"jsonrpc":"2.0","id":1,"error":` + pagesWanted + `}`,
		`{"jsonrpc":"2.0","id":1,"error":` + needTasks + `}`,
		`{"jsonrpc":"2.0","id":1,` + formQuestion + `}`,
		note("notifications/resources/updated", `{"uri":"a:1","_meta":[]}`),
		note("notifications/cancelled", `{"requestId":[]}`),
		note("notifications/message", `{"level":7}`), note("notifications/progress", `[]`),
	} {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		sent, perr := mcp.Parse(frame)
		if perr != nil {
			return
		}
		for _, era := range []upstream.Era{upstream.Handshake, upstream.Stateless} {
			s := newServer(t, era, mcp.V20250618, func(_ context.Context, m mcp.Message, tell func(string)) (string, error) {
				if sent.Kind != mcp.Response {
					tell(string(frame))
					return answer(m, `{"contents":[]}`)
				}
				return string(frame), nil
			})
			hello := parse(t, result(0, `{"supportedVersions":["2026-07-28"],"capabilities":{"tasks":{"requests":{"tools":{"call":{}}}}}}`))
			var conn interface {
				upstream.Conn
				Beside(mcp.Message)
			}
			var err error
			if era == upstream.Handshake {
				conn, _, err = Stateless(s, hello, Client{})
			} else {
				conn, _, err = Handshake(s, hello, Client{Params: []byte(initParams), Version: mcp.V20250618})
			}
			if err != nil {
				t.Fatal(err)
			}
			if sent.Kind != mcp.Response {
				conn.Beside(sent)
			}
			request := parse(t, req(5, "tools/call", `{"name":"x","_meta":`+modern("")+`}`))
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			m, err := conn.Do(ctx, request, func(mcp.Message) {})
			cancel()
			if err == nil {
				if again, perr := mcp.Parse(m.Raw); perr != nil || again.ID.Raw() != "5" {
					// An error without an id is what a server may answer with.
					if m.Error == nil || !again.ID.IsZero() {
						t.Errorf("%s", m.Raw)
					}
				}
				if adapted, err := ForClient(m, mcp.V20260728, mcp.V20250618); err == nil {
					if _, perr := mcp.Parse(adapted.Raw); perr != nil {
						t.Errorf("%s", adapted.Raw)
					}
				}
			}
			_ = conn.Close(context.Background())
		}
		for _, version := range handshakeVersions {
			if adapted, err := ForClient(sent, mcp.V20260728, version); err == nil {
				if _, perr := mcp.Parse(adapted.Raw); perr != nil {
					t.Errorf("%s", adapted.Raw)
				}
			}
		}
	})
}
