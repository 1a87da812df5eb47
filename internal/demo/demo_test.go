package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// gatewayVariable says what the test binary does as "wrap": guard nothing, or refuse what
// the story's attacker wants by one check, whatever the call.
const gatewayVariable = "DEMO_TEST_GATEWAY"

// The test binary stands in for sallyport: it is the demo's server, and a gateway that is
// none.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "__demo-server" || os.Args[1] == "wrap") {
		if err := standIn(os.Args[1:]); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func standIn(args []string) error {
	after := func(flag string) string { return args[slices.Index(args, flag)+1] }
	if args[0] == "__demo-server" {
		return Serve(context.Background(), after("--story"), after("--dir"))
	}
	if err := os.WriteFile(after("--audit"), nil, 0o600); err != nil {
		return err
	}
	if os.Getenv(gatewayVariable) == "" {
		rest := args[slices.Index(args, "--")+1:]
		cmd := exec.Command(rest[0], rest[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		return cmd.Run()
	}
	s, err := find(after("--story"))
	if err != nil {
		return err
	}
	server := s.server(after("--dir"))
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				params := req.(*mcp.CallToolRequest).Params
				var args map[string]any
				if err := json.Unmarshal(params.Arguments, &args); err != nil {
					return nil, err
				}
				for _, st := range s.script(after("--dir")) {
					if st.check+string(st.answer) != "" && st.tool == params.Name && maps.Equal(st.arguments(), args) {
						return &mcp.CallToolResult{
							IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: st.says}},
							Meta: mcp.Meta{"io.sallyport/decision": map[string]any{"check": os.Getenv(gatewayVariable)}},
						}, nil
					}
				}
			}
			return next(ctx, method, req)
		}
	})
	return server.Run(context.Background(), &mcp.StdioTransport{})
}

func executable(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// A gateway that guards nothing must fail the demo, and the demo must say what it saw.
func TestRunFailsBehindAGatewayThatGuardsNothing(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			var out bytes.Buffer
			err := Run(t.Context(), Options{Exe: executable(t), Story: name, In: strings.NewReader(""), Out: &out})
			want := " ran, and the check "
			if name == "repository" { // where every refusal is somebody's
				want = "the gateway asked 0 times about create_pull_request"
			}
			if !errors.Is(err, ErrWorld) || !strings.Contains(err.Error(), want) {
				t.Fatalf("Run = %v, want ErrWorld and %q\n%s", err, want, &out)
			}
			if left, _ := os.ReadDir(tmp); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
			for l := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > width {
					t.Errorf("%d columns: %s", n, l)
				}
			}
			if strings.Contains(out.String(), "\x1b") {
				t.Error("escape sequences without Colour")
			}
		})
	}
}

// A refusal by another check than the story's is luck, and luck fails the demo.
func TestRunFailsWhereAnotherCheckRefuses(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv(gatewayVariable, "rate")
	for _, name := range Names() {
		err := Run(t.Context(), Options{Exe: executable(t), Story: name, In: strings.NewReader(""), Out: new(bytes.Buffer)})
		want := `was refused by the check "rate"`
		if name == "repository" { // where somebody has to be asked first
			want = "the gateway asked 0 times about create_pull_request"
		}
		if !errors.Is(err, ErrWorld) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Run = %v, want ErrWorld and %q", name, err, want)
		}
	}
}

func TestRunKeepsAndWaits(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	in := strings.NewReader("\n\nunread")
	if err := Run(t.Context(), Options{Exe: executable(t), Story: "home", Wait: true, Keep: true, In: in, Out: &out}); !errors.Is(err, ErrWorld) {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "Press Enter"); n != 1 {
		t.Errorf("waited %d times before the run that fails, want 1", n)
	}
	_, dir, _ := strings.Cut(out.String(), "Kept: ")
	if _, err := os.Stat(filepath.Join(strings.TrimSpace(dir), "home", "gateway", "demo.yaml")); err != nil {
		t.Error(err)
	}
}

func TestServeRefusesADirectoryThatIsNotItsOwn(t *testing.T) {
	for _, name := range append(Names(), "other") {
		if err := Serve(t.Context(), name, t.TempDir()); err == nil {
			t.Errorf("%s: Serve accepted a directory without the story in it", name)
		}
	}
}

// The story's server judges nothing, but the demo itself must stay in its directory.
func TestServerStaysInItsDirectory(t *testing.T) {
	outside, dir := t.TempDir(), filepath.Join(t.TempDir(), "run")
	s := helpdesk()
	if err := s.prepare(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, workspace, "link")); err != nil {
		t.Fatal(err)
	}
	session := connect(t, s, dir)
	for _, path := range []string{
		filepath.Join(outside, "x"),
		filepath.Join(dir, workspace) + "/../../../x",
		filepath.Join(dir, workspace, "link", "x"),
		"relative",
	} {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file", Arguments: map[string]any{"path": path, "content": "x"}})
		if err != nil || !res.IsError {
			t.Errorf("write to %s: result %+v, error %v; want a tool error", path, res, err)
		}
	}
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Errorf("written outside: %v", left)
	}
}

