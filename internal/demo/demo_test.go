package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The test binary stands in for sallyport: it is the demo's server, and a "wrap" that
// guards nothing.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "__demo-server":
		if err := Serve(context.Background(), os.Args[3]); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	case len(os.Args) > 1 && os.Args[1] == "wrap":
		rest := os.Args[slices.Index(os.Args, "--")+1:]
		log := os.Args[slices.Index(os.Args, "--audit")+1]
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			panic(err)
		}
		cmd := exec.Command(rest[0], rest[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A gateway that guards nothing must fail the demo, and the demo must say what it saw.
func TestRunFailsBehindAGatewayThatGuardsNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = Run(t.Context(), Options{Exe: exe, In: strings.NewReader(""), Out: &out})
	if !errors.Is(err, ErrWorld) {
		t.Fatalf("Run = %v, want ErrWorld\n%s", err, &out)
	}
	if !strings.Contains(err.Error(), "with sallyport: {AttackerMails:1") {
		t.Errorf("the error does not say what the world is: %v", err)
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
}

func TestRunKeepsAndWaits(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	in := strings.NewReader("\n\nunread")
	if err := Run(t.Context(), Options{Exe: exe, Wait: true, Keep: true, In: in, Out: &out}); !errors.Is(err, ErrWorld) {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "Press Enter"); n != 2 {
		t.Errorf("waited %d times, want 2", n)
	}
	_, dir, _ := strings.Cut(out.String(), "Kept: ")
	if _, err := os.Stat(filepath.Join(strings.TrimSpace(dir), "gateway", "demo.yaml")); err != nil {
		t.Error(err)
	}
}

func TestServeRefusesADirectoryThatIsNotItsOwn(t *testing.T) {
	if err := Serve(t.Context(), t.TempDir()); err == nil {
		t.Fatal("Serve accepted a directory without the story in it")
	}
}

// The story's server judges nothing, but the demo itself must stay in its directory.
func TestServerStaysInItsDirectory(t *testing.T) {
	outside := t.TempDir()
	p := placesIn(filepath.Join(t.TempDir(), "run"))
	if err := lay(p); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(p.workspace, "link")); err != nil {
		t.Fatal(err)
	}
	session := connect(t, p)
	for _, path := range []string{
		filepath.Join(outside, "x"),
		p.workspace + "/../../../x",
		filepath.Join(p.workspace, "link", "x"),
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

// The script alone, with nothing in between, must do all the harm there is to do:
// otherwise the second run would prove nothing.
func TestScriptDoesItsHarm(t *testing.T) {
	p := placesIn(t.TempDir())
	if err := lay(p); err != nil {
		t.Fatal(err)
	}
	session := connect(t, p)
	var attacks int
	for _, st := range script(p) {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: st.tool, Arguments: st.arguments()})
		if err != nil || res.IsError {
			t.Fatalf("%s: %v %s", st.tool, err, text(res))
		}
		if st.attack {
			attacks++
		}
	}
	got, err := look(p)
	if err != nil || got != worldWithout {
		t.Errorf("world = %+v, %v; want %+v", got, err, worldWithout)
	}
	if attacks < refusals {
		t.Errorf("%d attacking steps, want at least %d", attacks, refusals)
	}
}

// The address must come from the ticket, or the demo would not be about the flow.
func TestPoisonStandsInATicket(t *testing.T) {
	all, err := json.Marshal(tickets())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{attacker, attackerKey} {
		if !bytes.Contains(all, []byte(want)) {
			t.Errorf("no ticket holds %q", want)
		}
	}
}

func connect(t *testing.T, p places) *mcp.ClientSession {
	t.Helper()
	toServer, toClient := mcp.NewInMemoryTransports()
	if _, err := server(p.dir).Connect(t.Context(), toServer, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), toClient, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}
