package ownserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Bounds.
const (
	MaxMessage = 1 << 20          // bytes of one message
	MaxAnswer  = 64 << 10         // bytes of one answer
	MaxTime    = 20 * time.Second // one call, without the time it waits for others

	maxDepth = 100 // of arguments
	maxOpen  = 16  // requests that are not answered yet
	maxError = 4000
)

// Options of [Serve].
type Options struct {
	Version      string // of this program
	Instructions string // shown to the client's model
	Tools        []Tool
	In           io.Reader
	Out          io.Writer
}

// Serve answers one client until its input ends. Calls that are open then are still
// answered. An error is one of reading or writing.
func Serve(ctx context.Context, opt Options) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "sallyport", Version: opt.Version}, &mcp.ServerOptions{
		Instructions: opt.Instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // the list never changes
		Logger:       slog.New(slog.DiscardHandler),
	})
	one := make(chan struct{}, 1)
	closed := false
	for i := range opt.Tools {
		t := &opt.Tools[i]
		s.AddTool(&mcp.Tool{
			Name: t.Name, Description: t.About, InputSchema: t.schema(),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &closed, OpenWorldHint: &closed},
		}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			select {
			case one <- struct{}{}:
				defer func() { <-one }()
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			text, err := t.answer(ctx, req.Params.Arguments)
			if err != nil {
				text = quote.Text(err.Error(), maxError)
			}
			return &mcp.CallToolResult{IsError: err != nil, Content: []mcp.Content{&mcp.TextContent{Text: cut(text, MaxAnswer)}}}, nil
		})
	}
	err := s.Run(ctx, &transport{newConn(opt.In, opt.Out)})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// answer asks one question. A defect in what answers it is an error of this call alone.
func (t *Tool) answer(ctx context.Context, raw []byte) (text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, MaxTime)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			text, err = "", fmt.Errorf("this is a defect of sallyport: %v", p)
		}
	}()
	args, err := t.read(raw)
	if err != nil {
		return "", err
	}
	return t.Answer(ctx, args)
}

// cut keeps about max bytes of s and says how many are left out.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	n := max
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s\n… (+%d bytes)\n", s[:n], len(s)-n)
}