// Each script alone, with nothing in between, must do all the harm there is to do: otherwise
// the second run would prove nothing. Each row tells both worlds apart, or shows what the
// agent was there for, which both have.
func TestScriptsDoTheirHarm(t *testing.T) {
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := s.prepare(dir); err != nil {
				t.Fatal(err)
			}
			before := answers(t, s, world{dir: dir})
			session := connect(t, s, dir)
			w := world{dir: dir}
			var err error
			if w.tools, err = offeredTools(t.Context(), session); err != nil {
				t.Fatal(err)
			}
			var wishes, refusals int
			for _, st := range s.script(dir) {
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: st.tool, Arguments: st.arguments()})
				if err != nil || res.IsError {
					t.Fatalf("%s: %v %s", call(st), err, text(res))
				}
				if st.wish {
					wishes++
				}
				if st.check != "" || st.answer == answerNo {
					refusals++
				}
			}
			var prevented, served int
			for i, got := range answers(t, s, w) {
				r := s.rows[i]
				if got != r.without {
					t.Errorf("%s: %s, want %s", r.what, got, r.without)
				}
				if r.with != r.without {
					prevented++
				} else if got != before[i] {
					served++
				}
			}
			if wishes == 0 || refusals == 0 || prevented == 0 || served == 0 {
				t.Errorf("%d wishes, %d refusals, %d rows of harm, %d of service", wishes, refusals, prevented, served)
			}
		})
	}
}

func answers(t *testing.T, s story, w world) []string {
	t.Helper()
	all := make([]string, len(s.rows))
	for i, r := range s.rows {
		var err error
		if all[i], err = r.look(w); err != nil {
			t.Fatalf("%s: %v", r.what, err)
		}
	}
	return all
}

// What the attacker wants must stand in what the agent reads, or the demo would not be about
// what agents believe.
func TestPoisonIsReadByTheAgent(t *testing.T) {
	for _, s := range stories() {
		dir := t.TempDir()
		if err := s.prepare(dir); err != nil {
			t.Fatal(err)
		}
		session := connect(t, s, dir)
		var read string
		for _, st := range s.script(dir) {
			if st.wish {
				break
			}
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: st.tool, Arguments: st.arguments()})
			if err != nil {
				t.Fatal(err)
			}
			read += text(res)
		}
		if !strings.Contains(read, s.poison) {
			t.Errorf("%s: before it does what the attacker wants, the agent has not read it", s.name)
		}
	}
}

func TestLogThatDiffersIsWrong(t *testing.T) {
	var want []logged
	for _, st := range []struct {
		step
		said answer
	}{
		{step{tool: "read"}, ""},
		{step{tool: "send", check: "path"}, ""},
		{step{tool: "ask", answer: answerYes}, answerYes},
		{step{tool: "ask", answer: answerYes, person: true}, answerNo},
	} {
		want = append(want, st.verdicts(st.said)...)
	}
	right := []logged{
		{"read", "allow", ""},
		{"send", "deny", "path"},
		{"ask", "ask", "flow"},
		{"ask", "allow", ""},
		{"ask", "ask", "flow"},
		{"ask", "deny", "approval"},
	}
	if why := (logState{calls: right}).wrong(want); why != "" {
		t.Errorf("the right log is wrong: %s", why)
	}
	logs := []logState{{}, {problems: 1, calls: right}, {calls: right[:1]}, {calls: append(slices.Clone(right), right[0])}}
	for i := range right {
		for _, change := range []func(*logged){
			func(l *logged) { l.Target = "other" },
			func(l *logged) { l.Verdict = "error" },
			func(l *logged) { l.Check = "rate" },
		} {
			changed := slices.Clone(right)
			change(&changed[i])
			logs = append(logs, logState{calls: changed})
		}
	}
	for _, l := range logs {
		if l.wrong(want) == "" {
			t.Errorf("not found: %+v", l)
		}
	}
}

func TestDecisionOf(t *testing.T) {
	var meta map[string]any
	if err := json.Unmarshal([]byte(`{"io.sallyport/decision":{"verdict":"deny","check":"flow"}}`), &meta); err != nil {
		t.Fatal(err)
	}
	if d := decisionOf(meta); d.Check != "flow" || d.Verdict != "deny" {
		t.Errorf("decision %+v", d)
	}
	for _, meta := range []map[string]any{nil, {"io.sallyport/decision": 1}, {"io.sallyport/decision": []int{1}}} {
		if d := decisionOf(meta); d != (decision{}) {
			t.Errorf("%v gives %+v", meta, d)
		}
	}
}

func connect(t *testing.T, s story, dir string) *mcp.ClientSession {
	t.Helper()
	toServer, toClient := mcp.NewInMemoryTransports()
	if _, err := s.server(dir).Connect(t.Context(), toServer, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), toClient, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}
