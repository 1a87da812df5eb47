package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/instance"
	"github.com/sallyport-dev/sallyport/internal/serve"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
	"github.com/sallyport-dev/sallyport/internal/token"
)

// home gives a test a state and a configuration directory of its own, and returns the
// directory for its files.
func home(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOME", "LocalAppData", "AppData"} {
		t.Setenv(name, filepath.Join(dir, "home"))
	}
	t.Setenv(sessionVariable, noSession)
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// An upstream that a reload does not change keeps its server, and with it the conversations;
// any setting that one depends on makes it another.
func TestReloadKeepsServers(t *testing.T) {
	file := filepath.Join(home(t), "s.yaml")
	t.Setenv("SECRET_A", "one")
	t.Setenv("INHERITED", "x")
	const before = `version: 1
upstreams:
  a: {transport: stdio, command: x, args: [a], env: {K: "${SECRET_A}"}, inherit_env: [INHERITED]}
  b: {transport: http, url: "https://b.example/mcp", headers: {Authorization: "Bearer ${SECRET_A}"}, timeout: 5s}
`
	doubts := sallyport.NewDoubts(sallyport.DoubtOptions{})
	load := func(text string, before *fleet) *fleet {
		t.Helper()
		writeFile(t, file, text)
		f, err := loadFleet(fleetOptions{config: file, doubts: func(config.Server) (*sallyport.Doubts, error) { return doubts, nil }, log: slog.New(slog.DiscardHandler), before: before, maxMessage: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first := load(before, nil)
	for name, tt := range map[string]struct {
		text         string
		secret       string
		keptA, keptB bool
	}{
		"the same":         {before, "one", true, true},
		"moved":            {strings.Replace(before, "upstreams:", "# more\npolicies: {p: {}}\nupstreams:", 1), "one", true, true},
		"args":             {strings.Replace(before, "[a]", "[b]", 1), "one", false, true},
		"a variable":       {before, "two", false, false},
		"timeout":          {strings.Replace(before, "5s", "6s", 1), "one", true, false},
		"common timeout":   {before + "server: {upstream_timeout: 31s}\n", "one", false, true},
		"timeout by both":  {before + "server: {upstream_timeout: 30s}\n", "one", true, true},
		"session":          {strings.Replace(before, "command: x", "command: x, session: shared", 1), "one", false, true},
		"another of names": {strings.Replace(before, "  b:", "  c:", 1), "one", true, false},
	} {
		t.Setenv("SECRET_A", tt.secret)
		next := load(tt.text, first)
		if got := next.kept["a"].Server == first.kept["a"].Server; got != tt.keptA {
			t.Errorf("%s: a is kept: %v", name, got)
		}
		if got := next.kept["b"].Server == first.kept["b"].Server; got != tt.keptB {
			t.Errorf("%s: b is kept: %v", name, got)
		}
	}
}

// A child gets what is configured and nothing else, not even where that is nothing.
func TestChildEnvironment(t *testing.T) {
	t.Setenv("INHERITED", "x")
	t.Setenv("OTHER", "y")
	f := &fleet{cfg: config.Default()}
	for _, tt := range []struct {
		u    config.Upstream
		want string
	}{
		{config.Upstream{Command: "c"}, ""},
		{config.Upstream{Command: "c", InheritEnv: []string{"INHERITED", "NOT_SET"}, Env: []config.Setting{{Name: "A", Value: "b"}}}, "INHERITED=x A=b"},
	} {
		got := f.upstreamOptions(&tt.u, fleetOptions{}).Env
		if got == nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func nobody(context.Context, *streamhttp.Exchange) {}

// Whatever the configuration takes for a host or an origin, the endpoint does too.
func TestHostsAreTaken(t *testing.T) {
	host := rapid.StringMatching(`([a-zA-Z0-9_.-]{1,12}|\[[0-9a-f:.]{1,12}\]|[ /@:?#\[\]a0.]{1,6})(:[0-9]{1,6})?`)
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		h := host.Draw(t, "host")
		o := rapid.SampledFrom([]string{"http://", "https://", "ws://", ""}).Draw(t, "scheme") + h
		text := "version: 1\nserver: {allowed_hosts: [" + yamlQuoted(h) + "], allowed_origins: [" + yamlQuoted(o) + "]}\n"
		c, err := config.Load("s.yaml", []byte(text), config.Options{})
		if err != nil {
			return
		}
		taken++
		_, err = serve.New(serve.Options{Tokens: token.NewTable(nil, nil), MCP: streamhttp.HandlerOptions{
			Serve: nobody, AllowedHosts: c.Server.AllowedHosts, AllowedOrigins: c.Server.AllowedOrigins,
		}})
		if err != nil {
			t.Fatalf("%q, %q: %v", h, o, err)
		}
	})
	if taken == 0 {
		t.Error("nothing was taken")
	}
}

// What a name is written as is read back as the name.
func TestYAMLText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`[a-z0-9 '":#{}\[\],&*!|>%@$\\-]{1,12}`), rapid.SampledFrom([]string{"yes", "null", "0x1", "1e3", "~", "2027-01-31", "${HOME}", "$${X}", "a${B"})).Draw(t, "name")
		if strings.TrimSpace(name) != name || name == localCaller {
			return
		}
		c, err := config.Load("s.yaml", []byte("version: 1\npolicies: {p: {}}\ntokens:\n"+stanza(tokenFlags{policy: "p"}, name, "", "x")), config.Options{})
		if err != nil {
			if strings.Contains(err.Error(), "a token's name") {
				return
			}
			t.Fatal(err)
		}
		if got := c.Tokens[0].Name; got != name {
			t.Fatalf("%q is read back as %q", name, got)
		}
	})
}

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 5, time.FixedZone("", 3600))
	for s, want := range map[string]string{
		"": "", "90d": "2027-03-01T11:00:00Z", "1h": "2026-12-01T12:00:00Z", "3650d": "2036-11-28T11:00:00Z",
		"2027-01-31": "2027-01-31", "2027-01-31T18:00:00+02:00": "2027-01-31T18:00:00+02:00",
		"0d": "!", "3651d": "!", "90": "!", "d": "!", "-1d": "!", "1w": "!", "2026-11-30": "!", "9999999d": "!", " 1d": "!", "1d ": "!",
	} {
		got, err := expiry(s, now)
		if err != nil {
			got = "!"
		}
		if got != want {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
}

// stdioEnd is one end of a gateway on stdio.
type stdioEnd struct {
	in   io.WriteCloser
	end  chan error  // of the gateway
	said chan string // all that it wrote, at its end
}

func runStdio(t *testing.T, f runFlags) *stdioEnd {
	t.Helper()
	f.transport, f.maxMessage, f.path = "stdio", 1<<20, "/mcp"
	in, send := io.Pipe()
	hear, out := io.Pipe()
	c := &stdioEnd{in: send, end: make(chan error, 1), said: make(chan string, 1)}
	go func() {
		data, _ := io.ReadAll(hear)
		c.said <- string(data)
	}()
	go func() {
		err := (&running{flags: f, shared: &sharedSession{}}).start(in, out, io.Discard)
		out.Close()
		c.end <- err
	}()
	t.Cleanup(func() { send.Close() })
	return c
}

const twoTokens = `version: 1
upstreams: {a: {transport: stdio, command: x}}
policies: {p: {}}
tokens:
  - {name: ben, policy: p, sha256: "2222222222222222222222222222222222222222222222222222222222222222"}
`

// A token that is no longer in the configuration ends its caller's session over stdio too.
func TestStdioEndsWithItsToken(t *testing.T) {
	dir := home(t)
	file := filepath.Join(dir, "s.yaml")
	writeFile(t, file, twoTokens+"  - {name: ann, policy: p, sha256: \"1111111111111111111111111111111111111111111111111111111111111111\"}\n")
	c := runStdio(t, runFlags{config: file, token: "ann"})
	g := findGateway(t, dir, file)
	if o, err := g.Reload(t.Context()); err != nil || !o.Done {
		t.Fatal(o, err)
	}
	select {
	case err := <-c.end:
		t.Fatalf("a token that stayed: %v", err)
	default:
	}
	writeFile(t, file, twoTokens)
	if o, err := g.Reload(t.Context()); err != nil || !o.Done {
		t.Fatal(o, err)
	}
	if err := <-c.end; err == nil || !strings.Contains(err.Error(), "there is no token 'ann'") {
		t.Errorf("it ended with %v", err)
	}
}

func findGateway(t *testing.T, dir, file string) instance.Found {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		found, err := instance.Find(filepath.Join(dir, "home", "sallyport", "gateways"), file, os.Getpid())
		if err == nil && len(found) == 1 {
			return found[0]
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("no gateway is found")
	return instance.Found{}
}

func TestStdioEndsWhenItsTokenExpires(t *testing.T) {
	file := filepath.Join(home(t), "s.yaml")
	soon := time.Now().Add(time.Second).UTC()
	writeFile(t, file, twoTokens+"  - {name: ann, policy: p, expires: "+soon.Format(time.RFC3339Nano)+", sha256: \"1111111111111111111111111111111111111111111111111111111111111111\"}\n")
	c := runStdio(t, runFlags{config: file, token: "ann"})
	if err := <-c.end; err == nil || !strings.Contains(err.Error(), "the token 'ann' has expired") || time.Now().Before(soon) {
		t.Errorf("it ended with %v", err)
	}
}

// Over stdio too an open call gets its answer before a signal ends the gateway, and a second
// signal does not wait.
func TestStdioSignals(t *testing.T) {
	for name, patient := range map[string]bool{"one signal": true, "two": false} {
		t.Run(name, func(t *testing.T) {
			dir := home(t)
			file := filepath.Join(dir, "s.yaml")
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			writeFile(t, "tools.json", `[{"name":"slow","inputSchema":{"type":"object"}}]`)
			if err := os.Symlink(self, "listserver"); err != nil {
				t.Fatal(err)
			}
			writeFile(t, file, "version: 1\nupstreams: {a: {transport: stdio, command: ./listserver, args: [tools.json]}}\npolicies: {p: {default: allow}}\n")
			signals := make(chan os.Signal, 2)
			c := runStdio(t, runFlags{config: file, signals: signals})
			for _, m := range []string{
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
				`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{}}}`,
			} {
				if _, err := io.WriteString(c.in, m+"\n"); err != nil {
					t.Fatal(err)
				}
			}
			waitFor("started")
			signals <- os.Interrupt
			if patient {
				writeFile(t, "go", "")
			} else {
				signals <- os.Interrupt
			}
			err = <-c.end
			said := <-c.said
			if patient && (err != nil || !strings.Contains(said, `ran slow`)) || !patient && (err == nil || !strings.Contains(err.Error(), "stopped at once") || strings.Contains(said, "ran slow")) {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
}
