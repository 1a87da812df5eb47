package gateway

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/sallyport-dev/sallyport/internal/stdio"
)

// role makes this test's program play a server on stdio.
const role = "SALLYPORT_TEST_ROLE"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__guard" {
		os.Exit(stdio.RunGuard(os.Args[2:]))
	}
	if os.Getenv(role) != "" {
		if err := sdkServer("child").Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

type greetIn struct {
	Name string `json:"name"`
}

// sdkServer is a server that no one here wrote.
func sdkServer(name string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "look", Description: "Says hello."}, func(ctx context.Context, r *sdk.CallToolRequest, in greetIn) (*sdk.CallToolResult, any, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: 1, Message: name})
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name + " greets " + in.Name}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "ask", Description: "Asks who is there."}, func(ctx context.Context, r *sdk.CallToolRequest, _ any) (*sdk.CallToolResult, any, error) {
		question := &sdk.ElicitParams{Message: "who is there?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}}
		if answer, ok := r.Params.InputResponses["who"].(*sdk.ElicitResult); ok {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(answer.Content["name"])}}}, nil, nil
		}
		got, err := r.Session.Elicit(ctx, question)
		if err != nil && strings.Contains(err.Error(), "multi round-trip") {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"who": question}, RequestState: "s"}, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(got.Content["name"])}}}, nil, nil
	})
	s.AddResource(&sdk.Resource{URI: name + "://one", Name: "one"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "of " + name}}}, nil
	})
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: name + "://t/{x}", Name: "t"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "template of " + name}}}, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "p"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Description: "of " + name}, nil
	})
	return s
}
