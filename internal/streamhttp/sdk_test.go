package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// bridge puts a Handler and Clients back to back, as the gateway does, without a decision
// in between: the official SDK's client on the one side, its server on the other.
type bridge struct {
	t      *testing.T
	target string

	mu      sync.Mutex
	clients map[*Session]*Client
	shared  *Client
	running sync.WaitGroup
}

func newBridge(t *testing.T, target string) (*bridge, *rig) {
	b := &bridge{t: t, target: target, clients: map[*Session]*Client{}}
	b.shared = newTestClient(t, target, nil)
	r := newRig(t, func(o *HandlerOptions) { o.Serve = b.serve })
	t.Cleanup(b.running.Wait)
	return b, r
}

func (b *bridge) client(s *Session) *Client {
	if s == nil {
		return b.shared
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.clients[s]
	if c == nil {
		c = newTestClient(b.t, b.target, nil)
		b.clients[s] = c
		b.running.Add(1)
		context.AfterFunc(s.Context(), func() {
			defer b.running.Done()
			_ = c.Close(context.Background())
		})
	}
	return c
}

func (b *bridge) serve(ctx context.Context, x *Exchange) {
	m, c := x.Message, b.client(x.Session)
	if m.Kind != mcp.Request {
		if err := c.Send(ctx, m.Raw); err != nil {
			b.t.Errorf("%s: %v", m.Raw, err)
		}
		if m.Method == "notifications/initialized" && x.Session != nil {
			b.running.Go(func() {
				err := c.Listen(x.Session.Context(), func(m mcp.Message) error { return x.Session.Send(m.Raw) })
				if !errors.Is(err, ErrNoStream) && !errors.Is(err, context.Canceled) && !errors.Is(err, ErrClosed) {
					b.t.Error("Listen:", err)
				}
			})
		}
		return
	}
	params := map[string]string{}
	for name := range x.Header {
		if p, ok := strings.CutPrefix(name, headerParamPrefix); ok {
			params[p], _ = DecodeValue(x.Header.Get(name))
		}
	}
	answer, err := c.Do(ctx, m.Raw, params, func(m mcp.Message) error { return x.Send(m.Raw) })
	if err != nil {
		_ = x.Reply(mcp.ErrorResponse(m.ID, mcp.CodeInternal, err.Error(), nil))
		return
	}
	if m.Method == "initialize" {
		found, _ := mcp.Fields(answer.Result, "protocolVersion")
		version, _ := mcp.Str(found[0])
		c.SetVersion(version)
	}
	status := http.StatusOK
	if code, _ := mcp.Fields(answer.Error, "code"); answer.Error != nil && stateless(x.Version) && string(code[0]) == "-32601" {
		status = http.StatusNotFound
	}
	_ = x.ReplyStatus(status, answer.Raw)
}

type (
	textIn  struct{ Text string }
	placeIn struct {
		City string `json:"city" jsonschema:"where"`
	}
)

// sdkServer has a tool for each thing that a transport can get wrong.
func sdkServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "sdk", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in textIn) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "ticks"}, func(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		for i := range 5 {
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
	sdk.AddTool(s, &sdk.Tool{Name: "polled"}, func(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		if req.Extra != nil && req.Extra.CloseSSEStream != nil { // come back in a while
			req.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: time.Millisecond})
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "late"}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "grow"}, func(_ context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "grown"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		})
		return &sdk.CallToolResult{}, nil, nil
	})
	s.AddTool(&sdk.Tool{Name: "region", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string", "x-mcp-header": "City"}}}},
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: req.Extra.Header.Get("Mcp-Param-City")}}}, nil
		})
	return s
}

type withToken struct{ http.RoundTripper }

func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer ann")
	return t.RoundTripper.RoundTrip(r)
}

