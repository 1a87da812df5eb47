package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// none is the arguments of a tool that takes none.
type none struct{}

// Serve runs the MCP server of a story on stdin and stdout until the client leaves. Its
// state is in dir, which [Run] has filled. It judges nothing: whoever calls it may do
// all it can do, except to leave dir.
func Serve(ctx context.Context, name, dir string) error {
	s, err := find(name)
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if made, err := exists(filepath.Join(abs, s.state)); err != nil || !made {
		return fmt.Errorf("not a directory that the demo made: %s", abs)
	}
	return s.server(abs).Run(ctx, &mcp.StdioTransport{})
}

// find is the story of a name.
func find(name string) (story, error) {
	all := stories()
	i := slices.IndexFunc(all, func(s story) bool { return s.name == name })
	if i < 0 {
		return story{}, fmt.Errorf("no story %q", name)
	}
	return all[i], nil
}

func newServer(name string) *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
}

// changing is held while a tool runs: a server's state is a few files.
var changing sync.Mutex

// add registers a tool whose answer is one text.
func add[In any](s *mcp.Server, name, what string, do func(In) (string, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: what},
		func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			changing.Lock()
			defer changing.Unlock()
			text, err := do(in)
			if err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
}
