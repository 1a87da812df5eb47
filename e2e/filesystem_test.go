package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// project is a directory with files to read, a neighbour that is none of the server's
// business, and a symbolic link from one to the other.
type project struct{ root, dir, outside string }

func newProject(t testing.TB) project {
	t.Helper()
	root := realDir(t)
	p := project{root: root, dir: filepath.Join(root, "project"), outside: filepath.Join(root, "outside")}
	write(t, filepath.Join(p.dir, "readme.txt"), "Line one\nžluťoučký kůň \u2028 \U0001F600\n")
	write(t, filepath.Join(p.dir, "src", "main.go"), "package main\n")
	for i := range 50 {
		write(t, p.numbered(i), fmt.Sprintf("file number %d\n", i))
	}
	if err := os.Mkdir(p.outside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p.outside, filepath.Join(p.dir, "link")); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p project) numbered(i int) string {
	return filepath.Join(p.dir, "many", fmt.Sprintf("file-%02d.txt", i))
}

// escapes are paths that look inside and are not.
func (p project) escapes() map[string]string {
	return map[string]string{
		"dot-dot": p.dir + "/../outside/dotdot.txt",
		"symlink": filepath.Join(p.dir, "link", "symlink.txt"),
		"plain":   filepath.Join(p.outside, "plain.txt"),
	}
}

func (p project) assertOutsideEmpty(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(p.outside)
	if err != nil || len(left) != 0 {
		t.Errorf("outside the project there is %v (%v), want nothing", left, err)
	}
}

func filesystemServer(t testing.TB, dirs ...string) []string {
	t.Helper()
	return append([]string{node(t), npm(t, "@modelcontextprotocol/server-filesystem/dist/index.js")}, dirs...)
}

// eachWay runs a test directly, then through wrap with the given flags.
func eachWay(t *testing.T, flags []string, server []string, test func(*testing.T, *target)) {
	t.Helper()
	t.Run("direct", func(t *testing.T) { test(t, direct(t, server...)) })
	t.Run("wrap", func(t *testing.T) {
		needWrap(t)
		test(t, through(t, flags, server...))
	})
}

// connect drives a server with the official Go SDK's client.
func connect(t *testing.T, s *target, opts *mcp.ClientSessionOptions) *mcp.ClientSession {
	t.Helper()
	return connectBy(t, &mcp.CommandTransport{Command: s.cmd()}, opts)
}

func connectBy(t *testing.T, by mcp.Transport, opts *mcp.ClientSessionOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(t.Context(), by, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// wide is the SDK's transport for frames beyond the 16 MiB that its command transport
// takes.
func wide(t *testing.T, s *target) mcp.Transport {
	t.Helper()
	cmd := s.cmd()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after the session, which closes its input
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended badly: %v", err)
		}
	})
	return &mcp.IOTransport{Reader: io.NopCloser(out), Writer: in, MaxLineLength: 128 << 20}
}

func callTool(t *testing.T, s *mcp.ClientSession, tool string, args any) *mcp.CallToolResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return res
}

