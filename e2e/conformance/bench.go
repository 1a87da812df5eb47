package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sallyport-dev/sallyport/e2e/rig"
)

// bench holds the programs that the runs need and the directory of their results.
type bench struct {
	dir, node, runner, server, gateway string
	temporary                          bool
}

func newBench(keep, gateway string, directOnly bool) (*bench, error) {
	b := &bench{dir: keep, gateway: gateway}
	var err error
	if keep == "" {
		b.temporary = true
		if b.dir, err = os.MkdirTemp("", "sallyport-conformance-"); err != nil {
			return nil, err
		}
	}
	if b.dir, err = filepath.Abs(b.dir); err != nil {
		return nil, err
	}
	modules := filepath.Join("e2e", "node_modules")
	b.runner = filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")
	if _, err := os.Stat(b.runner); err != nil {
		return nil, fmt.Errorf("the conformance runner is not installed, run make node-deps: %w", err)
	}
	if b.node, err = rig.Node(modules); err != nil {
		return nil, err
	}
	if b.server, err = rig.Build(b.dir, rig.EverythingServer, false); err != nil {
		return nil, err
	}
	if b.gateway == "" && !directOnly {
		b.gateway, err = rig.Build(b.dir, rig.Program, false)
	}
	return b, err
}

func (b *bench) close() {
	if b.temporary {
		os.RemoveAll(b.dir) //nolint:errcheck // a temporary directory
	}
}

// direct runs a set against the server itself. All that the set scores must pass.
func (b *bench) direct(ctx context.Context, requirements string) (verdicts, error) {
	p, url, err := rig.StartEverything(ctx, b.server, directStateless[requirements])
	if err != nil {
		return nil, err
	}
	v, passed, err := b.run(ctx, requirements, url, "direct "+requirements)
	if err := errors.Join(err, p.Close()); err != nil {
		return nil, err
	}
	if !passed {
		return nil, fmt.Errorf("the server itself does not pass %s: the comparison would mean nothing", requirements)
	}
	return v, nil
}

// config allows everything. The contracts give the conformance server's tools a budget
// that no run uses up, and nothing else: what is compared is the relay, and an entry
// without sinks turns the flow check off for its tool.
func config(url string) string {
	return "version: 1\nupstreams:\n  everything: {transport: http, url: " + url + "}\n" +
		rig.AllowAll + "tokens:\n" + rig.Token("conformance", "open")
}

// through runs a set through a gateway of its own, in front of a server of its own.
func (b *bench) through(ctx context.Context, r run) (v verdicts, err error) {
	p, url, err := rig.StartEverything(ctx, b.server, r.stateless)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if r.only != nil {
		narrow, err := r.only(url)
		if err != nil {
			return nil, err
		}
		defer narrow.Close()
		url = narrow.URL
	}
	home := filepath.Join(b.dir, strings.ReplaceAll("gateway "+r.name, " ", "-"))
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	g, err := rig.StartGateway(ctx, rig.GatewayOptions{Binary: b.gateway, Dir: home, Config: config(url)})
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, g.Close(), os.WriteFile(filepath.Join(home, "stderr.txt"), []byte(g.Log()), 0o600))
	}()
	front, err := rig.Front(g.URL, rig.Secret("conformance"))
	if err != nil {
		return nil, err
	}
	defer front.Close()
	v, _, err = b.run(ctx, r.requirements, front.URL, "through "+r.name)
	return v, err
}

// run starts the suite's runner and reads what it found. passed is its own verdict on
// what the set scores.
func (b *bench) run(ctx context.Context, requirements, url, name string) (v verdicts, passed bool, err error) {
	out := filepath.Join(b.dir, strings.ReplaceAll(name, " ", "-"))
	if err := os.RemoveAll(out); err != nil {
		return nil, false, err
	}
	cmd := exec.CommandContext(ctx, b.node, b.runner, "server", "--url", url, "--requirements", requirements, "-o", out)
	text, err := cmd.CombinedOutput()
	if werr := os.WriteFile(out+".txt", text, 0o600); werr != nil {
		return nil, false, werr
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return nil, false, err
	}
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	v, readErr := readVerdicts(out)
	if readErr == nil && !bytes.Contains(text, []byte("=== SUMMARY ===")) {
		readErr = errors.New("the runner did not come to its summary")
	}
	if readErr != nil {
		return nil, false, fmt.Errorf("%s: %w\n%s", name, readErr, text)
	}
	return v, err == nil, nil
}
