package cli

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// Bounds on what a server that is only looked at may send.
const (
	maxListPages  = 200
	maxListBytes  = 32 << 20 // of all pages together, and of one message
	maxListRuns   = 5        // of a list that changes while it is read
	maxServerSaid = 64 << 10 // bytes of its standard error that are shown
	listSettles   = time.Second
)

// listedServer is what a running server says of itself and lists.
type listedServer struct {
	name, version string // its own words: escape before showing
	tools         []contract.Tool
}

// listServer starts a server as wrap does, asks it for its tools as a client that can
// everything, because servers list most tools to those, and ends it. No tool is called.
func listServer(ctx context.Context, command []string, limit time.Duration, stderr io.Writer) (*listedServer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not start and list its tools within %v; --timeout gives it longer", limit))
	defer cancel()
	log := slog.New(slog.NewTextHandler(&clippedWriter{w: stderr, left: maxServerSaid}, nil))
	server, err := upstream.New(upstream.Options{
		Name: serverName(command), Command: command[0], Args: command[1:], Env: serverEnv(os.Environ()),
		StartTimeout: limit, Timeout: limit, MaxMessage: maxListBytes, MaxConns: 1, Log: log,
	})
	if err != nil {
		return nil, err
	}
	defer closeServer(server)
	l := &lister{requests: make(chan mcp.ID, 64), changed: make(chan struct{}, 1)}
	conn, hello, err := server.Open(ctx, upstream.Client{
		Era:       upstream.Handshake,
		Params:    []byte(`{"protocolVersion":"` + mcp.V20251125 + `","capabilities":` + listerCapabilities + `,"clientInfo":` + listerInfo() + `}`),
		Stateless: []byte(`{"_meta":` + listerMeta() + `}`),
	}, l.beside)
	if err != nil {
		return nil, err
	}
	l.conn = conn
	answering, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	wait.Go(func() { l.refuse(answering) })
	return l.run(ctx, hello)
}

// The client that is pretended: one that servers may ask anything, and that refuses.
const listerCapabilities = `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}},` +
	`"tasks":{"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}}`

func listerInfo() string {
	version, err := jsontext.AppendQuote(nil, programVersion())
	if err != nil {
		version = []byte(`"unknown"`)
	}
	return `{"name":"sallyport","version":` + string(version) + `}`
}

func listerMeta() string {
	return `{"io.modelcontextprotocol/protocolVersion":"` + mcp.V20260728 + `","io.modelcontextprotocol/clientInfo":` + listerInfo() +
		`,"io.modelcontextprotocol/clientCapabilities":` + listerCapabilities + `}`
}

// lister is one conversation with a server that is only looked at.
type lister struct {
	conn     upstream.Conn
	requests chan mcp.ID   // of the server's, to be refused
	changed  chan struct{} // holds one if the list changed
}

// beside takes what the server sends by itself. What is too much is dropped: nobody waits.
func (l *lister) beside(m mcp.Message) {
	switch {
	case m.Kind == mcp.Request:
		select {
		case l.requests <- m.ID:
		default:
		}
	case m.Method == "notifications/tools/list_changed":
		select {
		case l.changed <- struct{}{}:
		default:
		}
	}
}

