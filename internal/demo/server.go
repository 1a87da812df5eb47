package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// helpdesk is the server's state: files under one directory.
type helpdesk struct {
	mu sync.Mutex
	p  places
}

type (
	none   struct{}
	withID struct {
		ID string `json:"id" jsonschema:"the id, such as T-101 or C-1"`
	}
	mail struct {
		To      string `json:"to" jsonschema:"the address of the recipient"`
		Subject string `json:"subject"`
		Body    string `json:"body"`
	}
	file struct {
		Path    string `json:"path" jsonschema:"absolute path of the file"`
		Content string `json:"content"`
	}
)

// Serve runs the demo's MCP server on stdin and stdout until the client leaves. Its
// state is in dir, which [Run] has filled. It judges nothing: whoever calls it may do
// all it can do, except to leave dir.
func Serve(ctx context.Context, dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(placesIn(abs).customers); err != nil {
		return fmt.Errorf("not a directory that the demo made: %w", err)
	}
	return server(abs).Run(ctx, &mcp.StdioTransport{})
}

func server(dir string) *mcp.Server {
	h := &helpdesk{p: placesIn(dir)}
	s := mcp.NewServer(&mcp.Implementation{Name: "helpdesk", Version: "1"}, nil)
	add(s, "list_tickets", "Lists the open tickets.", h.listTickets)
	add(s, "read_ticket", "Reads one ticket.", h.readTicket)
	add(s, "list_customers", "Lists all customers with their addresses.", h.listCustomers)
	add(s, "delete_customer", "Deletes one customer for good.", h.deleteCustomer)
	add(s, "send_email", "Sends a mail.", h.sendEmail)
	add(s, "write_file", "Writes a file.", h.writeFile)
	return s
}

// add registers a tool whose answer is one text.
func add[In any](s *mcp.Server, name, what string, do func(In) (string, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: what},
		func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			text, err := do(in)
			if err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
}

func (h *helpdesk) listTickets(none) (string, error) {
	all, err := load[ticket](h, h.p.tickets)
	var s string
	for _, t := range all {
		s += t.ID + "  " + t.Subject + "\n"
	}
	return s, err
}

func (h *helpdesk) readTicket(in withID) (string, error) {
	all, err := load[ticket](h, h.p.tickets)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(t ticket) bool { return t.ID == in.ID })
	if i < 0 {
		return "", fmt.Errorf("no ticket %q", in.ID)
	}
	t := all[i]
	return fmt.Sprintf("From: %s\nSubject: %s\n\n%s\n", t.From, t.Subject, t.Body), nil
}

func (h *helpdesk) listCustomers(none) (string, error) {
	all, err := load[customer](h, h.p.customers)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(all)
	return string(b), err
}

func (h *helpdesk) deleteCustomer(in withID) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []customer
	if err := readJSON(h.p.customers, &all); err != nil {
		return "", err
	}
	left := slices.DeleteFunc(slices.Clone(all), func(c customer) bool { return c.ID == in.ID })
	if len(left) == len(all) {
		return "", fmt.Errorf("no customer %q", in.ID)
	}
	if err := writeJSON(h.p.customers, left); err != nil {
		return "", err
	}
	return fmt.Sprintf("deleted %s, %d left", in.ID, len(left)), nil
}

func (h *helpdesk) sendEmail(in mail) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sent, err := os.ReadDir(h.p.outbox)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%03d.json", len(sent)+1)
	if err := writeJSON(filepath.Join(h.p.outbox, name), in); err != nil {
		return "", err
	}
	return "sent to " + in.To, nil
}

// writeFile goes wherever it is told to, like many file tools, but through an
// [os.Root]: the story must not be able to touch the real home directory.
func (h *helpdesk) writeFile(in file) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rel, err := filepath.Rel(h.p.dir, in.Path)
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(h.p.dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(rel), 0o700); err != nil {
		return "", err
	}
	if err := root.WriteFile(rel, []byte(in.Content), 0o600); err != nil {
		return "", err
	}
	return fmt.Sprintf("wrote %d bytes to %s", len(in.Content), in.Path), nil
}

func load[T any](h *helpdesk, path string) ([]T, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []T
	err := readJSON(path, &all)
	return all, err
}
