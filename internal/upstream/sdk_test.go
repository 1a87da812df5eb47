package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

type textIn struct{ Text string }

// sdkServer is a server of the official SDK.
func sdkServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "sdk", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in textIn) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "ticks"}, func(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		for i := range 3 {
			if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i)}); err != nil {
				return nil, nil, err
			}
		}
		return &sdk.CallToolResult{}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		res, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: "sure?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}})
		if err != nil {
			return nil, nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: res.Action}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "grow"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "grown"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		})
		return &sdk.CallToolResult{}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "hold"}, func(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1})
		<-ctx.Done()
		held <- struct{}{}
		return nil, nil, ctx.Err()
	})
	s.AddTool(&sdk.Tool{Name: "region", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string", "x-mcp-header": "City"}}}},
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "ok"}}}, nil
		})
	return s
}

// held tells that the server's hold was cancelled.
var held = make(chan struct{}, 10)

// The official SDK's server, in each version, over both transports: requests, progress,
// questions, cancellation, and what belongs to no request.
func TestOfficialServer(t *testing.T) {
	serve := func(o sdk.StreamableHTTPOptions) func(*testing.T) *Server {
		return func(t *testing.T) *Server {
			server := sdkServer()
			s, _ := serveHTTP(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &o), nil)
			return s
		}
	}
	sse := func(t *testing.T) *Server {
		server := sdkServer()
		s, _ := serveHTTP(t, sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil), nil)
		return s
	}
	child := func(t *testing.T) *Server { return newFake(t, "sdk", nil) }
	for _, c := range []struct {
		name    string
		server  func(*testing.T) *Server
		version string
	}{
		{"stdio 2024-11-05", child, mcp.V20241105},
		{"stdio 2025-03-26", child, mcp.V20250326},
		{"stdio 2025-06-18", child, mcp.V20250618},
		{"stdio 2025-11-25", child, mcp.V20251125},
		{"stdio 2026-07-28", child, mcp.V20260728},
		{"HTTP+SSE 2024-11-05", sse, mcp.V20241105},
		{"HTTP 2025-03-26", serve(sdk.StreamableHTTPOptions{}), mcp.V20250326},
		{"HTTP 2025-06-18", serve(sdk.StreamableHTTPOptions{}), mcp.V20250618},
		{"HTTP 2025-11-25", serve(sdk.StreamableHTTPOptions{}), mcp.V20251125},
		{"HTTP 2026-07-28", serve(sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}), mcp.V20260728},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.server(t)
			client := Client{Era: Handshake, Params: initParams(c.version), Stateless: discoverParams}
			modern := c.version == mcp.V20260728
			meta := `"progressToken":"t"`
			if modern {
				client = statelessClient
				meta += "," + modernMeta[1:len(modernMeta)-1]
			}
			beside := newInbox()
			conn := open(t, s, client, beside.put)
			if conn.Version() != c.version {
				t.Fatal(conn.Version())
			}
			if !modern {
				if err := conn.Send(t.Context(), parse([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))); err != nil {
					t.Fatal(err)
				}
			}
			id := 0
			call := func(ctx context.Context, tool, arguments string, onMessage func(mcp.Message)) (string, error) {
				id++
				m, err := conn.Do(ctx, req(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s,"_meta":{%s}}`, tool, arguments, meta)), onMessage)
				return string(m.Raw), err
			}
			if got, err := call(t.Context(), "echo", `{"Text":"ä\u2028"}`, nil); err != nil || !strings.Contains(got, "ä\u2028") && !strings.Contains(got, `ä\u2028`) {
				t.Error(got, err)
			}
			own := newInbox()
			if _, err := call(t.Context(), "ticks", `{}`, own.put); err != nil {
				t.Error(err)
			}
			if got := own.methods(); len(got) != 3 {
				t.Error(got)
			}
			if !modern && c.version >= mcp.V20250618 {
				got, err := call(t.Context(), "ask", `{}`, func(m mcp.Message) {
					go func() {
						if err := conn.Send(t.Context(), parse([]byte(`{"jsonrpc":"2.0","id":`+m.ID.Raw()+`,"result":{"action":"decline"}}`))); err != nil {
							t.Error(err)
						}
					}()
				})
				if err != nil || !strings.Contains(got, "decline") {
					t.Error(got, err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			if _, err := call(ctx, "hold", `{}`, func(mcp.Message) { cancel() }); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if !strings.HasPrefix(c.name, "stdio") { // where it is another process
				select {
				case <-held:
				case <-time.After(10 * time.Second):
					t.Error("the server does not know that it was cancelled")
				}
			}
			changed := beside
			var wg sync.WaitGroup
			listening, unlisten := context.WithCancel(t.Context())
			if modern {
				changed = newInbox()
				wg.Go(func() {
					_, err := conn.Do(listening, req(1000, "subscriptions/listen", `{"_meta":`+modernMeta+`,"notifications":{"toolsListChanged":true}}`), changed.put)
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				})
				if m := changed.next(t); m.Method != "notifications/subscriptions/acknowledged" {
					t.Errorf("%s", m.Raw)
				}
			}
			if _, err := call(t.Context(), "grow", `{}`, nil); err != nil {
				t.Error(err)
			}
			for {
				if m := changed.next(t); m.Method == "notifications/tools/list_changed" {
					break
				}
			}
			unlisten()
			wg.Wait()
			if err := conn.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// The SDK's server refuses a call whose Mcp-Param-… is missing: without a list seen, one
// is asked for, and the call made again. With one seen nothing is.
func TestParamHeadersOfficialServer(t *testing.T) {
	server := sdkServer()
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
	var mu sync.Mutex
	var asked []string
	s, _ := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Header.Get("Mcp-Method")+" "+r.Header.Get("Mcp-Param-City"))
		mu.Unlock()
		h.ServeHTTP(w, r)
	}), nil)
	c := open(t, s, statelessClient, nil)
	call := func(id int) string {
		t.Helper()
		mu.Lock()
		asked = nil
		mu.Unlock()
		m := do(t, c, req(id, "tools/call", `{"name":"region","arguments":{"city":"Ulm"},"_meta":`+modernMeta+`}`), nil)
		var got struct {
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal(m.Raw, &got); err != nil || len(got.Result.Content) != 1 || got.Result.Content[0].Text != "ok" {
			t.Errorf("%s", m.Raw)
		}
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(asked, ", ")
	}
	if got, want := call(1), "tools/call , tools/list , tools/call Ulm"; got != want {
		t.Error(got)
	}
	if got, want := call(2), "tools/call Ulm"; got != want {
		t.Error(got)
	}
	c = open(t, s, statelessClient, nil)
	do(t, c, req(1, "tools/list", string(discoverParams)), nil)
	if got, want := call(2), "tools/call Ulm"; got != want {
		t.Error(got)
	}
}
