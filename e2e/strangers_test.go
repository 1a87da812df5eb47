package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-dev/sallyport/e2e/rig"
)

// team is a gateway's configuration with servers that no one here wrote, and what starts
// each of them directly.
type team struct {
	project  project
	config   string
	commands map[string]*exec.Cmd // by upstream; the Go SDK's server has none
	sdkURL   string
}

func newTeam(t *testing.T) *team {
	t.Helper()
	m := &team{project: newProject(t), commands: map[string]*exec.Cmd{}}
	sdk := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newSDKServer() }, nil))
	t.Cleanup(sdk.Close)
	m.sdkURL = sdk.URL
	node, home := node(t), realDir(t)
	var b strings.Builder
	b.WriteString("version: 1\nserver: {namespace: always}\nupstreams:\n")
	for _, s := range []struct {
		name, file string
		args       []string
		env        map[string]string
	}{
		{"files", "server-filesystem/dist/index.js", []string{m.project.dir}, nil},
		{"everything", "server-everything/dist/index.js", []string{"stdio"}, nil},
		{"memory", "server-memory/dist/index.js", nil, map[string]string{"MEMORY_FILE_PATH": filepath.Join(home, "memory.jsonl")}},
		{"gitlab", "server-gitlab/dist/index.js", nil, map[string]string{"GITLAB_PERSONAL_ACCESS_TOKEN": "not-a-token"}},
		{"slack", "server-slack/dist/index.js", nil, map[string]string{"SLACK_BOT_TOKEN": "not-a-token", "SLACK_TEAM_ID": "T0"}},
	} {
		argv := append([]string{npm(t, "@modelcontextprotocol/"+s.file)}, s.args...)
		quoted, err := json.Marshal(argv)
		if err != nil {
			t.Fatal(err)
		}
		env, err := json.Marshal(s.env)
		if err != nil {
			t.Fatal(err)
		}
		if s.env == nil {
			env = []byte("{}")
		}
		fmt.Fprintf(&b, "  %s: {transport: stdio, command: %q, args: %s, env: %s, inherit_env: [PATH]}\n", s.name, node, quoted, env)
		cmd := exec.Command(node, argv...)
		for k, v := range s.env {
			cmd.Env = append(cmd.Environ(), k+"="+v)
		}
		m.commands[s.name] = cmd
	}
	fmt.Fprintf(&b, "  gosdk: {transport: http, url: %q}\n", m.sdkURL)
	m.config = b.String() + rig.AllowAll + "tokens:\n" + rig.Token("team", "open")
	return m
}

// stdio is the gateway as a client starts it.
func (m *team) stdio(t *testing.T) *target {
	t.Helper()
	dir := realDir(t)
	file, log := filepath.Join(dir, "sallyport.yaml"), filepath.Join(dir, "audit.jsonl")
	write(t, file, m.config)
	return newTarget(t, log, []string{binary(t, "sallyport"), "run", "-c", file, "--transport", "stdio", "--policy", "open", "--audit", log})
}

// bearer adds the token of that name to what a Go client sends.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+rig.Secret(string(b)))
	return http.DefaultTransport.RoundTrip(r)
}

func overHTTP(url string) mcp.Transport { return overHTTPAs("team", url) }

func overHTTPAs(name, url string) mcp.Transport {
	return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(name)}}
}

// Every tool of every server is in the gateway's list, under its server's name and
// otherwise as the server itself lists it.
func TestToolsOfReferenceServersAreListedAsTheyAre(t *testing.T) {
	m := newTeam(t)
	got := map[string][]*mcp.Tool{}
	for tool, err := range connectBy(t, overHTTP(gateway(t, m.config).URL), nil).Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		upstream, name, ok := strings.Cut(tool.Name, "__")
		if !ok {
			t.Errorf("%s has no prefix", tool.Name)
		}
		tool.Name = name
		got[upstream] = append(got[upstream], tool)
	}
	for upstream, least := range map[string]int{"files": 10, "everything": 10, "memory": 9, "gitlab": 9, "slack": 8, "gosdk": 3} {
		var by mcp.Transport = &mcp.StreamableClientTransport{Endpoint: m.sdkURL}
		if cmd := m.commands[upstream]; cmd != nil {
			by = &mcp.CommandTransport{Command: cmd}
		}
		want, err := connectBy(t, by, nil).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(want.Tools) < least {
			t.Errorf("%s itself lists %d tools only", upstream, len(want.Tools))
		}
		byName := func(a, b *mcp.Tool) int { return strings.Compare(a.Name, b.Name) }
		slices.SortFunc(want.Tools, byName)
		slices.SortFunc(got[upstream], byName)
		if d := cmp.Diff(asJSON(t, want.Tools), asJSON(t, got[upstream])); d != "" {
			t.Errorf("%s (-itself +through the gateway):\n%s", upstream, d)
		}
	}
}

// people counts those that the memory was told of.
var people atomic.Int32