func TestOfficialSDKOnBothEnds(t *testing.T) {
	for _, c := range []struct {
		name, version string
		options       sdk.StreamableHTTPOptions
		sse           bool
	}{
		{"2026-07-28", "2026-07-28", sdk.StreamableHTTPOptions{Stateless: true}, false},
		{"2026-07-28 JSON", "2026-07-28", sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true}, false},
		{"2025-11-25", "2025-11-25", sdk.StreamableHTTPOptions{}, false},
		{"2025-11-25 resumable", "2025-11-25", sdk.StreamableHTTPOptions{EventStore: sdk.NewMemoryEventStore(nil)}, false},
		{"2025-06-18", "2025-06-18", sdk.StreamableHTTPOptions{}, false},
		{"2025-06-18 stateless", "2025-06-18", sdk.StreamableHTTPOptions{Stateless: true}, false},
		{"2025-03-26 JSON", "2025-03-26", sdk.StreamableHTTPOptions{JSONResponse: true}, false},
		{"2024-11-05 HTTP+SSE", "2024-11-05", sdk.StreamableHTTPOptions{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := sdkServer()
			var handler http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &c.options)
			if c.sse {
				handler = sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil)
			}
			origin := httptest.NewServer(handler)
			t.Cleanup(func() {
				origin.CloseClientConnections()
				origin.Close()
				for s := range server.Sessions() { // those that nobody ended
					_ = s.Close()
				}
			})
			_, r := newBridge(t, origin.URL+"/mcp")

			ticks, grown := make(chan float64, 100), make(chan struct{}, 100)
			client := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, &sdk.ClientOptions{
				ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					return &sdk.ElicitResult{Action: "accept"}, nil
				},
				ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) { ticks <- req.Params.Progress },
				ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { grown <- struct{}{} },
			})
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
				Endpoint: r.server.URL + "/mcp", HTTPClient: &http.Client{Transport: withToken{transport}},
			}, &sdk.ClientSessionOptions{ProtocolVersion: c.version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if got := session.InitializeResult().ProtocolVersion; got != c.version {
				t.Fatal("negotiated", got)
			}
			modern := stateless(c.version)
			callTool := func(name string, args any) string {
				t.Helper()
				p := &sdk.CallToolParams{Name: name, Arguments: args}
				p.SetProgressToken("p-" + name)
				res, err := session.CallTool(t.Context(), p)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if res.IsError {
					t.Fatalf("%s: %v", name, res.Content[0])
				}
				if len(res.Content) == 0 {
					return ""
				}
				return res.Content[0].(*sdk.TextContent).Text
			}
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 6 {
				t.Fatal(tools, err)
			}
			if got := callTool("echo", textIn{"line\nline\u2028 ä"}); got != "line\nline\u2028 ä" {
				t.Error(got)
			}
			large := strings.Repeat("0123456789abcdef", 1<<16)
			if got := callTool("echo", textIn{large}); got != large {
				t.Error("1 MiB came back as", len(got), "bytes")
			}
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					if got := callTool("echo", textIn{fmt.Sprint(i)}); got != fmt.Sprint(i) {
						t.Error(got)
					}
				})
			}
			wg.Wait()
			if !c.options.JSONResponse && !c.options.Stateless || modern && !c.options.JSONResponse {
				callTool("ticks", nil)
				for i := range 5 {
					if got := <-ticks; got != float64(i) {
						t.Error("progress", got, "in place of", i)
					}
				}
			}
			if !modern && !c.options.Stateless && !c.options.JSONResponse && c.version >= mcp.V20250618 {
				if got := callTool("ask", nil); got != "accept" {
					t.Error(got)
				}
			}
			if c.options.EventStore != nil {
				if got := callTool("polled", nil); got != "late" {
					t.Error(got)
				}
			}
			if modern {
				if got := callTool("region", placeIn{"Zürich"}); got != EncodeValue("Zürich") {
					t.Error(got)
				}
			}
			if !c.options.Stateless || modern {
				callTool("grow", nil)
				<-grown
			}
			if err := session.Close(); err != nil {
				t.Error("Close:", err)
			}
		})
	}
}
