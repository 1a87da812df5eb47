package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// programs are what the tests start, each built once when first needed. The real one
// has the race detector when the tests have it, or when SALLYPORT_E2E says "race".
var programs = map[string]*program{
	"sallyport":  {pkg: "../cmd/sallyport", race: raceEnabled || os.Getenv("SALLYPORT_E2E") == "race"},
	"copyrelay":  {pkg: "./copyrelay"},
	"echoserver": {pkg: "./echoserver"},
}

type program struct {
	pkg  string
	race bool

	once sync.Once
	path string
	err  error
}

// buildDir holds the programs of one test run.
var buildDir string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sdkServerArg {
		os.Exit(runSDKServer())
	}
	var err error
	if buildDir, err = os.MkdirTemp("", "sallyport-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(buildDir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// binary returns the path of one of the module's programs.
func binary(t testing.TB, name string) string {
	t.Helper()
	p := programs[name]
	p.once.Do(func() { p.build(name) })
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.path
}

func (p *program) build(name string) {
	p.path = filepath.Join(buildDir, name)
	args, cgo := []string{"build", "-trimpath", "-o", p.path}, "CGO_ENABLED=0"
	if p.race {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	cmd := exec.Command("go", append(args, p.pkg)...)
	cmd.Env = append(os.Environ(), cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.err = fmt.Errorf("building %s: %w\n%s", p.pkg, err, out)
	}
}

// mustRun reports whether a test that lacks what it needs fails instead of skipping.
func mustRun() bool {
	return os.Getenv("CI") == "true" || os.Getenv("SALLYPORT_E2E") != ""
}

// lacking ends a test that cannot run here.
func lacking(t testing.TB, what string) {
	t.Helper()
	if mustRun() {
		t.Fatalf("%s; run make test, which installs it", what)
	}
	t.Skipf("%s; run make test, which installs it", what)
}

// npm returns the path of a file of an installed npm package.
func npm(t testing.TB, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("node_modules", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		lacking(t, "e2e/node_modules/"+file+" is not installed")
	}
	return path
}

func node(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		lacking(t, "node is not in PATH")
	}
	return path
}

// target is a server as a client starts it.
type target struct {
	argv []string
	env  []string
	log  string // the gateway's audit log, "" if the server runs directly
	errs *errorBuffer
}

func (s *target) wrapped() bool { return s.log != "" }

// cmd starts nothing; it is what a client runs.
func (s *target) cmd() *exec.Cmd {
	c := exec.Command(s.argv[0], s.argv[1:]...)
	c.Env = s.env
	c.Stderr = s.errs
	return c
}

// direct runs a server as it is.
func direct(t testing.TB, server ...string) *target {
	t.Helper()
	return newTarget(t, "", server)
}

// through runs a server behind sallyport wrap with the given flags.
func through(t testing.TB, flags []string, server ...string) *target {
	t.Helper()
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	argv := append([]string{binary(t, "sallyport"), "wrap", "--audit", log}, flags...)
	return newTarget(t, log, append(append(argv, "--"), server...))
}

// newTarget gives a server an environment in which no configuration of the user's is
// found and nothing is left behind.
func newTarget(t testing.TB, log string, argv []string) *target {
	t.Helper()
	home := os.TempDir()
	if log != "" {
		home = filepath.Dir(log)
	}
	s := &target{argv: argv, log: log, errs: &errorBuffer{}}
	s.env = environment(home)
	t.Cleanup(func() {
		text := s.errs.String()
		if strings.Contains(text, "DATA RACE") {
			t.Error("the race detector spoke")
		}
		if t.Failed() && text != "" {
			t.Logf("stderr of %s:\n%s", strings.Join(argv, " "), text)
		}
	})
	return s
}

// environment is this process's, with the directories for state and configuration below
// home, and without what is meant for sallyport and its tests.
func environment(home string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "SALLYPORT_") })
	return append(env, "XDG_STATE_HOME="+filepath.Join(home, "state"), "XDG_CONFIG_HOME="+filepath.Join(home, "config"))
}

// errorBuffer keeps what a process wrote to stderr, up to a limit.
type errorBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (e *errorBuffer) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if room := 64<<10 - e.b.Len(); room > 0 {
		e.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (e *errorBuffer) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.b.String()
}

// verdict is what these tests read of an audit record.
type verdict struct {
	Event, Phase, Target, Verdict, Check, Reason string
}

// verdicts verifies the log with sallyport itself and returns the verdicts on calls.
func (s *target) verdicts(t *testing.T) []verdict {
	t.Helper()
	out, err := exec.Command(binary(t, "sallyport"), "audit", "verify", s.log).CombinedOutput()
	if err != nil {
		t.Errorf("sallyport audit verify: %v\n%s", err, out)
	}
	f, err := os.Open(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []verdict
	for d := json.NewDecoder(f); ; {
		var v verdict
		err := d.Decode(&v)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if v.Event == "tools/call" && v.Phase == "verdict" {
			all = append(all, v)
		}
	}
}

// realDir is a temporary directory by its real path: on some systems the temporary
// directory is a symbolic link.
func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