// strangerSteps are calls to four of the servers, and how each has to end.
func strangerSteps(m *team) ([]tsStep, []func(*testing.T, *mcp.CallToolResult)) {
	has := func(part string) func(*testing.T, *mcp.CallToolResult) {
		return func(t *testing.T, r *mcp.CallToolResult) {
			t.Helper()
			if got := textOf(r); r.IsError || !strings.Contains(got, part) {
				t.Errorf("got %.300q (error: %v), want %q in it", got, r.IsError, part)
			}
		}
	}
	refused := func(t *testing.T, r *mcp.CallToolResult) { t.Helper(); wantRefusal(t, r, "path") }
	// The memory is one for all clients, and keeps what it has once been told.
	name := fmt.Sprintf("Ada %d", people.Add(1))
	entity := []args{{"name": name, "entityType": "person", "observations": []string{"writes programs"}}}
	return []tsStep{
		{Tool: "files__read_text_file", Args: args{"path": filepath.Join(m.project.dir, "readme.txt")}},
		{Tool: "everything__echo", Args: args{"message": "héllo \u2028 😀"}},
		{Tool: "memory__create_entities", Args: args{"entities": entity}},
		{Tool: "memory__read_graph", Args: args{}},
		{Tool: "gosdk__weather", Args: args{"City": "Oslo"}},
		{Tool: "files__write_file", Args: args{"path": m.project.escapes()["symlink"], "content": "escaped"}},
	}, []func(*testing.T, *mcp.CallToolResult){
		has("žluťoučký kůň"), has("héllo \u2028 😀"), has(name), has("writes programs"), has("21.5"), refused,
	}
}

// Clients that no one here wrote work through the gateway, over HTTP and over stdio.
func TestStrangersThroughTheGateway(t *testing.T) {
	m := newTeam(t)
	g := gateway(t, m.config)
	rounds := func() (rounds [][]tsStep, want []func(*testing.T, *mcp.CallToolResult)) {
		steps, want := strangerSteps(m)
		for _, s := range steps {
			rounds = append(rounds, []tsStep{s})
		}
		return rounds, want
	}
	for _, sdk := range []struct{ version, pin, protocol string }{
		{"1", "", "2025-11-25"}, {"2", "", modern}, {"2", modern, modern},
	} {
		check := func(t *testing.T, want []func(*testing.T, *mcp.CallToolResult), r tsReport) {
			if r.Protocol != sdk.protocol {
				t.Errorf("negotiated %q, want %q", r.Protocol, sdk.protocol)
			}
			for i, check := range want {
				check(t, result(t, r.Answers[i][0]))
			}
		}
		name := "TypeScript SDK " + sdk.version + sdk.pin
		t.Run(name+" over HTTP", func(t *testing.T) {
			errs := &errorBuffer{}
			defer func() { t.Log(errs.String()) }()
			rounds, want := rounds()
			check(t, want, drive(t, errs, map[string]any{
				"sdk": sdk.version, "pin": sdk.pin, "url": g.URL, "rounds": rounds,
				"headers": map[string]string{"Authorization": "Bearer " + rig.Secret("team")},
			}))
		})
		t.Run(name+" over stdio", func(t *testing.T) {
			rounds, want := rounds()
			check(t, want, typescript(t, m.stdio(t), sdk.version, sdk.pin, rounds...))
		})
	}
	for name, by := range map[string]func(*testing.T) mcp.Transport{
		"HTTP":  func(*testing.T) mcp.Transport { return overHTTP(g.URL) },
		"stdio": func(t *testing.T) mcp.Transport { return &mcp.CommandTransport{Command: m.stdio(t).cmd()} },
	} {
		t.Run("Go SDK over "+name, func(t *testing.T) {
			steps, want := strangerSteps(m)
			session := connectBy(t, by(t), nil)
			if got := session.InitializeResult().ProtocolVersion; got != modern {
				t.Errorf("negotiated %s, want %s", got, modern)
			}
			for i, s := range steps {
				want[i](t, callTool(t, session, s.Tool, s.Args))
			}
		})
	}
	m.project.assertOutsideEmpty(t)
}

// The command line of the MCP Inspector lists and calls through the gateway.
func TestInspectorThroughTheGateway(t *testing.T) {
	m := newTeam(t)
	g := gateway(t, m.config)
	stdio := m.stdio(t)
	for _, way := range []struct {
		name string
		args []string
	}{
		{"HTTP", []string{g.URL, "--transport", "http", "--header", "Authorization: Bearer " + rig.Secret("team")}},
		{"stdio", stdio.argv},
	} {
		t.Run(way.name, func(t *testing.T) {
			list := inspector(t, stdio.env, way.args, "--method", "tools/list")
			for _, tool := range []string{"files__write_file", "everything__echo", "memory__read_graph", "gitlab__create_issue", "slack__slack_post_message", "gosdk__weather"} {
				if !strings.Contains(list, `"`+tool+`"`) {
					t.Errorf("%s is not in the list: %.2000s", tool, list)
				}
			}
			got := inspector(t, stdio.env, way.args, "--method", "tools/call", "--tool-name", "gosdk__weather", "--tool-arg", "City=Oslo")
			if !strings.Contains(got, "21.5") {
				t.Errorf("the weather is %s", got)
			}
			got = inspector(t, stdio.env, way.args, "--method", "tools/call", "--tool-name", "files__write_file",
				"--tool-arg", "path="+m.project.escapes()["symlink"], "content=escaped")
			if !strings.Contains(got, "[sallyport blocked]") {
				t.Errorf("a write outside: %s", got)
			}
		})
	}
	m.project.assertOutsideEmpty(t)
}

// inspector runs the Inspector's command line once and returns what it printed.
func inspector(t *testing.T, env, server []string, request ...string) string {
	t.Helper()
	launcher := npm(t, "@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	bin, err := rig.Node("node_modules")
	if err != nil {
		lacking(t, err.Error())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	args := []string{launcher, "--cli"}
	if server[0][0] == '/' { // a command and its own flags
		args = append(append(append(args, request...), "--"), server...)
	} else {
		args = append(append(args, server...), request...)
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = env
	out, err := cmd.Output()
	var failed *exec.ExitError
	if err != nil && !(errors.As(err, &failed) && len(out) > 0) { // a tool's error is an exit code too
		if failed != nil {
			t.Fatalf("%v: %s", err, failed.Stderr)
		}
		t.Fatal(err)
	}
	return string(out)
}
