package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-dev/sallyport/internal/mcp"
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
	one, two := []Upstream{{Name: "child", Server: child}}, []Upstream{{Name: "child", Server: child}, {Name: "remote", Server: far}}
	for _, version := range []string{mcp.V20260728, mcp.V20251125, mcp.V20250618} {
		for _, ups := range [][]Upstream{one, two} {
			t.Run(fmt.Sprintf("%s, %d upstreams", version, len(ups)), func(t *testing.T) {
				g, err := New(Options{Upstreams: ups, Log: log})
				if err != nil {
					t.Fatal(err)
				}
				r.t, r.Gateway = t, g
				s := r.overHTTP(newCaller(t, "ann", everything, nil))
				officialClient(t, s.URL, version, ups)
				if t.Failed() {
					t.Log(r.log.String())
				}
			})
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		t.Error(err)
	}
}

// officialClient uses all that the servers have.
func officialClient(t *testing.T, url, version string, ups []Upstream) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	prefix, want := "", []string{"ask", "look"}
	if len(ups) > 1 {
		prefix, want = "child__", []string{"child__ask", "child__look", "remote__ask", "remote__look"}
	}
	progress := make(chan string, 10)
	client := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "ann"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress <- r.Params.Message },
	})
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer{http.DefaultTransport, "ann"}}}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Errorf("it speaks %s", got)
	}
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, want) {
		t.Errorf("got %v", names)
	}
	params := &sdk.CallToolParams{Name: prefix + "look", Arguments: map[string]any{"name": "ann"}}
	params.SetProgressToken("t")
	got, err := session.CallTool(ctx, params)
	if err != nil {
		t.Fatal(err)
	}
	if text := got.Content[0].(*sdk.TextContent).Text; text != "child greets ann" {
		t.Errorf("got %s", text)
	}
	select {
	case text := <-progress:
		if text != "child" {
			t.Errorf("got progress %s", text)
		}
	case <-ctx.Done():
		t.Error("no progress came")
	}
	if got, err = session.CallTool(ctx, &sdk.CallToolParams{Name: prefix + "ask", Arguments: map[string]any{}}); err != nil {
		t.Fatal(err)
	}
	if text := got.Content[0].(*sdk.TextContent).Text; text != "ann" {
		t.Errorf("got %s", text)
	}
	for _, u := range ups {
		for uri, want := range map[string]string{u.Name + "://t/5": "template of " + u.Name, u.Name + "://one": "of " + u.Name} {
			read, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
			if err != nil {
				t.Fatal(err)
			}
			if text := read.Contents[0].Text; text != want {
				t.Errorf("got %s", text)
			}
		}
	}
	prompt, err := session.GetPrompt(ctx, &sdk.GetPromptParams{Name: prefix + "p"})
	if err != nil {
		t.Fatal(err)
	}
	if prompt.Description != "of child" {
		t.Errorf("got %s", prompt.Description)
	}
}
