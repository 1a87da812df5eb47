package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkServerArg makes the test binary a server built with the official Go SDK, which
// speaks 2026-07-28 over stdio beside the older versions.
const sdkServerArg = "__sdk-server"

type (
	place   struct{ City string }
	weather struct {
		City    string  `json:"city"`
		Degrees float64 `json:"degrees"`
	}
	note struct{ Path, Text string }
)

func runSDKServer() int {
	if err := newSDKServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func newSDKServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk-server", Version: "1"}, &mcp.ServerOptions{Instructions: "Be kind."})
	mcp.AddTool(s, &mcp.Tool{Name: "weather", Description: "Tells the weather."},
		func(_ context.Context, _ *mcp.CallToolRequest, in place) (*mcp.CallToolResult, weather, error) {
			return nil, weather{City: in.City, Degrees: 21.5}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "broken", Description: "Fails."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, fmt.Errorf("it does not work")
		})
	mcp.AddTool(s, &mcp.Tool{Name: "save_note", Description: "Writes a file."},
		func(_ context.Context, _ *mcp.CallToolRequest, in note) (*mcp.CallToolResult, any, error) {
			return nil, nil, os.WriteFile(in.Path, []byte(in.Text), 0o600)
		})
	s.AddResource(&mcp.Resource{URI: "memo://one", Name: "one", MIMEType: "text/plain"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "first memo"}}}, nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Say hello."}}}}, nil
	})
	return s
}

func sdkServer(t testing.TB) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{exe, sdkServerArg}
}

// noteContracts confines the notes to one directory.
func noteContracts(t testing.TB, dir string) []string {
	t.Helper()
	file := filepath.Join(realDir(t), "contracts.yaml")
	write(t, file, fmt.Sprintf("save_note:\n  write_params: [Path]\n  allowed_path_prefixes: [%q]\n", dir))
	return []string{"--contracts", file}
}

const modern = "2026-07-28"

// A modern client and a modern server talk as before, and a refusal is one that the
// modern client understands.
func TestModernFromGo(t *testing.T) {
	inside, outside := realDir(t), realDir(t)
	answers := map[string][]string{}
	eachWay(t, noteContracts(t, inside), sdkServer(t), func(t *testing.T, s *target) {
		session := connect(t, s, nil)
		if got := session.InitializeResult().ProtocolVersion; got != modern {
			t.Fatalf("negotiated %s, want %s", got, modern)
		}
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		resource, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "memo://one"})
		if err != nil {
			t.Fatal(err)
		}
		prompt, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"})
		if err != nil {
			t.Fatal(err)
		}
		answers[t.Name()] = []string{
			asJSON(t, session.InitializeResult()), asJSON(t, tools), asJSON(t, resource), asJSON(t, prompt),
			asJSON(t, callTool(t, session, "weather", args{"City": "Oslo"})),
			asJSON(t, callTool(t, session, "broken", args{})),
		}
		if res := callTool(t, session, "save_note", args{"Path": filepath.Join(inside, "a"), "Text": "x"}); res.IsError {
			t.Errorf("a note inside was refused: %s", textOf(res))
		}
		if s.wrapped() {
			res := callTool(t, session, "save_note", args{"Path": filepath.Join(outside, "b"), "Text": "x"})
			wantRefusal(t, res, "path")
			if left, _ := os.ReadDir(outside); len(left) != 0 {
				t.Errorf("written outside: %v", left)
			}
			wantVerdicts(t, s, "weather allow", "broken allow", "save_note allow", "save_note deny")
		}
	})
	if b := answers[t.Name()+"/wrap"]; b != nil {
		if d := cmp.Diff(answers[t.Name()+"/direct"], b); d != "" {
			t.Errorf("wrap changed an answer (-direct +wrap):\n%s", d)
		}
	}
}

func TestModernFromTypeScript(t *testing.T) {
	inside, outside := realDir(t), realDir(t)
	answers := map[string][]json.RawMessage{}
	eachWay(t, noteContracts(t, inside), sdkServer(t), func(t *testing.T, s *target) {
		reads := []tsStep{{List: true}, {Tool: "weather", Args: args{"City": "Oslo"}}, {Tool: "broken", Args: args{}}}
		write := []tsStep{{Tool: "save_note", Args: args{"Path": filepath.Join(outside, "b"), "Text": "x"}}}
		r := typescript(t, s, "2", modern, reads, write)
		if r.Protocol != modern {
			t.Errorf("negotiated %q, want %s", r.Protocol, modern)
		}
		answers[t.Name()] = r.Answers[0]
		res := result(t, r.Answers[1][0])
		if !s.wrapped() {
			if res.IsError {
				t.Errorf("without the gateway the write must succeed: %s", textOf(res))
			}
			os.Remove(filepath.Join(outside, "b"))
			return
		}
		wantRefusal(t, res, "path")
		if left, _ := os.ReadDir(outside); len(left) != 0 {
			t.Errorf("written outside: %v", left)
		}
	})
	if b := answers[t.Name()+"/wrap"]; b != nil {
		if d := cmp.Diff(answers[t.Name()+"/direct"], b); d != "" {
			t.Errorf("wrap changed an answer (-direct +wrap):\n%s", d)
		}
	}
}

// Raw modern frames are the same, byte for byte, ids of every legal form included.
func TestModernFramesAreTheSame(t *testing.T) {
	frames := map[string][]string{}
	eachWay(t, nil, sdkServer(t), func(t *testing.T, s *target) {
		w := dial(t, s, nil)
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{},"vendor.example/n":1.50}`
		for _, r := range []struct{ id, method, params string }{
			{`"d-1"`, "server/discover", ``},
			{`0`, "tools/list", ``},
			{`-7`, "tools/call", `"name":"weather","arguments":{"City":"S\u00e3o Paulo"},`},
			{`"weather again"`, "tools/call", `"name":"weather","arguments":{"City":"\ud83d\ude00"},`},
			{`9007199254740991`, "resources/read", `"uri":"memo://one",`},
			{`12`, "prompts/get", `"name":"greet",`},
			{`"no such method"`, "no/such", ``},
		} {
			if r.method == "no/such" && s.wrapped() {
				continue // the gateway refuses it itself
			}
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, r.id, r.method, r.params, meta))
			answer := w.response(r.id)
			if bytes.Contains(answer, []byte(`"error"`)) != (r.method == "no/such") {
				t.Errorf("%s: %s", r.method, answer)
			}
			if r.method != "no/such" {
				frames[t.Name()] = append(frames[t.Name()], string(answer))
			}
		}
		w.close()
		for _, f := range w.all() {
			if strings.Contains(string(f), `"method"`) && !slices.Contains(frames[t.Name()], string(f)) {
				t.Errorf("not asked for: %s", f)
			}
		}
	})
	if b := frames[t.Name()+"/wrap"]; b != nil {
		if d := cmp.Diff(frames[t.Name()+"/direct"], b); d != "" {
			t.Errorf("wrap changed a frame (-direct +wrap):\n%s", d)
		}
	}
}
