package bridge

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// through is a transport of the official SDK's client that ends at a server of the other era,
// through a bridge.
type through struct {
	t      *testing.T
	server *upstream.Server
	era    upstream.Era // the client's

	conn   upstream.Conn
	in     chan mcp.Message // to the client
	closed chan struct{}
	once   sync.Once
	work   sync.WaitGroup
}

func (c *through) Connect(context.Context) (sdk.Connection, error) { return c, nil }
func (c *through) SessionID() string                               { return "" }

func (c *through) Close() error {
	c.once.Do(func() {
		close(c.closed)
		if c.conn != nil {
			if err := c.conn.Close(context.Background()); err != nil {
				c.t.Error(err)
			}
		}
		c.work.Wait()
	})
	return nil
}

func (c *through) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.in:
		return jsonrpc.DecodeMessage(m.Raw)
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *through) Write(_ context.Context, message jsonrpc.Message) error {
	raw, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	m, perr := mcp.Parse(raw)
	if perr != nil {
		return perr
	}
	if m.Kind != mcp.Request {
		if c.conn == nil {
			return nil
		}
		return c.conn.Send(context.Background(), m)
	}
	if c.conn == nil {
		if err := c.open(m); err != nil {
			return err
		}
	}
	c.work.Go(func() {
		answer, err := c.conn.Do(context.Background(), m, c.push)
		if err == nil {
			c.push(answer)
		}
	})
	return nil
}

func (c *through) push(m mcp.Message) {
	select {
	case c.in <- m:
	case <-c.closed:
	}
}

// open makes the conversation with the first request of the client's.
func (c *through) open(m mcp.Message) error {
	ctx := context.Background()
	var b interface {
		upstream.Conn
		Beside(mcp.Message)
	}
	made := make(chan struct{})
	beside := func(m mcp.Message) { <-made; b.Beside(m) }
	if c.era == upstream.Handshake {
		conn, hello, err := c.server.Open(ctx, upstream.Client{Era: upstream.Stateless, Params: DiscoverParams(m.Params)}, beside)
		if err != nil {
			return err
		}
		if b, _, err = Handshake(conn, hello, Client{Params: m.Params, Beside: c.push}); err != nil {
			return err
		}
	} else {
		conn, hello, err := c.server.Open(ctx, upstream.Client{Era: upstream.Handshake, Params: InitializeParams(at(m.Params, "_meta"))}, beside)
		if err != nil {
			return err
		}
		if b, _, err = Stateless(conn, hello, Client{}); err != nil {
			return err
		}
	}
	close(made)
	c.conn = b
	return nil
}

type in struct{ Text string }

// official is a server of the official SDK that uses what it can use.
func official() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "official", Version: "1"}, &sdk.ServerOptions{
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})
	say := func(format string, a ...any) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, a...)}}}
	}
	form := &sdk.ElicitParams{Message: "who?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}}
	sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
		return say("%s", in.Text), nil, nil
	})
	// ask asks in the way of its client's era.
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		if r.Session.InitializeParams().ProtocolVersion >= mcp.V20260728 {
			if given, ok := r.Params.InputResponses["who"].(*sdk.ElicitResult); ok {
				return say("%s %v, state %s", given.Action, given.Content["name"], r.Params.RequestState), nil, nil
			}
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"who": form}, RequestState: "s/1"}, nil, nil
		}
		for range 2 {
			res, err := r.Session.Elicit(ctx, form)
			if err != nil {
				return nil, nil, err
			}
			if res.Content["name"] != "ana" {
				return say("%s", res.Action), nil, nil
			}
		}
		return say("accept ana, twice"), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "tell"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1}); err != nil {
			return nil, nil, err
		}
		//lint:ignore SA1019 logging is deprecated and goes through all the same
		if err := r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "warning", Data: "careful"}); err != nil {
			return nil, nil, err
		}
		return say("told"), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "touch"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		return say("touched"), nil, s.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: "a:1"})
	})
	sdk.AddTool(s, &sdk.Tool{Name: "grow"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "grown"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return say(""), nil, nil
		})
		return say("grown"), nil, nil
	})
	s.AddResource(&sdk.Resource{URI: "a:1", Name: "one"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "a:1", Text: "text"}}}, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "p"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "hello"}}}}, nil
	})
	return s
}

