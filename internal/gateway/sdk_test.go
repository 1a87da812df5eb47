package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// bearer adds a token to what the official client sends.
type bearer struct {
	http.RoundTripper
	name string
}

func (b bearer) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.Header.Set("Authorization", "Bearer "+b.name)
	return b.RoundTripper.RoundTrip(q)
}

// The official client over HTTP, in front of the official server as a child and over HTTP.
func TestOfficialClientAndServers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	remote := sdkServer("remote")
	there := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return remote }, nil))
	defer there.Close()
	r := &rig{t: t, log: new(logged)}
	log := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	child, err := upstream.New(upstream.Options{Name: "child", Command: self, Env: append(os.Environ(), role+"=server"), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	far, err := upstream.New(upstream.Options{Name: "remote", URL: there.URL, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		ups    []Upstream
		tools  []string
		look   string
		prefix string
	}{
		{"one child", []Upstream{{Name: "child", Server: child}}, []string{"ask", "look"}, "look", ""},
		{"two", []Upstream{{Name: "child", Server: child}, {Name: "remote", Server: far}}, []string{"child__ask", "child__look", "remote__ask", "remote__look"}, "child__look", "child__"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := New(Options{Upstreams: c.ups, Log: log})
			if err != nil {
				t.Fatal(err)
			}
			r.Gateway = g
			s := r.overHTTP(newCaller(t, "ann", everything, nil))
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			defer func() {
				if t.Failed() {
					t.Log(r.log.String())
				}
			}()
			progress := make(chan string, 10)
			client := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, &sdk.ClientOptions{
				ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "ann"}}, nil
				},
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress <- r.Params.Message },
			})
			session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: &http.Client{Transport: bearer{http.DefaultTransport, "ann"}}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			list, err := session.ListTools(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			if !slices.Equal(names, c.tools) {
				t.Errorf("got %v", names)
			}
			params := &sdk.CallToolParams{Name: c.look, Arguments: map[string]any{"name": "ann"}}
			params.SetProgressToken("t")
			got, err := session.CallTool(ctx, params)
			if err != nil {
				t.Fatal(err)
			}
			if text := got.Content[0].(*sdk.TextContent).Text; text != "child greets ann" {
				t.Errorf("got %s", text)
			}
			if text := <-progress; text != "child" {
				t.Errorf("got progress %s", text)
			}
			if got, err = session.CallTool(ctx, &sdk.CallToolParams{Name: c.prefix + "ask"}); err != nil {
				t.Fatal(err)
			}
			if text := got.Content[0].(*sdk.TextContent).Text; text != "ann" {
				t.Errorf("got %s", text)
			}
			for _, u := range c.ups {
				read, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: u.Name + "://t/5"})
				if err != nil {
					t.Fatal(err)
				}
				if text := read.Contents[0].Text; text != "template of "+u.Name {
					t.Errorf("got %s", text)
				}
			}
			prompt, err := session.GetPrompt(ctx, &sdk.GetPromptParams{Name: c.prefix + "p"})
			if err != nil {
				t.Fatal(err)
			}
			if prompt.Description != "of child" {
				t.Errorf("got %s", prompt.Description)
			}
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		t.Error(err)
	}
}