// refuse answers the server's own requests: some wait for that before they go on.
func (l *lister) refuse(ctx context.Context) {
	for {
		select {
		case id := <-l.requests:
			m, bad := mcp.Parse(mcp.ErrorResponse(id, mcp.CodeMethodNotFound, "this client only looks at the tools", nil))
			if bad != nil || l.conn.Send(ctx, m) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func (l *lister) run(ctx context.Context, hello mcp.Message) (*listedServer, error) {
	greeting, err := doc.Parse(hello.Result, doc.Limits{})
	if err != nil {
		return nil, fmt.Errorf("its greeting cannot be read: %w", err)
	}
	s := &listedServer{name: greeting.Get("serverInfo").Get("name").String(), version: greeting.Get("serverInfo").Get("version").String()}
	if l.conn.Era() == upstream.Handshake {
		m, bad := mcp.Parse(mcp.NewNotification("notifications/initialized", nil))
		if bad != nil {
			return nil, bad
		}
		if err := l.conn.Send(ctx, m); err != nil {
			return nil, err
		}
	}
	announces := greeting.Get("capabilities").Get("tools").Get("listChanged").Bool()
	for range maxListRuns {
		if s.tools, err = l.list(ctx); err != nil {
			return nil, err
		}
		if !announces || !l.settled(ctx) {
			return s, nil
		}
	}
	return nil, errors.New("its list of tools changes all the time")
}

// settled waits for a moment: servers register tools late, and say so. It reports whether
// the list has to be read again.
func (l *lister) settled(ctx context.Context) (again bool) {
	t := time.NewTimer(listSettles)
	defer t.Stop()
	select {
	case <-l.changed:
		return true
	case <-t.C:
	case <-ctx.Done():
	case <-l.conn.Done():
	}
	return false
}

// list reads all pages.
func (l *lister) list(ctx context.Context) ([]contract.Tool, error) {
	var tools []contract.Tool
	cursors, size := map[string]bool{}, 0
	cursor := ""
	for page := range maxListPages {
		request, err := l.request(int64(page), cursor)
		if err != nil {
			return nil, err
		}
		answer, err := l.conn.Do(ctx, request, l.beside)
		if err != nil {
			return nil, err
		}
		if answer.Error != nil {
			return nil, errors.New("it answered tools/list with an error")
		}
		if size += len(answer.Raw); size > maxListBytes {
			return nil, fmt.Errorf("its list of tools is larger than %d bytes", maxListBytes)
		}
		result, err := doc.Parse(answer.Result, doc.Limits{})
		if err != nil {
			return nil, fmt.Errorf("its list of tools cannot be read: %w", err)
		}
		if result.Get("tools").Kind() != doc.List {
			return nil, errors.New("its answer to tools/list has no list of tools")
		}
		for _, d := range result.Get("tools").Elements() {
			if len(tools) == maxListedTools {
				return nil, fmt.Errorf("it lists more than %d tools", maxListedTools)
			}
			tools = append(tools, contract.Tool{Name: d.Get("name").String(), Definition: d})
		}
		next := result.Get("nextCursor")
		if cursor = next.String(); next.Kind() != doc.String || cursor == "" {
			return tools, nil
		}
		if cursors[cursor] {
			return nil, errors.New("the pages of its list go round in a circle")
		}
		cursors[cursor] = true
	}
	return nil, fmt.Errorf("its list has more than %d pages", maxListPages)
}

func (l *lister) request(page int64, cursor string) (mcp.Message, error) {
	params := `{`
	if l.conn.Era() == upstream.Stateless {
		params += `"_meta":` + listerMeta()
	}
	if cursor != "" {
		if len(params) > 1 {
			params += ","
		}
		quoted, err := jsontext.AppendQuote(nil, cursor)
		if err != nil {
			return mcp.Message{}, err
		}
		params += `"cursor":` + string(quoted)
	}
	m, bad := mcp.Parse(mcp.NewRequest(mcp.IntID(page+1), "tools/list", []byte(params+`}`)))
	if bad != nil {
		return mcp.Message{}, bad
	}
	return m, nil
}

// clippedWriter passes on so many bytes and swallows the rest.
type clippedWriter struct {
	w    io.Writer
	left int
}

func (c *clippedWriter) Write(p []byte) (int, error) {
	if len(p) > c.left {
		if c.left > 0 {
			_, _ = io.WriteString(c.w, "what the server says beyond this is not shown\n")
		}
		c.left = 0
		return len(p), nil
	}
	c.left -= len(p)
	_, err := c.w.Write(p)
	return len(p), err
}