func textOf(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

type args map[string]any

// Reads give the same through the gateway as without, structured results included.
func TestFilesystemReads(t *testing.T) {
	p := newProject(t)
	server := filesystemServer(t, p.dir)
	answers := map[string]map[string]string{}
	eachWay(t, nil, server, func(t *testing.T, s *target) {
		session := connect(t, s, nil)
		got := map[string]string{}
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(tools.Tools, func(t *mcp.Tool) bool { return t.Name == "write_file" }) {
			t.Fatalf("no write_file among the tools")
		}
		got["tools/list"] = asJSON(t, tools)
		for _, c := range []struct {
			tool string
			args args
		}{
			{"list_directory", args{"path": p.dir}},
			{"read_text_file", args{"path": filepath.Join(p.dir, "readme.txt")}},
			{"read_text_file", args{"path": filepath.Join(p.dir, "readme.txt"), "head": 1}},
			{"read_multiple_files", args{"paths": []string{p.numbered(1), p.numbered(2), p.dir + "/none"}}},
			{"read_media_file", args{"path": filepath.Join(p.dir, "src", "main.go")}},
			{"search_files", args{"path": p.dir, "pattern": "**/*.go"}},
			{"directory_tree", args{"path": p.dir}},
			{"list_allowed_directories", args{}},
			{"read_text_file", args{"path": filepath.Join(p.dir, "no such file")}},
		} {
			res := callTool(t, session, c.tool, c.args)
			got[fmt.Sprint(c.tool, c.args)] = asJSON(t, res)
			if !res.IsError && res.StructuredContent == nil {
				t.Errorf("%s: no structured content", c.tool)
			}
		}
		answers[t.Name()] = got
	})
	a, b := answers[t.Name()+"/direct"], answers[t.Name()+"/wrap"]
	if len(a) != 10 {
		t.Errorf("%d answers, want 10", len(a))
	}
	if b != nil {
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("wrap changed an answer (-direct +wrap):\n%s", d)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFilesystemWriteInside(t *testing.T) {
	p := newProject(t)
	eachWay(t, nil, filesystemServer(t, p.dir), func(t *testing.T, s *target) {
		path := filepath.Join(p.dir, filepath.Base(t.Name())+".txt")
		res := callTool(t, connect(t, s, nil), "write_file", args{"path": path, "content": "inside\n"})
		if res.IsError {
			t.Fatalf("refused: %s", textOf(res))
		}
		if got, err := os.ReadFile(path); string(got) != "inside\n" {
			t.Errorf("the file holds %q, %v", got, err)
		}
		if s.wrapped() {
			wantVerdicts(t, s, "write_file allow")
		}
	})
}

// With no configuration, the directories on the wrapped command line are where writes
// may go. The server would refuse these writes too; the gateway must do so before it.
func TestFilesystemWriteOutside(t *testing.T) {
	p := newProject(t)
	eachWay(t, nil, filesystemServer(t, p.dir), func(t *testing.T, s *target) {
		session := connect(t, s, nil)
		for name, path := range p.escapes() {
			res := callTool(t, session, "write_file", args{"path": path, "content": "escaped"})
			if !res.IsError {
				t.Errorf("%s: a write to %s went through", name, path)
			}
			if s.wrapped() {
				wantRefusal(t, res, "path")
			}
		}
		p.assertOutsideEmpty(t)
		if s.wrapped() {
			wantVerdicts(t, s, "write_file deny", "write_file deny", "write_file deny")
		}
	})
}

// The server is given the parent directory and would write anywhere in it. Only the
// contract stands between, so here the direct run must do the harm.
func TestFilesystemContractConfinesAWiderServer(t *testing.T) {
	p := newProject(t)
	contracts := filepath.Join(p.root, "contracts.yaml")
	write(t, contracts, fmt.Sprintf("write_file:\n  write_params: [path]\n  allowed_path_prefixes: [%q]\n", p.dir))
	eachWay(t, []string{"--contracts", contracts}, filesystemServer(t, p.root), func(t *testing.T, s *target) {
		session := connect(t, s, nil)
		for name, path := range p.escapes() {
			res := callTool(t, session, "write_file", args{"path": path, "content": "escaped"})
			if s.wrapped() {
				wantRefusal(t, res, "path")
				continue
			}
			if _, err := os.Stat(path); res.IsError || err != nil {
				t.Errorf("%s: without the gateway the write must succeed: %s, %v", name, textOf(res), err)
			}
			os.Remove(path)
		}
		p.assertOutsideEmpty(t)
		path := filepath.Join(p.dir, "fine.txt")
		if res := callTool(t, session, "write_file", args{"path": path, "content": "fine"}); res.IsError {
			t.Errorf("a write inside was refused: %s", textOf(res))
		}
		if s.wrapped() {
			wantVerdicts(t, s, "write_file deny", "write_file deny", "write_file deny", "write_file allow")
		}
	})
}

// wantRefusal asserts that the gateway, not the server, refused the call.
func wantRefusal(t *testing.T, res *mcp.CallToolResult, check string) {
	t.Helper()
	if text := textOf(res); !res.IsError || !strings.HasPrefix(text, "[sallyport blocked]") {
		t.Errorf("not refused by the gateway: isError %v, %q", res.IsError, text)
	}
	decision, ok := res.Meta["io.sallyport/decision"].(map[string]any)
	if !ok {
		t.Errorf("no decision in _meta: %v", res.Meta)
		return
	}
	if decision["verdict"] != "deny" || decision["check"] != check {
		t.Errorf("decision = %v, want a deny by check %s", decision, check)
	}
}

// wantVerdicts asserts what the log holds of calls, in order, and that it verifies.
func wantVerdicts(t *testing.T, s *target, want ...string) {
	t.Helper()
	var got []string
	for _, v := range s.verdicts(t) {
		got = append(got, v.Target+" "+v.Verdict)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log holds %q, want %q", got, want)
	}
}

// bigFile is the size of a file that is read whole. A client that runs with the race
// detector gets a smaller one; "make test" runs the clients without it.
func bigFile() int {
	if raceEnabled {
		return 1 << 20
	}
	return 20 << 20
}

// bigText is ordinary text, so that whatever records it has words to record.
func bigText(size int) string {
	var b strings.Builder
	b.Grow(size + 100)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "Entry %d: the quick brown fox %x jumps over the lazy dög.\n", i, i*7919)
	}
	return b.String()
}

func TestFilesystemBigFile(t *testing.T) {
	p := newProject(t)
	path, want := filepath.Join(p.dir, "big.txt"), bigText(bigFile())
	write(t, path, want)
	eachWay(t, nil, filesystemServer(t, p.dir), func(t *testing.T, s *target) {
		res := callTool(t, connectBy(t, wide(t, s), nil), "read_text_file", args{"path": path})
		if got := textOf(res); got != want {
			t.Errorf("%d bytes came, %d are in the file, isError %v", len(got), len(want), res.IsError)
		}
		structured, _ := res.StructuredContent.(map[string]any)
		if structured["content"] != want {
			t.Error("the structured content is not the file")
		}
	})
}

func TestFilesystemConcurrentCalls(t *testing.T) {
	p := newProject(t)
	eachWay(t, nil, filesystemServer(t, p.dir), func(t *testing.T, s *target) {
		session := connect(t, s, nil)
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_text_file", Arguments: args{"path": p.numbered(i)}})
				if err != nil {
					t.Errorf("call %d: %v", i, err)
					return
				}
				if got, want := textOf(res), fmt.Sprintf("file number %d\n", i); got != want {
					t.Errorf("call %d got %q", i, got)
				}
			})
		}
		wg.Wait()
		if s.wrapped() {
			if n := len(s.verdicts(t)); n != 50 {
				t.Errorf("%d verdicts in the log, want 50", n)
			}
		}
	})
}

// Every protocol version of the handshake era that server and SDK share.
func TestFilesystemVersions(t *testing.T) {
	p := newProject(t)
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			eachWay(t, nil, filesystemServer(t, p.dir), func(t *testing.T, s *target) {
				session := connect(t, s, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if got := session.InitializeResult().ProtocolVersion; got != version {
					t.Errorf("negotiated %s", got)
				}
				if got := textOf(callTool(t, session, "read_text_file", args{"path": p.numbered(7)})); got != "file number 7\n" {
					t.Errorf("read %q", got)
				}
			})
		})
	}
}
