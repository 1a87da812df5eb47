package rig

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Secret is the bearer token of the caller called name.
func Secret(name string) string { return "secret-of-the-caller-" + name }

// Token is one entry of tokens: in the configuration.
func Token(name, policy string) string {
	sum := sha256.Sum256([]byte(Secret(name)))
	return fmt.Sprintf("  - {name: %s, policy: %s, sha256: %s}\n", name, policy, hex.EncodeToString(sum[:]))
}

// AllowAll are the policies of a gateway that says no to nothing: everything is
// allowed, also resources and prompts, which a default never covers.
const AllowAll = `policies:
  open:
    default: allow
    rules:
      - {name: resources, effect: allow, resources: ["*"]}
      - {name: prompts, effect: allow, prompts: ["*"]}
`

// Gateway is a running `sallyport run` over HTTP.
type Gateway struct {
	*Process
	URL string // of the MCP endpoint
	dir string
}

// GatewayOptions say what to start.
type GatewayOptions struct {
	Binary string    // the program
	Dir    string    // for the configuration, the state and the audit log; it must exist
	Config string    // the configuration's text, without the audit section
	Args   []string  // more arguments
	Stderr io.Writer // gets all of stderr, which Log keeps a part of; nil: nobody
}

// StartGateway starts the gateway and waits until it is ready.
func StartGateway(ctx context.Context, o GatewayOptions) (*Gateway, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	g := &Gateway{dir: o.Dir, URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", port)}
	if err := g.WriteConfig(o.Config); err != nil {
		return nil, err
	}
	args := []string{
		"run", "-c", g.configFile(), "--transport", "http", "--host", "127.0.0.1", "--port", strconv.Itoa(port),
		"--path", "/mcp", "--audit", g.AuditLog(),
	}
	cmd := exec.Command(o.Binary, append(args, o.Args...)...)
	cmd.Env = Environment(o.Dir)
	if g.Process, err = start(cmd, o.Stderr); err != nil {
		return nil, err
	}
	if err := g.answers(ctx, strings.TrimSuffix(g.URL, "/mcp")+"/readyz", http.StatusOK); err != nil {
		g.Close() //nolint:errcheck // the first error says more
		return nil, err
	}
	return g, nil
}

// WriteConfig replaces the configuration; the gateway reads it with Reload.
func (g *Gateway) WriteConfig(text string) error {
	return os.WriteFile(g.configFile(), []byte(text), 0o600)
}

// Reload makes the gateway read its configuration again. It does not wait for that.
func (g *Gateway) Reload() error { return g.Signal(syscall.SIGHUP) }

// AuditLog is the path of the log.
func (g *Gateway) AuditLog() string { return filepath.Join(g.dir, "audit.jsonl") }

func (g *Gateway) configFile() string { return filepath.Join(g.dir, "sallyport.yaml") }

// Environment is this process's, with the directories for state and configuration below
// home, and without what is meant for sallyport and its tests.
func Environment(home string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "SALLYPORT_") })
	return append(env, "XDG_STATE_HOME="+filepath.Join(home, "state"), "XDG_CONFIG_HOME="+filepath.Join(home, "config"))
}

// StartEverything starts the conformance server, binary, on a loopback port and returns
// its URL.
func StartEverything(ctx context.Context, binary string, stateless bool) (*Process, string, error) {
	port, err := FreePort()
	if err != nil {
		return nil, "", err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	p, err := start(exec.Command(binary, "-http", addr, fmt.Sprintf("-stateless=%v", stateless)), nil)
	if err != nil {
		return nil, "", err
	}
	url := "http://" + addr + "/"
	if err := p.answers(ctx, url, 0); err != nil {
		p.Close() //nolint:errcheck // the first error says more
		return nil, "", err
	}
	return p, url, nil
}