// again does something until it shows.
func again[T any](shown chan T, f func()) T {
	for {
		f()
		select {
		case v := <-shown:
			return v
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// offer puts v into c if there is room.
func offer[T any](c chan T, v T) {
	select {
	case c <- v:
	default:
	}
}

// The official client and the official server, each in an era that the other side is not
// spoken to in: they do not notice.
func TestOfficialSides(t *testing.T) {
	for _, c := range []struct {
		version string
		era     upstream.Era
		http    sdk.StreamableHTTPOptions
		asked   string
	}{
		{mcp.V20250618, upstream.Handshake, sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}, "accept ana, state s/1"},
		{mcp.V20251125, upstream.Handshake, sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}, "accept ana, state s/1"},
		{mcp.V20260728, upstream.Stateless, sdk.StreamableHTTPOptions{}, "accept ana, twice"},
	} {
		t.Run(c.version, func(t *testing.T) {
			server := official()
			web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &c.http))
			defer web.Close()
			up, err := upstream.New(upstream.Options{Name: "official", URL: web.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := up.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			ctx := t.Context()
			progress, logs, updates, changes := make(chan float64, 8), make(chan any, 8), make(chan string, 1), make(chan bool, 1)
			client := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, &sdk.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					if r.Params.Message != "who?" {
						t.Errorf("asked %+v", r.Params)
					}
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "ana"}}, nil
				},
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress <- r.Params.Progress },
				//lint:ignore SA1019 logging is deprecated and goes through all the same
				LoggingMessageHandler:  func(_ context.Context, r *sdk.LoggingMessageRequest) { logs <- r.Params.Data },
				ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { offer(updates, r.Params.URI) },
				ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { offer(changes, true) },
			})
			session, err := client.Connect(ctx, &through{t: t, server: up, era: c.era, in: make(chan mcp.Message, 64), closed: make(chan struct{})}, &sdk.ClientSessionOptions{ProtocolVersion: c.version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			hello := session.InitializeResult()
			if hello.ProtocolVersion != c.version || hello.ServerInfo.Name != "official" {
				t.Fatalf("%+v", hello)
			}
			call := func(name string, arguments any, meta sdk.Meta) string {
				t.Helper()
				res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: arguments, Meta: meta})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if len(res.Content) != 1 || res.IsError {
					t.Fatalf("%s: %+v", name, res)
				}
				return res.Content[0].(*sdk.TextContent).Text
			}
			want(t, "echo", call("echo", in{"ä\u2028<"}, nil), "ä\u2028<")
			want(t, "ask", call("ask", struct{}{}, nil), c.asked)
			tools, err := session.ListTools(ctx, nil)
			if err != nil || len(tools.Tools) != 5 {
				t.Errorf("%+v, %v", tools, err)
			}
			read, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: "a:1"})
			if err != nil || read.Contents[0].Text != "text" {
				t.Errorf("%+v, %v", read, err)
			}
			if _, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: "a:2"}); err == nil || !strings.Contains(strings.ToLower(err.Error()), "not found") {
				t.Errorf("%v", err)
			}
			prompt, err := session.GetPrompt(ctx, &sdk.GetPromptParams{Name: "p"})
			if err != nil || len(prompt.Messages) != 1 {
				t.Errorf("%+v, %v", prompt, err)
			}
			meta := sdk.Meta{"progressToken": "t1"}
			if c.era == upstream.Handshake {
				//lint:ignore SA1019 logging is deprecated and goes through all the same
				if err := session.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: "info"}); err != nil {
					t.Error(err)
				}
			} else {
				meta[keyLogLevel] = "info"
			}
			want(t, "tell", call("tell", struct{}{}, meta), "told")
			if p, l := <-progress, <-logs; p != 1 || l != "careful" {
				t.Errorf("%v, %v", p, l)
			}
			if err := session.Subscribe(ctx, &sdk.SubscribeParams{URI: "a:1"}); err != nil {
				t.Error(err)
			}
			// The client does not wait until it listens: what comes before is told to nobody, and the
			// server tells of several changes at once.
			want(t, "updated", again(updates, func() { call("touch", struct{}{}, nil) }), "a:1")
			again(changes, func() { call("grow", struct{}{}, nil) })
			if err := session.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: "a:1"}); err != nil {
				t.Error(err)
			}
		})
	}
}
