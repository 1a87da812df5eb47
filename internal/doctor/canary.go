package doctor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Probe is what came of starting an entry.
type Probe struct {
	Server, Version string // as it names itself; hostile text
	Tools           int
	// Canary is the name of the tool that was called: nobody else can have made a record
	// of it. Refused says that the answer was a refusal with Sallyport's decision in it.
	// That the log has the record is for the caller to look: a server could claim as much.
	Canary  string
	Refused bool
	Answer  string // what came instead of a refusal; hostile text, bounded
}

// Find is the file that a command's name leads to, as a client would look for it.
func Find(name string) (string, error) { return exec.LookPath(name) }

// decisionMember is where a refusal carries its decision as data.
const decisionMember = "io.sallyport/decision"

const (
	maxPages  = 100
	maxAnswer = 500 // bytes
)

// ownCapability is no client's: what a server lists to doctor is pinned beside what it
// lists to clients, and is not taken for their use of it.
const ownCapability = "io.sallyport/doctor"

// Capabilities are the objects of capabilities that [Try] may declare, as JSON: a request of
// 2026-07-28 has an empty member beside what initialize has.
func Capabilities() []string {
	const own = `"experimental":{"` + ownCapability + `":{}}`
	return []string{"{" + own + "}", "{" + own + `,"roots":{}}`}
}

// Try starts a command, as this process would and with its variables, asks it for its tools,
// and calls one that it cannot have. The process is
// ended before it returns. ctx bounds all of it; stderr is the last that the process said
// there, at most 2 KiB, hostile text.
func Try(ctx context.Context, command []string) (p Probe, stderr string, err error) {
	var name [8]byte
	rand.Read(name[:]) // does not fail
	p.Canary = "sallyport_doctor_" + hex.EncodeToString(name[:])

	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = 2 * time.Second
	said := &lastWords{}
	cmd.Stderr = said
	defer func() { stderr = said.String() }()

	client := mcp.NewClient(&mcp.Implementation{Name: "sallyport-doctor", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Experimental: map[string]any{ownCapability: map[string]any{}}},
	})
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return p, "", fmt.Errorf("it does not start: %w", err)
	}
	defer session.Close()
	if r := session.InitializeResult(); r != nil && r.ServerInfo != nil {
		p.Server, p.Version = r.ServerInfo.Name, r.ServerInfo.Version
	}
	var cursor string
	for range maxPages {
		page, err := session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return p, "", fmt.Errorf("it does not list its tools: %w", err)
		}
		p.Tools += len(page.Tools)
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: p.Canary, Arguments: map[string]any{}})
	switch {
	case err != nil && ctx.Err() != nil:
		return p, "", errors.New("it does not answer")
	case err != nil:
		p.Answer = cut(err.Error())
	default:
		decision, _ := res.Meta[decisionMember].(map[string]any)
		p.Refused = res.IsError && decision["verdict"] == "deny"
		for _, c := range res.Content {
			if t, ok := c.(*mcp.TextContent); ok && p.Answer == "" {
				p.Answer = cut(t.Text)
			}
		}
	}
	return p, "", nil
}

func cut(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxAnswer)], "") }

// lastWords keeps the end of what is written to it. The command that writes to it is waited
// for before it is read.
type lastWords struct{ b []byte }

const maxWords = 2 << 10

func (w *lastWords) Write(p []byte) (int, error) {
	w.b = append(w.b, p[max(0, len(p)-maxWords):]...)
	w.b = w.b[max(0, len(w.b)-maxWords):]
	return len(p), nil
}

func (w *lastWords) String() string { return strings.ToValidUTF8(string(w.b), "") }
